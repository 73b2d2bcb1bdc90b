import { ParleyError } from "../errors.ts";

/** Versions of a row that a write accepts; null means any. */
export type Expected = readonly number[] | null;

/** Part of other writes. Throws `precondition_failed` if the row has none of the expected versions. */
export function checkVersion(expected: Expected, version: number): void {
  if (expected && !expected.includes(version)) throw new ParleyError("precondition_failed");
}
