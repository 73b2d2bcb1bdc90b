import { NEWEST } from "../../page.ts";
import { EMPTY, list, type Statement, sql } from "../../sql.ts";
import { all, batch, eraseSome, get, run, type Write } from "../../write.ts";
import { releaseClientId, selectClientIds } from "../record/client-ids.ts";
import { upTo } from "../search/search.ts";
import { type ErasedFile, type ErasedMessage, eraseFile, eraseMessage } from "../storage/content-erase.ts";
import { addStorage } from "../storage/storage-used.ts";
import { audience } from "../visibility/visibility.ts";

// Leaving takes effect at once: without a row in `members` a user sees nothing. Rows that nobody sees any longer are erased in
// steps.

/** This many characters of an erased text count as one more row, because each word is removed from the search index. */
const CHARACTERS_PER_ROW = 200;

/** A user's departure from a conversation in which rows are left to erase. */
interface Departure {
  conversation_id: string;
  user_id: string;
  /** The last message at the time: a user who has joined again sees only later ones. */
  until_id: string;
  /** The last message that was looked at. */
  after_id: string;
}

/** Part of other writes: if others stay, records that a user who joins again gets no earlier messages. */
export function noteDeparture(conversationId: string, userId: string): Statement {
  return sql`INSERT INTO departures (conversation_id, user_id)
    SELECT conversation_id, ${userId} FROM members WHERE conversation_id = ${conversationId} LIMIT 1
    ON CONFLICT (conversation_id, user_id) DO NOTHING`;
}

/**
 * Part of other writes: removes the user from the conversation, who sees nothing of it from then on. Erases at most `limit` rows
 * that no other member sees, leaves the rest to the eraser, and returns how many it erased. After the last member, all rows are to
 * be erased. The statements `before` and `after` are sent with others, before and after the user leaves.
 */
export function* leaveConversation(
  id: string,
  userId: string,
  now: number,
  limit: number,
  before: readonly Statement[] = [],
  after: readonly Statement[] = [],
): Write<number> {
  const isOwn = sql`conversation_id = ${id} AND user_id = ${userId}`;
  const leaving = [
    ...before,
    sql`DELETE FROM members WHERE ${isOwn}`,
    sql`DELETE FROM places WHERE ${isOwn}`,
    sql`DELETE FROM marks WHERE ${isOwn}`,
    sql`DELETE FROM joining WHERE ${isOwn}`,
    ...after,
    forgetDepartures(id),
    sql`SELECT last_id FROM conversations WHERE id = ${id}`,
  ];
  const rows: unknown[][] = yield* batch(leaving);
  const [conversation] = rows.at(-1) as { last_id: string }[];
  if (!conversation) return 1;
  const departure = { conversation_id: id, user_id: userId, until_id: conversation.last_id, after_id: "" };
  const erased = yield* eraseDeparture(departure, now, limit);
  if (erased < limit) return erased + 1;
  yield* run(
    sql`INSERT INTO departing (conversation_id, user_id, until_id, after_id)
      VALUES (${id}, ${userId}, ${departure.until_id}, ${departure.after_id})
      ON CONFLICT (conversation_id, user_id) DO UPDATE
        SET until_id = excluded.until_id, after_id = excluded.after_id`,
  );
  return erased;
}

/** Takes one step of erasing the rows of one of these departures. Returns false if there is none. */
export function* continueDeparture(now: number, limit: number, which: Statement = EMPTY): Write<boolean> {
  const departure = yield* get<Departure>(
    sql`SELECT conversation_id, user_id, until_id, after_id FROM departing ${which}
      ORDER BY conversation_id, user_id LIMIT 1`,
  );
  if (!departure) return false;
  const isThis = sql`conversation_id = ${departure.conversation_id} AND user_id = ${departure.user_id}`;
  const isDone = (yield* eraseDeparture(departure, now, limit)) < limit;
  yield* run(
    isDone
      ? sql`DELETE FROM departing WHERE ${isThis}`
      : sql`UPDATE departing SET after_id = ${departure.after_id} WHERE ${isThis}`,
  );
  return true;
}

/** Erases at most `limit` rows and returns how many; fewer means that none are left. Advances `after_id`. */
function* eraseDeparture(departure: Departure, now: number, limit: number): Write<number> {
  const own = yield* eraseOwn(departure, now, limit);
  if (own >= limit) return limit;
  return own + (yield* eraseUnseen(departure, now, limit - own));
}

interface LeftGrant {
  id: string;
  /** In bytes; 0 for a file of another user. */
  own_size: number;
}

/**
 * Erases grants and withheld runs of the user, and releases the client ids of the user's messages. A file counts in the
 * uploader's storage until its grant is erased.
 */
function* eraseOwn(
  { conversation_id: id, user_id: userId, until_id }: Departure,
  now: number,
  limit: number,
): Write<number> {
  const isOwn = sql`user_id = ${userId} AND conversation_id = ${id}`;
  const [grants, runs, identified] = yield* batch([
    sql<LeftGrant>`SELECT g.attachment_id AS id, COALESCE((SELECT a.file_size FROM attachments a
        WHERE a.id = g.attachment_id AND a.uploader_id = g.user_id), 0) AS own_size
      FROM grants g WHERE g.user_id = ${userId} AND g.conversation_id = ${id}
        AND COALESCE((SELECT a.message_id FROM attachments a WHERE a.id = g.attachment_id), '') <= ${until_id}
      LIMIT ${limit} + 0`,
    sql<{ from_id: string }>`SELECT from_id FROM withheld WHERE ${isOwn} AND to_id <= ${until_id}
      LIMIT ${limit} + 0`,
    selectClientIds(userId, id, until_id, limit),
  ]);
  const bytes = grants.reduce((sum, { own_size }) => sum + own_size, 0);
  const some = runs.slice(0, limit - grants.length);
  const sent = identified.slice(0, limit - grants.length - some.length);
  yield* batch([
    ...(bytes > 0 ? [addStorage(userId, -bytes)] : []),
    ...grants.map(
      (grant) => sql`DELETE FROM grants WHERE user_id = ${userId} AND attachment_id = ${grant.id}`,
    ),
    ...some.map((withheld) => sql`DELETE FROM withheld WHERE ${isOwn} AND from_id = ${withheld.from_id}`),
    ...sent.flatMap((message) => releaseClientId(message, now)),
  ]);
  return grants.length + some.length + sent.length;
}

/** A range of messages, both ends included, that one remaining member does not see. */
interface Range {
  from_id: string;
  to_id: string;
}

/** Finds the next messages that may have no reader left; undefined if one member sees all the others. */
function* nextRange({ conversation_id: id, after_id }: Departure): Write<Range | undefined> {
  const reader = yield* get<{ user_id: string; since_id: string }>(
    sql`SELECT user_id, since_id FROM members WHERE conversation_id = ${id}
      AND since_id = (SELECT MIN(since_id) FROM members WHERE conversation_id = ${id}) LIMIT 1`,
  );
  if (!reader) return { from_id: "", to_id: NEWEST };
  if (after_id < reader.since_id) return { from_id: "", to_id: reader.since_id };
  const runs = sql<Range>`SELECT from_id, to_id FROM withheld
    WHERE user_id = ${reader.user_id} AND conversation_id = ${id}`;
  const last = yield* get<Range>(sql`${runs} AND from_id <= ${after_id} ORDER BY from_id DESC LIMIT 1`);
  if (last && last.to_id > after_id) return last;
  return yield* get<Range>(sql`${runs} AND from_id > ${after_id} ORDER BY from_id LIMIT 1`);
}

interface OldMessage extends ErasedMessage {
  /** 1 if a member sees it, otherwise 0. */
  is_seen: number;
}

function findMessages(departure: Departure, { from_id, to_id }: Range, limit: number): Statement<OldMessage> {
  const id = departure.conversation_id;
  return sql`SELECT m.id, m.conversation_id, m.body_id, b.text, m.has_reactions,
      CASE WHEN EXISTS (SELECT 1 ${audience(id, sql`m.id`)}) THEN 1 ELSE 0 END AS is_seen
    FROM messages m LEFT JOIN message_bodies b ON b.id = m.body_id
    WHERE m.conversation_id = ${id} AND m.id > ${departure.after_id} AND m.id >= ${from_id}
      AND m.id <= ${to_id} ORDER BY m.id LIMIT ${limit} + 0`;
}

/** Looks at no more than `limit` messages, erases those that no member sees, and returns the number of rows it looked at. */
function* eraseUnseen(departure: Departure, now: number, limit: number): Write<number> {
  for (let left = limit; left > 0; ) {
    const range = yield* nextRange(departure);
    const found =
      range && range.from_id <= departure.until_id ? yield* all(findMessages(departure, range, left)) : [];
    if (found.length > 0) {
      left -= yield* eraseAmong(departure, found, now, left);
    } else if (range && range.to_id < departure.until_id) {
      departure.after_id = range.to_id;
      left--;
    } else {
      yield* forgetConversation(departure.conversation_id);
      return limit - left;
    }
  }
  return limit;
}

/**
 * Erases the messages that no member sees: as many as their characters allow, but at least one. Of a message with too many files or
 * reactions it erases only some of those.
 */
function* eraseAmong(departure: Departure, looked: OldMessage[], now: number, limit: number): Write<number> {
  const found = upTo(limit * CHARACTERS_PER_ROW, looked);
  const unseen = found.filter(({ is_seen }) => is_seen === 0);
  const reactions = yield* eraseReactions(unseen, limit);
  if (reactions === limit) return limit;
  const files =
    unseen.length === 0 ? [] : yield* all(findFiles(departure.conversation_id, unseen, limit + 1));
  if (files.length > limit) {
    yield* batch(files.slice(0, limit).flatMap((file) => eraseFile(file, now)));
    return limit;
  }
  yield* batch([...files.flatMap((file) => eraseFile(file, now)), ...unseen.flatMap(eraseMessage)]);
  departure.after_id = found.at(-1)!.id;
  if (found.length < looked.length) return limit;
  const characters = unseen.reduce((sum, { text }) => sum + (text?.length ?? 0), 0);
  return found.length + files.length + reactions + Math.floor(characters / CHARACTERS_PER_ROW);
}

/** Erases at most `limit` reactions to the messages, and returns how many. */
function* eraseReactions(messages: readonly OldMessage[], limit: number): Write<number> {
  const ids = messages.filter(({ has_reactions }) => has_reactions === 1).map(({ id }) => id);
  if (ids.length === 0) return 0;
  return yield* eraseSome(
    "reactions",
    ["message_id", "place", "nth"],
    sql`message_id IN (${list(ids)})`,
    limit,
  );
}

function findFiles(
  conversationId: string,
  messages: readonly OldMessage[],
  limit: number,
): Statement<ErasedFile> {
  return sql`SELECT id, blob_key, uploader_id, file_size FROM attachments WHERE conversation_id = ${conversationId}
    AND message_id IN (${list(messages.map(({ id }) => id))}) LIMIT ${limit} + 0`;
}

/** Erases the rows that a conversation has as long as it has members. */
function* forgetConversation(id: string): Write<void> {
  yield* batch([
    forgetDepartures(id),
    sql`DELETE FROM conversations WHERE id = ${id}
      AND NOT EXISTS (SELECT 1 FROM members WHERE conversation_id = ${id})`,
  ]);
}

function forgetDepartures(id: string): Statement {
  return sql`DELETE FROM departures WHERE conversation_id = ${id}
    AND NOT EXISTS (SELECT 1 FROM members WHERE conversation_id = ${id})`;
}
