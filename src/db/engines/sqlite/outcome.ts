import { type ErrorCode, ParleyError } from "../../../errors.ts";
import type { WriteName } from "../../database.ts";

/** A write on its way to the writer thread. */
export interface Ask {
  name: WriteName;
  input: unknown;
}

/** The outcome of a write. */
export type Outcome = { result: unknown } | { failure: Failure };

/** The outcomes of a batch of writes, in their order. */
export interface BatchResult {
  outcomes: Outcome[];
  /** Set if the disk failed, maybe between batches. */
  damage?: Failure;
  /** Set if the search index was damaged, and is being rebuilt. */
  damagedIndex?: Failure;
}

/** The outcome of a background read. */
export type ReadResult = { rows: unknown[] } | { failure: Failure; isDamagedIndex: boolean };

/** An error as plain data, because classes and their fields cannot be passed between threads. */
interface Failure {
  name: string;
  message: string;
  stack: string | undefined;
  code?: ErrorCode;
  param?: string;
  members?: Record<string, string | number>;
  header?: string;
  cause?: Failure;
}

export function toFailure(error: unknown): Failure {
  const { name, message, stack, cause } = error as Error;
  const failure: Failure = { name, message, stack };
  if (cause !== undefined) failure.cause = toFailure(cause);
  if (!(error instanceof ParleyError)) return failure;
  failure.code = error.code;
  failure.members = { ...error.members };
  if (error.param !== undefined) failure.param = error.param;
  if (error.header !== undefined) failure.header = error.header;
  return failure;
}

export function toError(failure: Failure): Error {
  const { message, code, param, header, members = {} } = failure;
  const cause = failure.cause && toError(failure.cause);
  if (code !== undefined) {
    const told = { ...(param === undefined ? {} : { param }), ...(header === undefined ? {} : { header }) };
    return new ParleyError(code, message, { members, ...told, cause });
  }
  const error = new Error(message, { cause });
  return Object.assign(error, { name: failure.name, stack: failure.stack });
}
