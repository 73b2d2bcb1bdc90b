import { raw } from "../../src/db/sql.ts";
import { all, type Write } from "../../src/db/write.ts";
import { writes } from "../../src/db/writes.ts";

/** Statements that return one row, which both engines must pass to the write. */
export const READS = {
  "a leading line break": "\n  SELECT 1 AS one",
  "a leading comment": "-- why\nSELECT 1 AS one",
  "lower case": "select 1 AS one",
  WITH: "WITH numbers AS (SELECT 1 AS one) SELECT one FROM numbers",
  "WITH before a change": `WITH numbers AS (SELECT 1 AS one)
    INSERT INTO activity (user_id, seen_at) SELECT 'x', one FROM numbers RETURNING seen_at AS one`,
};

function* readInWrite(input: { sql: string }): Write<unknown[]> {
  return yield* all(raw(input.sql));
}

function* failAfterChange(input: { sql: string }): Write<void> {
  yield* all(raw(input.sql));
  throw new Error("after the change");
}

/** Adds the writes of this suite, in the thread that calls it. */
export function addTestWrites(): void {
  Object.assign(writes, { readInWrite, failAfterChange });
}
