import type { Page } from "../db/page.ts";

export { NEWEST, type Page } from "../db/page.ts";

/** The page envelope (source document, section 2.4): items newest first. */
export interface PageEnvelope {
  has_more: boolean;
  /** JSON texts of the resources. */
  data: string[];
  /** Whether there are newer items, if the page has items on both sides of one. `has_more` then is about older ones. */
  has_newer?: boolean;
  /** The cursors of the first and the last item, if they are not its ids. */
  cursors?: { first: string | null; last: string | null };
}

/** Turns rows of several lists, each in the order of the page, into the envelope. */
export function toMergedPage<R>(
  page: Page,
  rows: readonly R[],
  idOf: (row: R) => string,
  shape: (row: R) => string,
): PageEnvelope {
  const order = page.newer ? 1 : -1;
  const sorted = rows.toSorted((a, b) => (idOf(a) < idOf(b) ? -order : order));
  return toPage(page, sorted, shape);
}

/** Turns rows into the envelope; one row more than the limit means that there are more. */
export function toPage<R>(page: Page, rows: R[], shape: (row: R) => string): PageEnvelope {
  const data = rows.slice(0, page.limit).map(shape);
  if (page.newer) data.reverse();
  return { has_more: rows.length > page.limit, data };
}
