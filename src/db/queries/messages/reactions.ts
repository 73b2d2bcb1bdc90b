import { ParleyError } from "../../../errors.ts";
import { EMPTY, list, padded, type QuickReader, type Reader, type Statement, sql } from "../../sql.ts";
import { batch, get, type Write, write } from "../../write.ts";
import { INTO_OUTBOX } from "../events/events.ts";
import { hasBlocked } from "../people/blocks.ts";
import { audience, sees } from "../visibility/visibility.ts";

/** The maximum number of different emoji of a message. */
export const MAX_EMOJI = 20;

/** A reaction as its events describe it. */
export interface Reaction {
  message_id: string;
  conversation_id: string;
  emoji: string;
  user_id: string;
}

/** Holds if the reader sees reactions of the user: the user is neither erased nor blocked by the reader. */
export function isShown(userId: Statement, readerId: Statement): Statement {
  return sql`EXISTS (SELECT 1 FROM users u WHERE u.id = ${userId} AND (u.id = ${readerId} OR NOT EXISTS
    (SELECT 1 FROM blocks b WHERE b.owner_id = ${readerId} AND b.username_key = u.username_key)))`;
}

type ReactionValues = [message_id: string, emoji: string, user_id: string];

/**
 * Returns the reactions to messages that the reader sees, grouped by emoji, in the order in which each emoji was first used. Null
 * stands for a reader who has blocked nobody.
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

/** Returns the readers who do not see reactions of one of these users. */
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

/** Returns the users who see an event of the reaction. A reaction that was added must still exist. */
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

export interface React {
  userId: string;
  messageId: string;
  emoji: string;
  now: number;
}

interface Reactable {
  conversation_id: string;
  has_reactions: number;
  /** The user's. */
  username_key: string;
  /** 1 if the user has reacted with this emoji. */
  is_there: number;
}

/** Gets a message to react to: any that the user sees, including system messages. Throws `message_not_found`. */
function* getReactable({ userId, messageId, emoji }: React): Write<Reactable> {
  // A deleted user stays a member until these rows are erased.
  const message = yield* get<Reactable>(
    sql`SELECT m.conversation_id, m.has_reactions, u.username_key, CASE WHEN EXISTS (SELECT 1 FROM reactions r
        WHERE r.user_id = s.user_id AND r.message_id = m.id AND r.emoji = ${emoji}) THEN 1 ELSE 0 END AS is_there
      FROM messages m JOIN members s ON s.conversation_id = m.conversation_id AND s.user_id = ${userId}
      JOIN users u ON u.id = s.user_id WHERE m.id = ${messageId} AND ${sees(sql`m.id`)}`,
  );
  if (!message) throw new ParleyError("message_not_found");
  return message;
}

/** Publishes the change to everybody who sees the message and has not blocked the user. */
function publishReaction(
  type: "reaction.created" | "reaction.deleted",
  { userId, messageId, emoji, now }: React,
  { conversation_id, username_key }: Reactable,
): Statement {
  const reaction: Reaction = { message_id: messageId, conversation_id, emoji, user_id: userId };
  return sql`${INTO_OUTBOX} SELECT s.user_id, ${type}, s.conversation_id, ${now}, ${JSON.stringify(reaction)}
    ${audience(conversation_id, sql`${messageId}`)} AND (s.user_id = ${userId} OR NOT ${hasBlocked(username_key)})`;
}

interface Emoji {
  count: number;
  last_place: number | null;
  /** The emoji's, as is `nth`. */
  place: number | null;
  nth: number | null;
}

/**
 * Adds a reaction, or keeps an existing one. Throws `message_not_found`, and `count_limit_reached` if the message has too
 * many emoji.
 */
const addReaction = write(
  { publishesEvents: true, serializeBy: ({ messageId }) => messageId },
  function* (input: React): Write<void> {
    const { userId, messageId, emoji } = input;
    const message = yield* getReactable(input);
    if (message.is_there === 1) return;
    const found = (yield* get<Emoji>(
      sql`SELECT COUNT(DISTINCT r.place) AS count, MAX(r.place) AS last_place,
          MIN(CASE WHEN r.emoji = ${emoji} THEN r.place END) AS place,
          MAX(CASE WHEN r.emoji = ${emoji} THEN r.nth END) AS nth
        FROM reactions r WHERE r.message_id = ${messageId}`,
    ))!;
    if (found.place === null && found.count >= MAX_EMOJI) {
      const detail = `This message takes no more than ${MAX_EMOJI} different emoji. React with one that it has.`;
      throw new ParleyError("count_limit_reached", detail, { param: "emoji" });
    }
    const place = found.place ?? (found.last_place ?? 0) + 1;
    yield* batch([
      sql`INSERT INTO reactions (message_id, place, nth, emoji, user_id)
        VALUES (${messageId}, ${place}, ${(found.nth ?? 0) + 1}, ${emoji}, ${userId})`,
      ...(message.has_reactions === 1
        ? []
        : [sql`UPDATE messages SET has_reactions = 1 WHERE id = ${messageId}`]),
      publishReaction("reaction.created", input, message),
    ]);
  },
);

/** Removes a reaction of the user, if it is there. Throws `message_not_found`. */
const removeReaction = write(
  { publishesEvents: true, serializeBy: ({ messageId }) => messageId },
  function* (input: React): Write<void> {
    const { userId, messageId, emoji } = input;
    const message = yield* getReactable(input);
    if (message.is_there === 0) return;
    yield* batch([
      sql`DELETE FROM reactions WHERE user_id = ${userId} AND message_id = ${messageId} AND emoji = ${emoji}`,
      publishReaction("reaction.deleted", input, message),
    ]);
  },
);

export const reactionWrites = { addReaction, removeReaction };
