import { ParleyError } from "../errors.ts";

/** Versions of a row that a write accepts; null: any. */
export type Expected = readonly number[] | null;

/** Part of other writes. Throws `precondition_failed` if the row does not have a version that the writer expects. */
export function checkVersion(expected: Expected, version: number): void {
  if (expected && !expected.includes(version)) throw new ParleyError("precondition_failed");
}
