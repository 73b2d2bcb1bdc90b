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

/** Renews a hold, but not an expired one: bytes may already be gone, and `dropHold` has to report that. */
function* renewHold(input: Hold): Write<void> {
  yield* run(
    sql`UPDATE holds SET until = ${input.until} WHERE name = ${input.name} AND until > ${input.now}`,
  );
}

/** Removes a hold, and reports whether it was valid all the time. */
function* dropHold(input: { name: string; now: number }): Write<boolean> {
  const hold = yield* get<{ until: number }>(
    sql`DELETE FROM holds WHERE name = ${input.name} RETURNING until`,
  );
  return hold !== undefined && hold.until > input.now;
}

export const holdWrites = { placeHold, renewHold, dropHold };
