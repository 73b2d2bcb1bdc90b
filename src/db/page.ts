/** A page as it is asked of the database: rows older than the cursor, or newer ones where `newer` is set. */
export interface Page {
  cursor: string;
  newer: boolean;
  limit: number;
}

/** Sorts after every id, so that a walk from the newest item is a walk from this cursor. */
export const NEWEST = "~";

/** The end of a statement that reads a page, and one row more where there is one: its parameters are cursor and limit. */
export function walkOf({ newer }: Page): string {
  return `${newer ? "id > ? ORDER BY id ASC" : "id < ? ORDER BY id DESC"} LIMIT ? + 0`;
}
