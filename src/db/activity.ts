import { statement, type Write } from "./sql.ts";

/** When users last made a request, milliseconds. One that was erased meanwhile is left out. */
export function* recordActivity(input: { seen: [userId: string, at: number][] }): Write<void> {
  yield input.seen.map(([userId, at]) =>
    statement(
      `INSERT INTO activity (user_id, seen_at) SELECT id, ? FROM users WHERE id = ?
       ON CONFLICT (user_id) DO UPDATE SET seen_at = excluded.seen_at WHERE excluded.seen_at > activity.seen_at`,
      at,
      userId,
    ),
  );
}
