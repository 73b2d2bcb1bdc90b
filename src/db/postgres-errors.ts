import { ParleyError } from "../errors.ts";

// https://www.postgresql.org/docs/current/errcodes-appendix.html
const CONFLICTS = new Set([
  "40001", // serialization_failure
  "40P01", // deadlock_detected
  "23505", // unique_violation: another did the same first, which the next try sees
]);
const FULL = new Set(["53100"]);
const OUT_OF_TIME = new Set(["57014", "55P03"]); // query_canceled by its time-out, lock_not_available

function stateOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) ? code : "";
}

/** Whether the same write can simply be done again from its start. */
export function isConflict(error: unknown): boolean {
  return CONFLICTS.has(stateOf(error));
}

/** What the driver says of a connection that ended, never was, or is not to be had; these have no code. */
const DRIVER = /terminated|timeout|not queryable|closed|ended/i;

/**
 * Whether the connection is gone, or never was: an error of the socket, of the driver, or one by which the server ends
 * a session or takes no more (classes 08 and 57P, 53300, 25P03).
 */
export function isLost(error: unknown): boolean {
  const { code, syscall, message } = error as NodeJS.ErrnoException;
  if (syscall !== undefined) return true;
  return code === undefined ? DRIVER.test(message) : /^08|^57P|^53300$|^25P03$/.test(stateOf(error));
}

/** What the service knows of an engine's error, for work of which nothing was done; others stay as they are. */
export function postgresError(error: unknown): unknown {
  if (error instanceof ParleyError) return error;
  const state = stateOf(error);
  if (FULL.has(state)) return new ParleyError("disk_full", undefined, { cause: error });
  if (isLost(error) || isConflict(error) || OUT_OF_TIME.has(state)) {
    return new ParleyError("unavailable", undefined, { cause: error });
  }
  return error;
}
