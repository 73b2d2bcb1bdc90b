import { NEWEST, type Page } from "../db/page.ts";

/** The parameters of a page; at most one cursor is given. */
export interface PageRequest {
  limit: number;
  starting_after?: string | undefined;
  ending_before?: string | undefined;
}

/** The page envelope (source document, section 2.4): items newest first. */
export interface PageEnvelope {
  has_more: boolean;
  /** JSON texts of the resources. */
  data: string[];
}

export function pageQuery(request: PageRequest): Page {
  return {
    cursor: request.ending_before ?? request.starting_after ?? NEWEST,
    newer: request.ending_before !== undefined,
    limit: request.limit,
  };
}

/** Turns rows into the envelope; one row more than the limit means that there are more. */
export function toPage<R>(page: Page, rows: R[], shape: (row: R) => string): PageEnvelope {
  const data = rows.slice(0, page.limit).map(shape);
  if (page.newer) data.reverse();
  return { has_more: rows.length > page.limit, data };
}
