import { ParleyError } from "../../../errors.ts";
import { columns, type RowOf } from "../../columns.ts";
import type { Page } from "../../page.ts";
import { EMPTY, list, padded, type QuickReader, type Reader, type Statement, sql } from "../../sql.ts";
import { checkVersion, type Expected } from "../../version.ts";
import { batch, get, type Write, write } from "../../write.ts";
import { publishReference } from "../events/events.ts";
import { createMessage, type SendMessage } from "../messages/message-send.ts";
import {
  eraseFileForAll,
  eraseForAll,
  findOwnMessage,
  membersOf,
  publishChange,
  publishUpdate,
} from "../messages/messages.ts";
import { type NewEntry, recordEntry } from "../record/audit-trail.ts";
import { addFile, type NewFile } from "../storage/files.ts";
import { sees } from "../visibility/visibility.ts";

const ATTACHMENT = columns({
  id: sql<string>`a.id`,
  conversation_id: sql<string>`a.conversation_id`,
  message_id: sql<string>`a.message_id`,
  uploader_id: sql<string>`a.uploader_id`,
  filename: sql<string>`a.filename`,
  file_type: sql<string>`a.file_type`,
  file_size: sql<number>`a.file_size`,
  sha256: sql<Uint8Array>`a.sha256`,
  /** The id itself if the bytes are in the database. */
  blob_key: sql<string>`a.blob_key`,
  /** Null if the file is older than this column. */
  crc32: sql<number | null>`a.crc32`,
  created_at: sql<number>`a.created_at`,
  version: sql<number>`a.version`,
  /** 1 if the file was accepted although it could not be scanned for viruses. */
  unscanned: sql<number>`a.unscanned`,
});
export type AttachmentRow = RowOf<typeof ATTACHMENT>;

/** Selects attachments that the user sees: those of messages that the user sees. */
function findSeen(userId: string): Statement<AttachmentRow> {
  return sql`SELECT ${ATTACHMENT} FROM attachments a
    JOIN members s ON s.conversation_id = a.conversation_id AND s.user_id = ${userId} WHERE ${SEES}`;
}
const SEES = sees(sql`a.message_id`);

/** Finds an attachment that this user sees. */
export function findAttachment(
  db: QuickReader,
  userId: string,
  id: string,
): Promise<AttachmentRow | undefined> {
  return ATTACHMENT.get(db, sql`${findSeen(userId)} AND a.id = ${id}`);
}

/** Returns those of the attachments that this user sees. */
export function findAttachments(
  db: Reader,
  userId: string,
  ids: readonly string[],
): Promise<AttachmentRow[]> {
  return db.all(sql<AttachmentRow>`${findSeen(userId)} AND a.id IN (${list(padded(ids))})`);
}

/**
 * Returns the attachments of messages of these conversations that the reader sees, or all of them for null, ordered by id. The
 * messages were read earlier, so the reader may no longer see one of them, and it may have changed.
 */
export function attachmentsOfMessages(
  db: Reader,
  readerId: string | null,
  conversationIds: readonly string[],
  messageIds: readonly string[],
): Promise<AttachmentRow[]> {
  // A scalar that depends only on the attachment, so that a planner looks up the attachments first.
  const isSeen = sql`AND (SELECT s.user_id FROM members s
    WHERE s.conversation_id = a.conversation_id AND s.user_id = ${readerId} AND ${SEES}) IS NOT NULL`;
  return db.all(
    sql<AttachmentRow>`SELECT ${ATTACHMENT} FROM attachments a
      WHERE a.conversation_id IN (${list(padded(conversationIds))}) AND a.message_id IN (${list(padded(messageIds))})
        ${readerId === null ? EMPTY : isSeen} ORDER BY a.id`,
  );
}

// A message has a member who sees it, unless users or departures are being erased. Only then are its readers looked up.
const IS_SEEN = sql`(NOT EXISTS (SELECT 1 FROM erasing)
    AND NOT EXISTS (SELECT 1 FROM departing WHERE conversation_id = a.conversation_id)
  OR EXISTS (SELECT 1 FROM members s JOIN users u ON u.id = s.user_id
    WHERE s.conversation_id = a.conversation_id AND ${SEES}))`;

/**
 * Finds an attachment by a link of this user. The signature of the link is the permission. A deleted user stays a member until
 * these rows are erased.
 */
export function findLinkedAttachment(
  db: QuickReader,
  userId: string,
  id: string,
): Promise<AttachmentRow | undefined> {
  const isThere = sql`EXISTS (SELECT 1 FROM users u WHERE u.id = ${userId})`;
  return ATTACHMENT.get(db, sql`${findSeen(userId)} AND a.id = ${id} AND ${isThere}`);
}

/** Finds an attachment that any member sees. */
export function findVisibleAttachment(db: QuickReader, id: string): Promise<AttachmentRow | undefined> {
  return ATTACHMENT.get(db, sql`SELECT ${ATTACHMENT} FROM attachments a WHERE a.id = ${id} AND ${IS_SEEN}`);
}

/** Returns the rows of a page, of one conversation if it is given, and one more if there is one. */
export function listAttachments(
  db: Reader,
  userId: string,
  conversationId: string | undefined,
  page: Page,
): Promise<AttachmentRow[]> {
  return db.all(attachmentsQuery(userId, conversationId, page));
}

/** Selects attachments. Grants are only the index of this list: the message of a file decides who sees it. */
export function attachmentsQuery(
  userId: string,
  conversationId: string | undefined,
  page: Page,
): Statement<AttachmentRow> {
  const { range, order } = walkGrants(userId, conversationId, page);
  // A scalar that depends only on the grant, so that a planner walks through the grants in their order.
  return sql`SELECT ${ATTACHMENT} FROM grants g JOIN attachments a ON a.id = g.attachment_id
    WHERE ${range}
      AND (SELECT s.user_id FROM attachments f JOIN members s ON s.conversation_id = f.conversation_id
        WHERE f.id = g.attachment_id AND s.user_id = g.user_id AND ${sees(sql`f.message_id`)}) IS NOT NULL
    ORDER BY ${order} LIMIT ${page.limit + 1} + 0`;
}

function walkGrants(userId: string, conversationId: string | undefined, { cursor, newer }: Page) {
  const conversation = conversationId === undefined ? EMPTY : sql`AND g.conversation_id = ${conversationId}`;
  const own = sql`g.user_id = ${userId} ${conversation}`;
  return newer
    ? { range: sql`${own} AND g.attachment_id > ${cursor}`, order: sql`g.attachment_id ASC` }
    : { range: sql`${own} AND g.attachment_id < ${cursor}`, order: sql`g.attachment_id DESC` };
}

export interface GrantedName {
  id: string;
  /** Null if the file has been deleted. */
  filename: string | null;
}

/** Returns the names of granted files in the order of the list, at most `limit`. The user may not see all of them. */
export function listGrantedNames(
  db: Reader,
  userId: string,
  conversationId: string | undefined,
  page: Page,
): Promise<GrantedName[]> {
  return db.all(grantedNamesQuery(userId, conversationId, page));
}

export function grantedNamesQuery(
  userId: string,
  conversationId: string | undefined,
  page: Page,
): Statement<GrantedName> {
  const { range, order } = walkGrants(userId, conversationId, page);
  return sql`SELECT g.attachment_id AS id, (SELECT a.filename FROM attachments a WHERE a.id = g.attachment_id) AS filename
    FROM grants g WHERE ${range} ORDER BY ${order} LIMIT ${page.limit} + 0`;
}

/** The target of an upload: a conversation, a message of the user or, with neither, the user's notes to self. */
export interface Target {
  conversationId?: string | undefined;
  messageId?: string | undefined;
}

export interface CreateAttachment {
  file: NewFile;
  target: Target;
  /** The id of the new message, if the target names no message and the conversation has no later one. */
  newMessageId: string;
  /** Milliseconds. */
  now: number;
}

/** The columns of an attachment that are shown. */
export type ShownAttachment = Omit<
  AttachmentRow,
  "conversation_id" | "uploader_id" | "sha256" | "blob_key" | "crc32" | "unscanned"
>;

/**
 * Sends the file as a message, or adds it to the uploader's own message. Resolves the target again inside the transaction: it
 * may have been deleted during the upload. Throws `conversation_not_found`, `message_not_found`, `count_limit_reached` if
 * the message has too many files, and what `addFile` throws.
 */
export const createAttachment = write(
  { publishesEvents: true, serializeBy: ({ file }) => file.uploaderId },
  function* (input: CreateAttachment): Write<{ id: string; message_id: string }> {
    const { file, target, now } = input;
    if (target.messageId !== undefined) {
      yield* addToMessage(file, target.messageId, now);
      return { id: file.id, message_id: target.messageId };
    }
    const message = yield* createMessage(toFileMessage(input));
    return { id: file.id, message_id: message.id };
  },
);

/** Returns the message that carries a file whose target names no message. */
export function toFileMessage({ file, target, newMessageId, now }: CreateAttachment): SendMessage {
  return {
    newId: newMessageId,
    conversationId: target.conversationId ?? null,
    senderId: file.uploaderId,
    text: null,
    data: null,
    mentions: [],
    replyToId: null,
    clientId: null,
    files: [file],
    now,
    entry: null,
  };
}

/** A message is always shown with all of its files. */
const MAX_FILES = 100;

function* addToMessage(file: NewFile, messageId: string, now: number): Write<void> {
  const message = yield* get(findOwnMessage(messageId, file.uploaderId));
  if (!message) throw new ParleyError("message_not_found", undefined, { param: "message_id" });
  const last = yield* get(
    sql`SELECT id FROM attachments WHERE conversation_id = ${message.conversation_id} AND message_id = ${messageId}
      LIMIT 1 OFFSET ${MAX_FILES - 1} + 0`,
  );
  if (last) {
    const detail = `This message has ${MAX_FILES} files. Send the file in another message.`;
    throw new ParleyError("count_limit_reached", detail, { param: "message_id" });
  }
  // Before the file is added: members who have blocked the uploader since must not receive it.
  yield* addFile(file, message.conversation_id, messageId, now, [
    sql`UPDATE messages SET has_files = 1 WHERE id = ${messageId}`,
    ...(yield* publishChange(message, now)),
  ]);
}

function toShown(row: ShownAttachment): ShownAttachment {
  const { id, message_id, filename, file_type, file_size, created_at, version } = row;
  return { id, message_id, filename, file_type, file_size, created_at, version };
}

interface RenameAttachment {
  userId: string;
  id: string;
  /** Undefined leaves it unchanged. */
  filename: string | undefined;
  expected: Expected;
  entry: NewEntry;
}

/** Returns the row after the update. Throws `attachment_not_found`, or `not_uploader` for another member. */
const renameAttachment = write(
  { publishesEvents: true },
  function* (input: RenameAttachment): Write<ShownAttachment> {
    const { conversation_id, username_key, ...attachment } = yield* getOwnAttachment(input);
    const shown = toShown(attachment);
    if (input.filename === undefined || input.filename === attachment.filename) return shown;
    const { message_id: messageId, uploader_id } = attachment;
    const { at } = input.entry;
    const message = { id: messageId, conversation_id, sender_id: uploader_id, username_key };
    yield* batch([
      sql`UPDATE attachments SET filename = ${input.filename}, version = version + 1 WHERE id = ${input.id}`,
      ...(yield* publishChange(message, at)),
      publishReference("attachment.updated", at, conversation_id, input.id, messageId),
      recordEntry(input.entry, "attachment.renamed", input.id),
    ]);
    return { ...shown, filename: input.filename, version: attachment.version + 1 };
  },
);

interface DeleteAttachment {
  userId: string;
  /** Whether the user may delete attachments of other users, even those that the user does not see. */
  asAdmin?: boolean;
  id: string;
  deletedAt: number;
  expected: Expected;
  entry: NewEntry;
}

/**
 * Deletes the attachment for everybody, and its message if that is otherwise empty. A tombstone stays until the bytes are
 * erased. Throws what `renameAttachment` throws.
 */
const deleteAttachment = write(
  { publishesEvents: true, serializeBy: ({ userId }) => userId },
  function* (input: DeleteAttachment): Write<void> {
    const attachment = input.asAdmin ? yield* getAnyAttachment(input) : yield* getOwnAttachment(input);
    yield* eraseAttachment(attachment, input.deletedAt, input.entry);
  },
);

/** Part of other writes. */
export function* eraseAttachment(attachment: StoredAttachment, now: number, entry: NewEntry): Write<void> {
  const {
    id,
    conversation_id,
    message_id,
    body_id,
    has_reactions,
    uploader_id: sender_id,
    client_id,
  } = attachment;
  // If the message is erased, it has no body.
  const message = {
    id: message_id,
    conversation_id,
    sender_id,
    body_id,
    text: null,
    has_reactions,
    client_id,
  };
  const others = yield* get(
    sql`SELECT id FROM attachments WHERE conversation_id = ${conversation_id} AND message_id = ${message_id}
      AND id <> ${id} LIMIT 1`,
  );
  if (body_id === null && !others) {
    yield* eraseForAll(message, [attachment], now, entry);
    return;
  }
  const members = yield* membersOf(conversation_id);
  yield* batch([
    ...eraseFileForAll(message, members, attachment, now, entry),
    ...publishUpdate(message, now),
  ]);
}

interface StoredAttachment extends AttachmentRow {
  /** The message's, as are `has_reactions` and `client_id`. */
  body_id: number | null;
  has_reactions: number;
  client_id: string | null;
}

interface OwnAttachment extends StoredAttachment {
  /** The uploader's. */
  username_key: string;
}

interface Sought {
  id: string;
  expected: Expected;
}

/** Part of other writes. Throws `attachment_not_found`. */
export function* getAnyAttachment({ id, expected }: Sought): Write<StoredAttachment> {
  const attachment = yield* get<StoredAttachment>(
    sql`SELECT ${ATTACHMENT}, m.body_id, m.has_reactions, m.client_id FROM attachments a JOIN messages m ON m.id = a.message_id
      WHERE a.id = ${id}`,
  );
  if (!attachment) throw new ParleyError("attachment_not_found");
  checkVersion(expected, attachment.version);
  return attachment;
}

function* getOwnAttachment(input: Sought & { userId: string }): Write<OwnAttachment> {
  const attachment = yield* get<OwnAttachment>(
    sql`SELECT ${ATTACHMENT}, m.body_id, m.has_reactions, m.client_id, u.username_key FROM attachments a
      JOIN members s ON s.conversation_id = a.conversation_id AND s.user_id = ${input.userId}
      JOIN users u ON u.id = s.user_id
      JOIN messages m ON m.id = a.message_id
      WHERE a.id = ${input.id} AND ${SEES}`,
  );
  if (!attachment) throw new ParleyError("attachment_not_found");
  if (attachment.uploader_id !== input.userId) throw new ParleyError("not_uploader");
  checkVersion(input.expected, attachment.version);
  return attachment;
}

export const attachmentWrites = { createAttachment, renameAttachment, deleteAttachment };
