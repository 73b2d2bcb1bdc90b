import pg from "pg";
import { OperatorError, ParleyError } from "../../../errors.ts";

// https://www.postgresql.org/docs/current/errcodes-appendix.html
const CONFLICTS = new Set([
  "40001", // serialization_failure
  "40P01", // deadlock_detected
  "23505", // unique_violation: another transaction did the same first, and the next try sees that
]);
const LOCK_NOT_AVAILABLE = "55P03";
const FULL = new Set(["53100"]);
/** Temporary errors, after which a retry, maybe on another connection, can succeed. */
const PASSING = new Set([
  "57014", // query_canceled by its time-out
  LOCK_NOT_AVAILABLE,
  "25006", // read_only_sql_transaction: a server that is a replica now, or a BEGIN that failed
  "0A000", // feature_not_supported: on a replica, or if a newer schema has changed the result of a prepared statement
  "42P01", // undefined_table: a newer schema has dropped it
  "42703", // undefined_column: the same
  "53200", // out_of_memory
]);

function stateOf(error: unknown): string {
  return error instanceof pg.DatabaseError ? (error.code ?? "") : "";
}

/** Reports whether the same write can be retried from its start. */
export function isConflict(error: unknown): boolean {
  return CONFLICTS.has(stateOf(error));
}

export function isLockTimeout(error: unknown): boolean {
  return stateOf(error) === LOCK_NOT_AVAILABLE;
}

/** Matches the driver's messages for a connection that ended, failed or is unavailable. These errors have no code. */
const DRIVER = /terminated|timeout|not queryable|closed|ended|after calling end/i;
/** Matches codes with which a server ends or refuses a session: classes 08, 28 and 57P, and some others. */
const ENDED = /^(?:08|28|57P)|^(?:25P03|3D000|53300)$/;

/** Reports whether the connection was lost or never established. */
export function isLost(error: unknown): boolean {
  if (error instanceof ParleyError || error instanceof TypeError) return false;
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === undefined) return DRIVER.test(message);
  // Other codes than PostgreSQL's come from sockets, DNS lookups or TLS.
  return !(error instanceof pg.DatabaseError) || ENDED.test(code);
}

/** Reports whether PostgreSQL has never assigned this transaction number, or not durably. */
export function isNeverGiven(error: unknown): boolean {
  return stateOf(error) === "22023";
}

/** Translates an engine's error if nothing was done. Returns other errors unchanged. */
export function postgresError(error: unknown): unknown {
  if (error instanceof ParleyError || error instanceof OperatorError) return error;
  const state = stateOf(error);
  if (FULL.has(state)) return new ParleyError("disk_full", undefined, { cause: error });
  if (isLost(error) || isConflict(error) || PASSING.has(state)) {
    return new ParleyError("unavailable", undefined, { cause: error });
  }
  return error;
}
