// What tells, after the answer to a COMMIT was lost, whether it was done.
import { sql } from "../../sql.ts";

/** Identifies a transaction. */
export interface Identity {
  xid: string;
  /** The id in the unlogged table `incarnation`, which a crash of PostgreSQL empties; null if it is empty. */
  incarnation: string | null;
}

/** A COMMIT that was sent and not answered. */
export interface LostCommit extends Identity {
  cause: Error;
}

export interface Outcome {
  /** Null if it is too long ago. */
  status: "in progress" | "committed" | "aborted" | null;
  incarnation: string | null;
}

export const NOT_COMMITTED: Outcome = { status: "aborted", incarnation: null };

export const IDENTIFY = {
  name: "parley_identify",
  text: "SELECT pg_current_xact_id()::text AS xid, (SELECT id FROM incarnation) AS incarnation",
};
export const findOutcome = (xid: string) =>
  sql`SELECT pg_xact_status(${xid}::xid8) AS status, (SELECT id FROM incarnation) AS incarnation`;
