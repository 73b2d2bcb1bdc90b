import { type Statement, sql } from "./sql.ts";

/** One page of a list: rows older than the cursor, or newer ones if `newer` is set. */
export interface Page {
  cursor: string;
  newer: boolean;
  limit: number;
}

/** Sorts after every id, so that a walk from the newest item is a walk from this cursor. */
export const NEWEST = "~";
/** Sorts before every id. */
export const OLDEST = "";

const ID = sql`id`;

/** Returns the end of a statement that reads a page, and one more row if there is one. `id` is the column of its cursors. */
export function pageClause({ cursor, newer, limit }: Page, id = ID): Statement {
  return newer
    ? sql`${id} > ${cursor} ORDER BY ${id} ASC LIMIT ${limit + 1} + 0`
    : sql`${id} < ${cursor} ORDER BY ${id} DESC LIMIT ${limit + 1} + 0`;
}
