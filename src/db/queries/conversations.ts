import { NEWEST } from "../page.ts";
import { batch, get, type Reader, raw, run, type Statement, sql, type Write } from "../sql.ts";
import { deleteSmallFile, isSmallFile } from "./small-files.ts";
import { addStorage } from "./storage.ts";
import { createTombstone } from "./tombstones.ts";

export async function isMember(db: Reader, conversationId: string, userId: string): Promise<boolean> {
  const found = await db.get(
    sql`SELECT 1 AS one FROM members WHERE conversation_id = ${conversationId} AND user_id = ${userId}`,
  );
  return found !== undefined;
}

/** Part of other writes: creates a conversation by its first member. It exists as long as it has one. */
export function* createConversation(id: string, userId: string, createdAt: number): Write<void> {
  yield* run(
    sql`INSERT INTO members (conversation_id, user_id, joined_at) VALUES (${id}, ${userId}, ${createdAt})`,
  );
}

/**
 * Holds for a grant `g` unless its user left the conversation after receiving it, and the grant is still to be erased. A
 * scalar, so that a planner can only look it up by its key.
 */
export const GRANT_COUNTS = sql`g.attachment_id > COALESCE((SELECT d.until_id FROM departing d
  WHERE d.conversation_id = g.conversation_id AND d.user_id = g.user_id), '')`;

/** Rows that a user has left behind in a conversation. */
interface Departure {
  conversation_id: string;
  user_id: string;
  /** The last attachment whose grant is to be erased. */
  until_id: string;
}

interface HeldFile {
  id: string;
  /** Null if the attachment was deleted, like size and uploader. */
  blob_key: string | null;
  file_size: number | null;
  uploader_id: string | null;
  /** 1 if another user has a grant, otherwise 0. */
  kept: number;
}

// The grant that is erased last takes the attachment with it. Until then its uploader's storage counts it.
const isHeldBy = (table: "members" | "departing") => sql`EXISTS (SELECT 1 FROM ${raw(table)} h
  JOIN grants o ON o.user_id = h.user_id AND o.attachment_id = g.attachment_id
  WHERE h.conversation_id = g.conversation_id AND h.user_id <> g.user_id)`;
const IS_HELD = sql`${isHeldBy("members")} OR ${isHeldBy("departing")}`;

function findHeldFiles(
  { user_id, conversation_id, until_id }: Departure,
  limit: number,
): Statement<HeldFile> {
  return sql`SELECT g.attachment_id AS id, a.blob_key, a.file_size, a.uploader_id,
      CASE WHEN ${IS_HELD} THEN 1 ELSE 0 END AS kept
    FROM (SELECT user_id, conversation_id, attachment_id FROM grants
      WHERE user_id = ${user_id} AND conversation_id = ${conversation_id} AND attachment_id <= ${until_id}
      ORDER BY attachment_id LIMIT ${limit} + 0) g
    LEFT JOIN attachments a ON a.id = g.attachment_id`;
}

// While there are members no messages are erased, so none are searched.
function findLastMessages(conversationId: string, limit: number): Statement<{ id: string }> {
  return sql`SELECT id FROM messages WHERE conversation_id = (
    SELECT CAST(${conversationId} AS TEXT)
    WHERE NOT EXISTS (SELECT 1 FROM members WHERE conversation_id = ${conversationId})) LIMIT ${limit} + 0`;
}

/**
 * Part of other writes: erases at most `limit` files and messages that the departed user was the last to hold, or grants
 * that others share, and returns how many; fewer than `limit` means that none are left. Statements `before` and `after` go
 * out with those of the first and the second round trip.
 */
export function* eraseDeparture(
  departure: Departure,
  now: number,
  limit: number,
  before: readonly Statement[] = [],
  after: readonly Statement[] = [],
): Write<number> {
  const { conversation_id: id, user_id: userId } = departure;
  const rows = yield* batch([...before, findHeldFiles(departure, limit), findLastMessages(id, limit)]);
  const [files, found] = rows.slice(before.length) as [HeldFile[], { id: string }[]];
  const messages = found.slice(0, limit - files.length);
  const sent = files.filter((file) => file.uploader_id === userId);
  const bytes = sent.reduce((sum, file) => sum + file.file_size!, 0);
  yield* batch([
    ...(bytes > 0 ? [addStorage(userId, -bytes)] : []),
    ...files.flatMap((file) => eraseGrant(userId, file, now)),
    ...messages.map((message) => sql`DELETE FROM messages WHERE id = ${message.id}`),
    sql`DELETE FROM departures WHERE conversation_id = ${id}
      AND NOT EXISTS (SELECT 1 FROM members m WHERE m.conversation_id = departures.conversation_id)`,
    ...after,
  ]);
  return files.length + messages.length;
}

function eraseGrant(userId: string, { id, blob_key, kept }: HeldFile, now: number): Statement[] {
  const grant = sql`DELETE FROM grants WHERE user_id = ${userId} AND attachment_id = ${id}`;
  if (kept === 1 || blob_key === null) return [grant];
  return [
    grant,
    sql`DELETE FROM attachments WHERE id = ${id}`,
    isSmallFile({ id, blob_key }) ? deleteSmallFile(id) : createTombstone(blob_key, now),
  ];
}

/** Part of other writes: removes the member. `eraseDeparture` erases what they had there. */
export function removeMember(conversationId: string, userId: string): Statement {
  return sql`DELETE FROM members WHERE conversation_id = ${conversationId} AND user_id = ${userId}`;
}

/**
 * Part of other writes: the user leaves the conversation and sees nothing of it from then on. Erases what no other member
 * sees, with the last member all of it: `limit` rows at once, and the rest in the background. Statements `before` and
 * `after` the user left go out with others.
 */
export function* leaveConversation(
  id: string,
  userId: string,
  now: number,
  limit: number,
  before: readonly Statement[],
  after: readonly Statement[],
): Write<void> {
  const departure = { conversation_id: id, user_id: userId, until_id: NEWEST };
  const leaving = [...before, removeMember(id, userId)];
  if ((yield* eraseDeparture(departure, now, limit, leaving, after)) < limit) return;
  yield* run(
    sql`INSERT INTO departing (conversation_id, user_id, until_id)
      SELECT ${id}, ${userId}, COALESCE(MAX(attachment_id), '') FROM grants WHERE user_id = ${userId}
        AND conversation_id = ${id}
      ON CONFLICT (conversation_id, user_id) DO UPDATE SET until_id = excluded.until_id`,
  );
}

/** Part of a step of the eraser. Returns false if no departure is left. */
export function* continueDeparture(now: number, limit: number): Write<boolean> {
  const departure = yield* get<Departure>(
    sql`SELECT conversation_id, user_id, until_id FROM departing ORDER BY conversation_id, user_id LIMIT 1`,
  );
  if (!departure) return false;
  if ((yield* eraseDeparture(departure, now, limit)) === limit) return true;
  yield* run(
    sql`DELETE FROM departing WHERE conversation_id = ${departure.conversation_id}
      AND user_id = ${departure.user_id}`,
  );
  return true;
}
