import { ParleyError } from "../../../errors.ts";
import { Bulk, type BulkRow, none, some } from "../../bulk.ts";
import { EMPTY, list, padded, type QuickReader, type Reader, raw, type Statement, sql } from "../../sql.ts";
import { doRow, get, type Write, write } from "../../write.ts";
import { INTO_OUTBOX } from "../events/events.ts";
import { audience, sees } from "../visibility/visibility.ts";

/** The most different emoji of a message. */
const MAX_EMOJI = 20;

/** A reaction as its events describe it. */
export interface Reaction {
  message_id: string;
  conversation_id: string;
  emoji: string;
  user_id: string;
}

/** Holds if what the user does is shown to the reader: neither erased, nor blocked by the reader. */
export function isShown(userId: Statement, readerId: Statement): Statement {
  return sql`EXISTS (SELECT 1 FROM users u WHERE u.id = ${userId} AND (u.id = ${readerId} OR NOT EXISTS
    (SELECT 1 FROM blocks b WHERE b.owner_id = ${readerId} AND b.username_key = u.username_key)))`;
}

type ReactionValues = [message_id: string, emoji: string, user_id: string];

/**
 * Returns the reactions to messages that the reader sees, those of each message by its emoji, which are in the order in which they
 * came. A reader who is null has blocked nobody.
 */
export function listReactions(
  db: QuickReader,
  messageIds: readonly string[],
  readerId: string | null,
): Promise<ReactionValues[]> {
  return db.allValues(reactionsQuery(messageIds, readerId));
}

export function reactionsQuery(
  messageIds: readonly string[],
  readerId: string | null,
): Statement<ReactionValues> {
  const shown =
    readerId === null
      ? sql`EXISTS (SELECT 1 FROM users u WHERE u.id = r.user_id)`
      : isShown(sql`r.user_id`, sql`${readerId}`);
  return sql`SELECT r.message_id, r.emoji, r.user_id FROM reactions r
    WHERE r.message_id IN (${list(padded(messageIds))}) AND ${shown} ORDER BY r.message_id, r.place, r.nth`;
}

/** Returns those of the readers to whom reactions of one of these users are not shown. */
export async function listBlockingReaders(
  db: Reader,
  userIds: readonly string[],
  readerIds: readonly string[],
): Promise<string[]> {
  const rows = await db.all<{ id: string }>(
    sql`SELECT o.id FROM users o WHERE o.id IN (${list(padded(readerIds))}) AND (SELECT COUNT(*) FROM users r
      WHERE r.id IN (${list(padded(userIds))}) AND ${isShown(sql`r.id`, sql`o.id`)}) < ${userIds.length}`,
  );
  return rows.map(({ id }) => id);
}

/** Returns those of the users to whom an event of the reaction is shown. One that was added must still be there. */
export async function listReactionReaders(
  db: Reader,
  { message_id, conversation_id, emoji, user_id }: Reaction,
  isAdded: boolean,
  userIds: readonly string[],
): Promise<string[]> {
  const isThere = sql`AND EXISTS (SELECT 1 FROM reactions r
    WHERE r.user_id = ${user_id} AND r.message_id = ${message_id} AND r.emoji = ${emoji})`;
  const rows = await db.all<{ user_id: string }>(
    sql`SELECT s.user_id ${audience(conversation_id, sql`${message_id}`)} AND s.user_id IN (${list(padded(userIds))})
      AND ${isShown(sql`${user_id}`, sql`s.user_id`)} ${isAdded ? isThere : EMPTY}`,
  );
  return rows.map((row) => row.user_id);
}

/** What becomes of a reaction, in the input of a bulk. */
const REACTION = {
  user_id: "TEXT",
  message_id: "TEXT",
  emoji: "TEXT",
  emoji_json: "TEXT",
  now: "BIGINT",
} as const;
/** The message that the user sees, and the user, who may be erased. */
const MESSAGE_AND_USER = sql`messages m CROSS JOIN users u`;
const SEES_MESSAGE = sql`m.id = input.message_id AND u.id = input.user_id AND ${some(sql`SELECT s.user_id FROM members s
  WHERE s.conversation_id = m.conversation_id AND s.user_id = input.user_id AND ${sees(sql`m.id`)}`)}`;
const OWN_REACTION = sql`SELECT r.user_id FROM reactions r
  WHERE r.user_id = input.user_id AND r.message_id = input.message_id AND r.emoji = input.emoji`;
const OF_MESSAGE = sql`FROM reactions r WHERE r.message_id = input.message_id`;

/** Publishes the change to everybody who sees the message and has not blocked the user. */
function publishFound(type: "reaction.created" | "reaction.deleted"): Statement {
  return sql`${INTO_OUTBOX} SELECT s.user_id, ${raw(`'${type}'`)}, found.conversation_id, found.now,
      '{"message_id":"' || found.message_id || '","conversation_id":"' || found.conversation_id
      || '","emoji":' || found.emoji_json || ',"user_id":"' || found.user_id || '"}'
    FROM found, members s WHERE s.conversation_id = found.conversation_id AND ${sees(sql`found.message_id`)}
      AND (s.user_id = found.user_id OR ${none(sql`SELECT b.owner_id FROM users u JOIN blocks b
        ON b.owner_id = s.user_id AND b.username_key = u.username_key WHERE u.id = found.user_id`)})
    in_order(found.message_id)`;
}

const ADDED = new Bulk({
  input: REACTION,
  found: {
    conversation_id: sql<string>`m.conversation_id`,
    place: sql<number>`COALESCE((SELECT MIN(r.place) ${OF_MESSAGE} AND r.emoji = input.emoji),
      (SELECT COALESCE(MAX(r.place), 0) + 1 ${OF_MESSAGE}))`,
    nth: sql<number>`(SELECT COALESCE(MAX(r.nth), 0) + 1 ${OF_MESSAGE} AND r.emoji = input.emoji)`,
  },
  tables: MESSAGE_AND_USER,
  condition: sql`${SEES_MESSAGE} AND ${none(OWN_REACTION)}
    AND (${some(sql`SELECT r.place ${OF_MESSAGE} AND r.emoji = input.emoji`)}
      OR (SELECT COUNT(DISTINCT r.place) ${OF_MESSAGE}) < ${raw(String(MAX_EMOJI))})`,
  changes: [
    sql`INSERT INTO reactions (message_id, place, nth, emoji, user_id)
      SELECT found.message_id, found.place, found.nth, found.emoji, found.user_id FROM found`,
    sql`UPDATE messages SET has_reactions = 1 FROM found
      WHERE messages.id = found.message_id AND messages.has_reactions = 0`,
    publishFound("reaction.created"),
  ],
});

const REMOVED = new Bulk({
  input: REACTION,
  found: { conversation_id: sql<string>`m.conversation_id` },
  tables: MESSAGE_AND_USER,
  condition: sql`${SEES_MESSAGE} AND ${some(OWN_REACTION)}`,
  changes: [
    sql`DELETE FROM reactions WHERE (user_id, message_id, emoji) IN
      (SELECT found.user_id, found.message_id, found.emoji FROM found)`,
    publishFound("reaction.deleted"),
  ],
});

function toBulkRow(bulk: typeof ADDED | typeof REMOVED, { userId, messageId, emoji, now }: React): BulkRow {
  return bulk.row({ user_id: userId, message_id: messageId, emoji, emoji_json: JSON.stringify(emoji), now }, [
    messageId,
  ]);
}

interface React {
  userId: string;
  messageId: string;
  emoji: string;
  now: number;
}

interface Reactable {
  /** 1 if the user has reacted with this emoji. */
  is_there: number;
}

/** Everybody who sees a message can react to it, also to one of the system. */
function findReactable({ userId, messageId, emoji }: React): Statement<Reactable> {
  // A deleted user stays a member until these rows are erased.
  return sql`SELECT CASE WHEN EXISTS (SELECT 1 FROM reactions r
      WHERE r.user_id = s.user_id AND r.message_id = m.id AND r.emoji = ${emoji}) THEN 1 ELSE 0 END AS is_there
    FROM messages m JOIN members s ON s.conversation_id = m.conversation_id AND s.user_id = ${userId}
    JOIN users u ON u.id = s.user_id WHERE m.id = ${messageId} AND ${sees(sql`m.id`)}`;
}

/**
 * Adds a reaction; one that is there stays. Throws `message_not_found`, and `count_limit_reached` if the message has too
 * many emoji.
 */
const addReaction = write(
  { publishesEvents: true, serializeBy: ({ messageId }) => messageId },
  function* (input: React): Write<void> {
    if (yield* doRow(toBulkRow(ADDED, input))) return;
    const message = yield* get(findReactable(input));
    if (!message) throw new ParleyError("message_not_found");
    if (message.is_there === 1) return;
    const detail = `This message takes no more than ${MAX_EMOJI} different emoji. React with one that it has.`;
    throw new ParleyError("count_limit_reached", detail, { param: "emoji" });
  },
);

/** Removes a reaction of the user, if it is there. Throws `message_not_found`. */
const removeReaction = write(
  { publishesEvents: true, serializeBy: ({ messageId }) => messageId },
  function* (input: React): Write<void> {
    if (yield* doRow(toBulkRow(REMOVED, input))) return;
    if (!(yield* get(findReactable(input)))) throw new ParleyError("message_not_found");
  },
);

export const reactionWrites = { addReaction, removeReaction };
