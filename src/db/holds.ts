import { get, run, type Write } from "./sql.ts";

interface Hold {
  name: string;
  /** Milliseconds, as is `until`. */
  now: number;
  until: number;
}

/** From this commit on `listTombstones` gives nothing while the hold is in force. Holds that have lapsed go. */
export function* placeHold(input: Hold): Write<void> {
  yield* run("DELETE FROM holds WHERE until <= ?", input.now);
  yield* run("INSERT INTO holds (name, until) VALUES (?, ?)", input.name, input.until);
}

/** Leaves a hold that has lapsed as it is: what it kept may be gone, and whoever placed it must hear of that. */
export function* renewHold(input: Hold): Write<void> {
  yield* run("UPDATE holds SET until = ? WHERE name = ? AND until > ?", input.until, input.name, input.now);
}

/** Whether it was in force all the time. */
export function* dropHold(input: { name: string; now: number }): Write<boolean> {
  const hold = yield* get<{ until: number }>("DELETE FROM holds WHERE name = ? RETURNING until", input.name);
  return hold !== undefined && hold.until > input.now;
}
