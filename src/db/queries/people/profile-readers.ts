import { list, padded, type Reader, type Statement, sql } from "../../sql.ts";
import { all, batch, get, run, type Write, write } from "../../write.ts";
import { INTO_OUTBOX } from "../events/events.ts";
import { SENDER, type SenderRow } from "./users.ts";

// The readers of a user's profile: the user, and the members of the same conversations. In a direct conversation that the user has
// left, the contact remains a reader: otherwise the missing events would tell that the user has left.

/** Returns the next readers of the user's profile after this one, ordered by id. */
export function profileReadersQuery(
  userId: string,
  after: string,
  limit: number,
): Statement<{ reader_id: string }> {
  // Contacts and groups have indexes by user, unlike members.
  return sql`SELECT reader_id FROM (
      SELECT ${userId} AS reader_id
      UNION SELECT s.user_id FROM contacts c JOIN members s ON s.conversation_id = c.conversation_id
        WHERE c.owner_id = ${userId} AND s.user_id > ${after}
      UNION SELECT s.user_id FROM departures d JOIN members s ON s.conversation_id = d.conversation_id
        WHERE d.user_id = ${userId} AND s.user_id > ${after} AND s.group_id IS NULL
      UNION SELECT s.user_id FROM members t JOIN members s ON s.conversation_id = t.conversation_id
        WHERE t.user_id = ${userId} AND t.group_id IS NOT NULL AND s.user_id > ${after}
    ) AS readers WHERE reader_id > ${after} ORDER BY reader_id LIMIT ${limit} + 0`;
}

/** Returns each of the users once for each of these readers who is a reader of the user's profile now. */
export function findProfilesFor(
  db: Reader,
  userIds: readonly string[],
  readerIds: readonly string[],
): Promise<(SenderRow & { reader_id: string })[]> {
  return db.all(profilesQuery(userIds, readerIds));
}

export function profilesQuery(
  userIds: readonly string[],
  readerIds: readonly string[],
): Statement<SenderRow & { reader_id: string }> {
  // From the reader's side: a user such as a bot may have many more conversations.
  return sql`SELECT r.id AS reader_id, ${SENDER} FROM users CROSS JOIN users r
    WHERE users.id IN (${list(padded(userIds))}) AND r.id IN (${list(padded(readerIds))}) AND (r.id = users.id
      OR EXISTS (SELECT 1 FROM contacts c WHERE c.owner_id = r.id AND c.username_key = users.username_key AND (
        EXISTS (SELECT 1 FROM members m WHERE m.conversation_id = c.conversation_id AND m.user_id = users.id)
        OR EXISTS (SELECT 1 FROM departures d WHERE d.conversation_id = c.conversation_id AND d.user_id = users.id)))
      OR EXISTS (SELECT 1 FROM members s JOIN members t ON t.conversation_id = s.conversation_id
        WHERE s.user_id = r.id AND s.group_id IS NOT NULL AND t.user_id = users.id))`;
}

/** Part of other writes: lets a job inform the readers of the user's profile, from the first. */
export function noteProfileChange(userId: string): Statement {
  return sql`INSERT INTO profile_changes (user_id) VALUES (${userId})
    ON CONFLICT (user_id) DO UPDATE SET after_id = ''`;
}

/** Returns the next user after this one whose profile has changed, with readers left to inform. */
export async function findProfileChange(db: Reader, after: string): Promise<string | undefined> {
  const row = await db.get<{ user_id: string }>(
    sql`SELECT user_id FROM profile_changes WHERE user_id > ${after} ORDER BY user_id LIMIT 1`,
  );
  return row?.user_id;
}

interface PublishProfile {
  userId: string;
  /** How many readers to inform at once. */
  limit: number;
  now: number;
}

/** Publishes a change of the user's profile to the next readers. */
const publishProfile = write(
  { publishesEvents: true },
  function* ({ userId, limit, now }: PublishProfile): Write<void> {
    const change = yield* get<{ after_id: string }>(
      sql`SELECT after_id FROM profile_changes WHERE user_id = ${userId}`,
    );
    if (!change) return;
    const readers = yield* all(profileReadersQuery(userId, change.after_id, limit));
    const ids = readers.map(({ reader_id }) => reader_id);
    const payload = JSON.stringify({ id: userId });
    const done =
      ids.length < limit
        ? sql`DELETE FROM profile_changes WHERE user_id = ${userId}`
        : sql`UPDATE profile_changes SET after_id = ${ids.at(-1)!} WHERE user_id = ${userId}`;
    // No readers are left if the last slice was full.
    if (ids.length === 0) return yield* run(done);
    yield* batch([
      // Without those who have been erased.
      sql`${INTO_OUTBOX} SELECT id, 'user.updated', '', ${now}, ${payload} FROM users
        WHERE id IN (${list(padded(ids))}) ORDER BY id`,
      done,
    ]);
  },
);

export const profileReaderWrites = { publishProfile };
