import pg from "pg";
import { OperatorError, ParleyError } from "../errors.ts";

// https://www.postgresql.org/docs/current/errcodes-appendix.html
const CONFLICTS = new Set([
  "40001", // serialization_failure
  "40P01", // deadlock_detected
  "23505", // unique_violation: another did the same first, which the next try sees
]);
const FULL = new Set(["53100"]);
/** What passes: another try, maybe on another connection, finds it otherwise. */
const PASSING = new Set([
  "57014", // query_canceled by its time-out
  "55P03", // lock_not_available
  "25006", // read_only_sql_transaction: a server that is a replica now, or a BEGIN that failed
  "0A000", // feature_not_supported: also on a replica, and where a newer schema has changed what a statement gives
  "53200", // out_of_memory
]);

function stateOf(error: unknown): string {
  return error instanceof pg.DatabaseError ? (error.code ?? "") : "";
}

/** Whether the same write can simply be done again from its start. */
export function isConflict(error: unknown): boolean {
  return CONFLICTS.has(stateOf(error));
}

/** What the driver says of a connection that ended, never was, or is not to be had; these have no code. */
const DRIVER = /terminated|timeout|not queryable|closed|ended|after calling end/i;
/** By these a server ends a session, or takes no more or none of this user: classes 08, 28 and 57P, and some others. */
const ENDED = /^(?:08|28|57P)|^(?:25P03|3D000|53300)$/;

/** Whether the connection is gone, or never was. */
export function isLost(error: unknown): boolean {
  if (error instanceof ParleyError || error instanceof TypeError) return false;
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === undefined) return DRIVER.test(message);
  // A code that is none of PostgreSQL's is one of a socket, a name's look-up or TLS.
  return !(error instanceof pg.DatabaseError) || ENDED.test(code);
}

/** Whether PostgreSQL says that it has not given this number to a transaction, or none that is durable. */
export function isNeverGiven(error: unknown): boolean {
  return stateOf(error) === "22023";
}

/** What the service knows of an engine's error, for work of which nothing was done; others stay as they are. */
export function postgresError(error: unknown): unknown {
  if (error instanceof ParleyError || error instanceof OperatorError) return error;
  const state = stateOf(error);
  if (FULL.has(state)) return new ParleyError("disk_full", undefined, { cause: error });
  if (isLost(error) || isConflict(error) || PASSING.has(state)) {
    return new ParleyError("unavailable", undefined, { cause: error });
  }
  return error;
}
