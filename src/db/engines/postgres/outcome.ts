// Finds out whether a transaction committed when the reply to COMMIT was lost.
import { raw, sql } from "../../sql.ts";
import { incarnationOf, VERSION } from "./migrate.ts";

/** Identifies a transaction. */
export interface Identity {
  xid: string;
  /** The id in the unlogged table `incarnation_N`, which a crash of PostgreSQL empties; null if it is empty. */
  incarnation: string | null;
}

/** A COMMIT that was sent but not answered. */
export interface LostCommit extends Identity {
  cause: Error;
}

export interface Outcome {
  /** Null if it is too long ago. */
  status: "in progress" | "committed" | "aborted" | null;
  incarnation: string | null;
}

export const NOT_COMMITTED: Outcome = { status: "aborted", incarnation: null };

const INCARNATION = incarnationOf(VERSION);

/** Must be the first statement of its transaction: it fails after a migration that this release does not support. */
export const IDENTIFY = {
  name: "parley_identify",
  text: `SELECT pg_current_xact_id()::text AS xid, (SELECT id FROM ${INCARNATION} WHERE one) AS incarnation`,
};
export const KNOW_INCARNATION = `INSERT INTO ${INCARNATION} (one, id) VALUES (true, gen_random_uuid()::text)
  ON CONFLICT DO NOTHING`;
export const findOutcome = (xid: string) =>
  sql`SELECT pg_xact_status(${xid}::xid8) AS status, (SELECT id FROM ${raw(INCARNATION)} WHERE one) AS incarnation`;
