import type { Page } from "../../db/page.ts";
import { idOf } from "./resource.ts";

export { NEWEST, OLDEST, type Page } from "../../db/page.ts";

/** The page envelope (source document, section 2.4): items newest first. */
export interface PageEnvelope {
  has_more: boolean;
  /** JSON texts of the resources. */
  data: string[];
  /** Whether there are newer items, if the page has items on both sides of one. `has_more` then is about older ones. */
  has_newer?: boolean;
  /** The cursors of the first and the last item, if they are not its ids. */
  cursors?: Cursors;
}

/** Where a page begins and ends; null if it has no items. */
export interface Cursors {
  first: string | null;
  last: string | null;
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

/**
 * Turns rows into the envelope; one row more than the limit means that there are more. `end` is the last item that a search
 * has looked at, if it stopped before it had looked at all: the page may have fewer items than its limit then.
 */
export function toPage<R>(page: Page, rows: R[], shape: (row: R) => string, end?: string): PageEnvelope {
  const data = rows.slice(0, page.limit).map(shape);
  if (page.newer) data.reverse();
  const isFull = rows.length > page.limit;
  if (isFull || end === undefined) return { has_more: isFull, data };
  return { has_more: true, data, cursors: cutShort(page, cursorsOf(data), end) };
}

export function cursorsOf(data: readonly string[]): Cursors {
  const first = data[0];
  return first === undefined ? { first: null, last: null } : { first: idOf(first), last: idOf(data.at(-1)!) };
}

/** Returns the cursors of a page that goes on behind `end`, in its direction, and not behind its items. */
export function cutShort({ newer }: Page, { first, last }: Cursors, end: string): Cursors {
  return newer ? { first: end, last: last ?? end } : { first: first ?? end, last: end };
}
