import { NEWEST, type Page } from "../db/page.ts";

/** A page as the API asks for it; at most one of the cursors is given. */
export interface PageRequest {
  limit: number;
  starting_after?: string | undefined;
  ending_before?: string | undefined;
}

/** The page envelope of the source, section 2.4: items newest first. */
export interface PageOf {
  has_more: boolean;
  /** The JSON texts of resources. */
  data: string[];
}

export function pageQuery(request: PageRequest): Page {
  return {
    cursor: request.ending_before ?? request.starting_after ?? NEWEST,
    newer: request.ending_before !== undefined,
    limit: request.limit,
  };
}

/** Turns the rows of a walk, one more than the limit where there are more, into the envelope. */
export function pageOf<R>(page: Page, rows: R[], shape: (row: R) => string): PageOf {
  const data = rows.slice(0, page.limit).map(shape);
  if (page.newer) data.reverse();
  return { has_more: rows.length > page.limit, data };
}
