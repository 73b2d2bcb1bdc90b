/** A page as it is asked of the database: rows older than the cursor, or newer ones where `newer` is set. */
export interface Page {
  cursor: string;
  newer: boolean;
  limit: number;
}

/** Sorts after every id, so that a walk from the newest item is a walk from this cursor. */
export const NEWEST = "~";
