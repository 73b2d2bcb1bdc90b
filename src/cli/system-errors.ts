import { OperatorError } from "../errors.ts";

/** A fault of disk or database, such as a full disk or a missing permission, in words; another error as it is. */
export function asOperatorError(error: unknown): unknown {
  const { syscall, code, message } = error as NodeJS.ErrnoException;
  if (syscall === undefined && code !== "ERR_SQLITE_ERROR") return error;
  return new OperatorError(`${message}.`, { cause: error });
}
