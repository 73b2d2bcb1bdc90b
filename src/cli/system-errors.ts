import { OperatorError } from "../errors.ts";

/**
 * Turns a system error of the disk or the database, such as a full disk or a missing permission, into an
 * `OperatorError`; returns other errors unchanged.
 */
export function asOperatorError(error: unknown): unknown {
  const { syscall, code, message } = error as NodeJS.ErrnoException;
  if (syscall === undefined && code !== "ERR_SQLITE_ERROR") return error;
  return new OperatorError(`${message}.`, { cause: error });
}
