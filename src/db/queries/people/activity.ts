import { isId } from "../../../util/ids.ts";
import { sql } from "../../sql.ts";
import { batch, type Write } from "../../write.ts";

/** The time of a token is kept to the minute, so that few requests rewrite its row, which the checks of tokens read. */
const TOKEN_STEP_MS = 60_000;

/** Stores when users and tokens last made a request (milliseconds). Skips those that are gone. */
function* recordActivity(input: { seen: [id: string, at: number][] }): Write<void> {
  yield* batch(
    input.seen.map(([id, at]) =>
      isId("tok", id)
        ? sql`UPDATE tokens SET last_used_at = ${at} WHERE id = ${id}
          AND COALESCE(last_used_at, 0) <= ${at - TOKEN_STEP_MS}`
        : sql`INSERT INTO activity (user_id, seen_at) SELECT id, ${at} FROM users WHERE id = ${id}
          ON CONFLICT (user_id) DO UPDATE SET seen_at = excluded.seen_at WHERE excluded.seen_at > activity.seen_at`,
    ),
  );
}

export const activityWrites = { recordActivity };
