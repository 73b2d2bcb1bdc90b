import { ParleyError } from "../../errors.ts";
import { EMPTY, list, padded, type QuickReader, type Reader, type Statement, sql } from "../sql.ts";
import { batch, get, type Write, write } from "../write.ts";
import { INTO_OUTBOX } from "./events.ts";
import { audience, sees } from "./visibility.ts";

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

interface React {
  userId: string;
  messageId: string;
  emoji: string;
  now: number;
}

interface Reactable {
  conversation_id: string;
  /** 1 if somebody has reacted to it before. */
  has_reactions: number;
  /** 1 if the user has reacted with this emoji. */
  is_there: number;
}

/** Everybody who sees a message can react to it, also to one of the system. */
function findReactable({ userId, messageId, emoji }: React): Statement<Reactable> {
  // A deleted user stays a member until these rows are erased.
  return sql`SELECT m.conversation_id, m.has_reactions, CASE WHEN EXISTS (SELECT 1 FROM reactions r
      WHERE r.user_id = s.user_id AND r.message_id = m.id AND r.emoji = ${emoji}) THEN 1 ELSE 0 END AS is_there
    FROM messages m JOIN members s ON s.conversation_id = m.conversation_id AND s.user_id = ${userId}
    JOIN users u ON u.id = s.user_id WHERE m.id = ${messageId} AND ${sees(sql`m.id`)}`;
}

/** An emoji among those of a message. */
interface Place {
  place: number;
  emoji: string;
  /** Of the last reaction with it. */
  nth: number;
}

/**
 * Adds a reaction; one that is there stays. Throws `message_not_found`, and `count_limit_reached` if the message has too
 * many emoji.
 */
export const addReaction = write(
  { publishesEvents: true, serializeBy: ({ messageId }) => messageId },
  function* (input: React): Write<void> {
    const { userId, messageId, emoji } = input;
    const [[message], places] = yield* batch([
      findReactable(input),
      sql<Place>`SELECT place, MIN(emoji) AS emoji, MAX(nth) AS nth FROM reactions WHERE message_id = ${messageId}
        GROUP BY place ORDER BY place`,
    ]);
    if (!message) throw new ParleyError("message_not_found");
    if (message.is_there === 1) return;
    const known = places.find((each) => each.emoji === emoji);
    if (!known && places.length >= MAX_EMOJI) {
      const detail = `This message takes no more than ${MAX_EMOJI} different emoji. React with one that it has.`;
      throw new ParleyError("count_limit_reached", detail, { param: "emoji" });
    }
    const { place, nth } = known ?? { place: (places.at(-1)?.place ?? 0) + 1, nth: 0 };
    yield* batch([
      sql`INSERT INTO reactions (message_id, place, nth, emoji, user_id)
        VALUES (${messageId}, ${place}, ${nth + 1}, ${emoji}, ${userId})`,
      ...(message.has_reactions === 1
        ? []
        : [sql`UPDATE messages SET has_reactions = 1 WHERE id = ${messageId}`]),
      publishReaction("reaction.created", input, message),
    ]);
  },
);

/** Removes a reaction of the user, if it is there. Throws `message_not_found`. */
export const removeReaction = write(
  { publishesEvents: true, serializeBy: ({ messageId }) => messageId },
  function* (input: React): Write<void> {
    const message = yield* get(findReactable(input));
    if (!message) throw new ParleyError("message_not_found");
    if (message.is_there === 0) return;
    yield* batch([
      sql`DELETE FROM reactions
        WHERE user_id = ${input.userId} AND message_id = ${input.messageId} AND emoji = ${input.emoji}`,
      publishReaction("reaction.deleted", input, message),
    ]);
  },
);

/** Publishes the change to everybody who sees the message and has not blocked the user. */
function publishReaction(
  type: "reaction.created" | "reaction.deleted",
  { userId: user_id, messageId: message_id, emoji, now }: React,
  { conversation_id }: Reactable,
): Statement {
  const reaction: Reaction = { message_id, conversation_id, emoji, user_id };
  return sql`${INTO_OUTBOX} SELECT s.user_id, ${type}, s.conversation_id, ${now}, ${JSON.stringify(reaction)}
    ${audience(conversation_id, sql`${message_id}`)} AND ${isShown(sql`${user_id}`, sql`s.user_id`)}`;
}
