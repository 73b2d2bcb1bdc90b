import { ParleyError } from "../../../errors.ts";
import { laterId } from "../../../util/ids.ts";
import { columns, type RowOf } from "../../columns.ts";
import type { Page } from "../../page.ts";
import { list, padded, type QuickReader, type Reader, type Statement, sql } from "../../sql.ts";
import { checkVersion, type Expected } from "../../version.ts";
import { all, batch, get, run, type Write, write } from "../../write.ts";
import { publishMention, publishReference } from "../events/events.ts";
import { hasBlocked } from "../people/blocks.ts";
import { type NewEntry, recordEntry } from "../record/audit-trail.ts";
import { type IdentifiedMessage, releaseClientId } from "../record/client-ids.ts";
import { queueBody } from "../search/search.ts";
import {
  type ErasedFile,
  type ErasedMessage,
  eraseBody,
  eraseFile,
  eraseMessage,
} from "../storage/content-erase.ts";
import { returnStorage } from "../storage/storage-used.ts";
import { audience, newestQuery, type Seat, sees, walkVisible } from "../visibility/visibility.ts";
import { checkMentions, insertBody } from "./message-send.ts";
import { withdraw } from "./message-withhold.ts";

const MESSAGE = columns({
  id: sql<string>`m.id`,
  conversation_id: sql<string>`m.conversation_id`,
  sender_id: sql<string>`m.sender_id`,
  /** `text`, or the type of a system message. */
  type: sql<string>`m.type`,
  text: sql<string | null>`b.text`,
  /** JSON text. */
  data: sql<string | null>`b.data`,
  /** 1 if a file was added, even if it has been deleted since. */
  has_files: sql<number>`m.has_files`,
  /** 1 if somebody has reacted, even if the reactions have been removed since. */
  has_reactions: sql<number>`m.has_reactions`,
  /** Ids of users, separated by spaces. In a system message: the user whom the action affects, or those who were added. */
  mentions: sql<string | null>`m.mentions`,
  reply_to_id: sql<string | null>`m.reply_to_id`,
  client_id: sql<string | null>`m.client_id`,
  created_at: sql<number>`m.created_at`,
  edited_at: sql<number | null>`m.edited_at`,
  version: sql<number>`m.version`,
});
export type MessageRow = RowOf<typeof MESSAGE>;

const MESSAGES = sql`FROM messages m LEFT JOIN message_bodies b ON b.id = m.body_id`;
const SEEN_BY = (userId: string) => sql`${MESSAGES}
  JOIN members s ON s.conversation_id = m.conversation_id AND s.user_id = ${userId}`;

/** Finds a message that the user sees. */
export function findMessage(db: QuickReader, userId: string, id: string): Promise<MessageRow | undefined> {
  const isIt = sql`m.id = ${id} AND ${sees(sql`m.id`)}`;
  return MESSAGE.get(db, sql`SELECT ${MESSAGE} ${SEEN_BY(userId)} WHERE ${isIt}`);
}

/** Finds a message without checking who sees it. */
export function findAnyMessage(
  db: QuickReader,
  conversationId: string,
  id: string,
): Promise<MessageRow | undefined> {
  const isIt = sql`m.conversation_id = ${conversationId} AND m.id = ${id}`;
  return MESSAGE.get(db, sql`SELECT ${MESSAGE} ${MESSAGES} WHERE ${isIt}`);
}

/** Returns those of the messages that the user sees. */
export function findMessages(db: QuickReader, userId: string, ids: readonly string[]): Promise<MessageRow[]> {
  const areSeen = sql`m.id IN (${list(padded(ids))}) AND ${sees(sql`m.id`)}`;
  return MESSAGE.all(db, sql`SELECT ${MESSAGE} ${SEEN_BY(userId)} WHERE ${areSeen}`);
}

/** Returns the messages of a page that the member sees, and one more if there is one. */
export function listMessageRows(
  db: QuickReader,
  seat: Seat,
  { cursor, newer, limit }: Page,
): Promise<MessageRow[]> {
  return walkVisible(db, MESSAGE, seat, { cursor, newer, limit: limit + 1 });
}

/** A member's seat in a conversation, and its position in the member's inbox. */
interface Listed extends Seat {
  position: string | null;
}

/**
 * Returns the last message in each conversation that its member, the same for all, sees, without system messages. That is the
 * message that gave the conversation its position, unless it is gone. Leaves out messages that are later than the position: their
 * rows do not count them as unread yet.
 */
export async function findLastMessages(db: QuickReader, listed: readonly Listed[]): Promise<MessageRow[]> {
  const newest = new Map(
    listed.flatMap(({ conversation_id, position }) =>
      position === null ? [] : [[conversation_id, `msg_${position}`] as const],
    ),
  );
  if (newest.size === 0) return [];
  const userId = listed[0]!.user_id;
  const placed = await findMessages(db, userId, [...newest.values()]);
  const found = placed.filter(({ type }) => type === "text");
  const known = new Set(found.map(({ conversation_id }) => conversation_id));
  const others = [...newest.keys()].filter((id) => !known.has(id));
  if (others.length === 0) return found;
  const earlier = await MESSAGE.all(db, newestQuery(MESSAGE, userId, others, 1, true));
  return [...found, ...earlier.filter(({ id, conversation_id }) => id < newest.get(conversation_id)!)];
}

/** Returns the newest messages that the user sees in each of these conversations, newest first, at most `limit` in each. */
export async function findNewestMessages(
  db: QuickReader,
  userId: string,
  conversationIds: readonly string[],
  limit: number,
): Promise<MessageRow[]> {
  const found = await MESSAGE.all(db, newestQuery(MESSAGE, userId, conversationIds, limit));
  return found.sort((a, b) => (a.id < b.id ? 1 : -1));
}

interface OwnMessage {
  id: string;
  conversation_id: string;
  sender_id: string;
  type: string;
  body_id: number | null;
  has_reactions: number;
  text: string | null;
  data: string | null;
  mentions: string | null;
  client_id: string | null;
  version: number;
  username_key: string;
}

interface OwnMessageInput {
  userId: string;
  id: string;
  expected: Expected;
  now: number;
}

/** Throws `message_not_found`, and `not_sender` for the message of another member. */
function* getOwnMessage({ userId, id, expected }: OwnMessageInput): Write<OwnMessage> {
  const message = yield* get<OwnMessage>(
    sql`SELECT m.id, m.conversation_id, m.sender_id, m.type, m.body_id, m.has_reactions, b.text, b.data,
        m.mentions, m.client_id, m.version, u.username_key
      ${SEEN_BY(userId)} JOIN users u ON u.id = s.user_id WHERE m.id = ${id} AND ${sees(sql`m.id`)}`,
  );
  if (!message) throw new ParleyError("message_not_found");
  if (message.sender_id !== userId || message.type !== "text") throw new ParleyError("not_sender");
  checkVersion(expected, message.version);
  return message;
}

interface UpdateMessage extends OwnMessageInput {
  /** Undefined leaves it unchanged. */
  text: string | null | undefined;
  /** JSON text; undefined leaves it unchanged. */
  data: string | null | undefined;
  /** Undefined leaves them unchanged. */
  mentions?: readonly string[] | undefined;
}

/**
 * Changes text, data and mentions, and alerts newly mentioned users. Throws what `getOwnMessage` throws, `missing_parameter` if
 * the message would be empty, and `invalid_parameter` for a new mention of a user who is not a member.
 */
const updateMessage = write({ publishesEvents: true }, function* (input: UpdateMessage): Write<void> {
  const message = yield* getOwnMessage(input);
  const { id } = message;
  const mentioned = message.mentions?.split(" ") ?? [];
  const { text = message.text, data = message.data, mentions = mentioned } = input;
  const areMentionsSame = mentions.join(" ") === mentioned.join(" ");
  if (text === message.text && data === message.data && areMentionsSame) return;
  if (text === null && data === null && (yield* all(findFiles(message))).length === 0) {
    const detail = "A message needs visible text, data or a file. Delete it instead.";
    throw new ParleyError("missing_parameter", detail, { param: "text" });
  }
  const added = mentions.filter((userId) => !mentioned.includes(userId));
  if (added.length > 0) yield* checkMentions(message.conversation_id, added);
  const newBody = yield* insertBody(text, data);
  yield* batch([
    ...eraseBody(message),
    ...queueBody(newBody, text),
    sql`UPDATE messages SET body_id = ${newBody}, mentions = ${mentions.join(" ") || null}, edited_at = ${input.now}
      WHERE id = ${id}`,
    ...(yield* publishChange(message, input.now)),
    // Members who have blocked the sender no longer see the message.
    ...(added.length > 0 ? [publishMention(input.now, message.conversation_id, id, added)] : []),
  ]);
});

export interface Changed {
  id: string;
  conversation_id: string;
  sender_id: string;
  username_key: string;
}

/**
 * Part of writes that change a message: returns the statements that publish the change. From members who have blocked the sender
 * since they received the message, it is withheld instead, because nothing that a blocked user writes reaches them.
 */
export function* publishChange(message: Changed, now: number): Write<Statement[]> {
  const { id, conversation_id } = message;
  const [blockers, files] = yield* batch([
    sql<Member>`SELECT s.user_id ${audience(conversation_id, sql`${id}`)} AND s.user_id <> ${message.sender_id}
      AND ${hasBlocked(message.username_key)}`,
    findFiles(message),
  ]);
  const userIds = blockers.map(({ user_id }) => user_id);
  return [...withdraw(message, files, userIds, now), ...publishUpdate(message, now)];
}

/** Part of other writes: publishes a change of the message to everybody who sees it. */
export function publishUpdate(
  { id, conversation_id }: { id: string; conversation_id: string },
  now: number,
): Statement[] {
  return [
    sql`UPDATE messages SET version = version + 1 WHERE id = ${id}`,
    publishReference("message.updated", now, conversation_id, id, id),
  ];
}

function findFiles({ id, conversation_id }: { id: string; conversation_id: string }): Statement<ErasedFile> {
  return sql`SELECT id, blob_key, uploader_id, file_size FROM attachments
    WHERE conversation_id = ${conversation_id} AND message_id = ${id} ORDER BY id`;
}

/** A message to delete, whose sender may see it. */
interface DeletedMessage extends ErasedMessage, IdentifiedMessage {}

interface DeleteMessage extends OwnMessageInput {
  /** Whether the user may delete messages of other users, even those that the user does not see. */
  asAdmin?: boolean;
  /** The audit entry of the first file or, for another user's message or if somebody else acts as the user, of the message. */
  entry: NewEntry;
}

/** Deletes the message with its files for everybody. Throws what `getOwnMessage` throws. */
const deleteMessage = write(
  { publishesEvents: true, serializeBy: ({ userId }) => userId },
  function* (input: DeleteMessage): Write<void> {
    const message = input.asAdmin ? yield* getAnyMessage(input) : yield* getOwnMessage(input);
    let { entry } = input;
    if (message.sender_id !== input.userId || entry.actedById !== null) {
      yield* run(recordEntry(entry, "message.deleted", message.id));
      entry = { ...entry, id: laterId(entry.id, entry.id) };
    }
    yield* eraseForAll(message, yield* all(findFiles(message)), input.now, entry);
  },
);

/** Throws `message_not_found`, and `not_sender` for a message of the system. */
function* getAnyMessage({ id, expected }: OwnMessageInput): Write<DeletedMessage> {
  const message = yield* get<DeletedMessage & { type: string; version: number }>(
    sql`SELECT m.id, m.conversation_id, m.sender_id, m.type, m.body_id, b.text, m.has_reactions, m.client_id, m.version
      ${MESSAGES} WHERE m.id = ${id}`,
  );
  if (!message) throw new ParleyError("message_not_found");
  if (message.type !== "text") throw new ParleyError("not_sender");
  checkVersion(expected, message.version);
  return message;
}

interface HideMessage extends OwnMessageInput {
  /** The audit entry of the first file, if nobody else sees the message. */
  entry: NewEntry;
}

/**
 * Deletes the message only for the user or, if no other member sees it, permanently. Everybody who sees a message may do this.
 * Throws `message_not_found`.
 */
const hideMessage = write(
  { publishesEvents: true, serializeBy: ({ userId }) => userId },
  function* ({ userId, id, expected, now, entry }: HideMessage): Write<void> {
    const message = yield* get<DeletedMessage & { version: number; is_seen: number }>(
      sql`SELECT m.id, m.conversation_id, m.sender_id, m.body_id, b.text, m.has_reactions, m.client_id, m.version,
          CASE WHEN EXISTS (SELECT 1 FROM members s WHERE s.conversation_id = m.conversation_id
            AND s.user_id <> ${userId} AND ${sees(sql`m.id`)}) THEN 1 ELSE 0 END AS is_seen
        ${SEEN_BY(userId)} JOIN users u ON u.id = s.user_id WHERE m.id = ${id} AND ${sees(sql`m.id`)}`,
    );
    if (!message) throw new ParleyError("message_not_found");
    checkVersion(expected, message.version);
    const files = yield* all(findFiles(message));
    // A file that its uploader does not see does not count in the uploader's storage, even if others see it.
    const own = files.filter((file) => file.uploader_id === userId).flatMap(returnStorage);
    const released = message.sender_id === userId ? releaseClientId(message, now) : [];
    if (message.is_seen === 1)
      yield* batch([...own, ...released, ...withdraw(message, files, [userId], now)]);
    // No other member is read, so that it takes as many round trips as a message that others see.
    else yield* eraseSeenBy([{ user_id: userId }], message, files, now, entry);
  },
);

/** Part of other writes: erases a message with its files, and publishes that to those who saw it. */
export function* eraseForAll(
  message: DeletedMessage,
  files: readonly ErasedFile[],
  now: number,
  entry: NewEntry,
): Write<void> {
  const members = files.length === 0 ? [] : yield* membersOf(message.conversation_id);
  yield* eraseSeenBy(members, message, files, now, entry);
}

/** Erases a message that only these members can see, with its files, and publishes that to them. */
function* eraseSeenBy(
  members: readonly Member[],
  message: DeletedMessage,
  files: readonly ErasedFile[],
  now: number,
  entry: NewEntry,
): Write<void> {
  const { id, conversation_id } = message;
  const statements = [publishReference("message.deleted", now, conversation_id, id, id)];
  let entryId = entry.id;
  for (const file of files) {
    statements.push(...eraseFileForAll(message, members, file, now, { ...entry, id: entryId }));
    entryId = laterId(entryId, entryId);
  }
  yield* batch([...statements, ...eraseMessage(message), ...releaseClientId(message, now)]);
}

interface Member {
  user_id: string;
}

export function membersOf(conversationId: string): Write<Member[]> {
  return all(sql<Member>`SELECT user_id FROM members WHERE conversation_id = ${conversationId}`);
}

/**
 * Part of other writes: erases a file of a message, and publishes that to those who saw it. The number of statements does not
 * depend on the members: otherwise the uploader could detect by the time whether a contact has left.
 */
export function eraseFileForAll(
  { id: messageId, conversation_id }: ErasedMessage,
  members: readonly Member[],
  file: ErasedFile,
  now: number,
  entry: NewEntry,
): Statement[] {
  return [
    publishReference("attachment.deleted", now, conversation_id, file.id, messageId),
    ...eraseFile(file, now),
    sql`DELETE FROM grants WHERE user_id IN (${list(padded(["", ...members.map(({ user_id }) => user_id)]))})
      AND attachment_id = ${file.id}`,
    recordEntry(entry, "attachment.deleted", file.id),
  ];
}

// A deleted user stays a member until these rows are erased.
export function findOwnMessage(messageId: string, userId: string): Statement<Changed> {
  return sql`SELECT m.id, m.conversation_id, m.sender_id, u.username_key FROM messages m
    JOIN members s ON s.conversation_id = m.conversation_id AND s.user_id = m.sender_id
    JOIN users u ON u.id = s.user_id
    WHERE m.id = ${messageId} AND m.sender_id = ${userId} AND m.type = 'text' AND ${sees(sql`m.id`)}`;
}

/** Reports whether the message is the user's own, and the user sees it. */
export async function isOwnMessage(db: Reader, messageId: string, userId: string): Promise<boolean> {
  return (await db.get(findOwnMessage(messageId, userId))) !== undefined;
}

export const messageWrites = { updateMessage, deleteMessage, hideMessage };
