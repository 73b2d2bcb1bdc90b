import { sql } from "../../sql.ts";
import { batch, type Write } from "../../write.ts";

/** Stores when users last made a request (milliseconds). Skips users who were erased meanwhile. */
function* recordActivity(input: { seen: [userId: string, at: number][] }): Write<void> {
  yield* batch(
    input.seen.map(
      ([userId, at]) =>
        sql`INSERT INTO activity (user_id, seen_at) SELECT id, ${at} FROM users WHERE id = ${userId}
          ON CONFLICT (user_id) DO UPDATE SET seen_at = excluded.seen_at WHERE excluded.seen_at > activity.seen_at`,
    ),
  );
}

export const activityWrites = { recordActivity };
