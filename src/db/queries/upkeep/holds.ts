import { sql } from "../../sql.ts";
import { get, run, type Write } from "../../write.ts";

interface Hold {
  name: string;
  /** Milliseconds, as is `until`. */
  now: number;
  until: number;
}

/** Places a hold: from this commit on `listTombstones` returns nothing while it is valid. Deletes expired holds. */
function* placeHold(input: Hold): Write<void> {
  yield* run(sql`DELETE FROM holds WHERE until <= ${input.now}`);
  yield* run(sql`INSERT INTO holds (name, until) VALUES (${input.name}, ${input.until})`);
}

/** Leaves an expired hold unchanged: the bytes may be gone, and the caller has to learn of it. */
function* renewHold(input: Hold): Write<void> {
  yield* run(
    sql`UPDATE holds SET until = ${input.until} WHERE name = ${input.name} AND until > ${input.now}`,
  );
}

/** Reports whether the hold was valid all the time. */
function* dropHold(input: { name: string; now: number }): Write<boolean> {
  const hold = yield* get<{ until: number }>(
    sql`DELETE FROM holds WHERE name = ${input.name} RETURNING until`,
  );
  return hold !== undefined && hold.until > input.now;
}

export const holdWrites = { placeHold, renewHold, dropHold };
