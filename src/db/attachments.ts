import { ParleyError } from "../errors.ts";
import { type Act, recordAct } from "./audit.ts";
import { tellOfAttachment } from "./events.ts";
import type { Page } from "./page.ts";
import { deleteSmallFile, insertSmallFile, isSmallFile } from "./small-files.ts";
import { all, get, type Reader, type Statement, statement, type Write } from "./sql.ts";
import { addStorage, checkQuota, dropReservation, type Reservation } from "./storage.ts";
import { createTombstone } from "./tombstones.ts";
import { requireUser } from "./users.ts";
import { checkVersion, type Expected } from "./version.ts";

export interface AttachmentRow {
  id: string;
  message_id: string;
  uploader_id: string;
  filename: string;
  file_type: string;
  file_size: number;
  sha256: Uint8Array;
  /** The id itself where the bytes are in the database. */
  blob_key: string;
  /** Null where the file came before this was kept. */
  crc32: number | null;
  created_at: number;
  version: number;
}

const COLUMNS = `a.id, a.message_id, a.uploader_id, a.filename, a.file_type, a.file_size, a.sha256, a.blob_key,
  a.crc32, a.created_at, a.version`;
// Who may see an attachment is said by its grants alone: no grant, no attachment.
const GRANTED = `SELECT ${COLUMNS} FROM grants g JOIN attachments a ON a.id = g.attachment_id WHERE g.user_id = ?`;
const FIND = `${GRANTED} AND g.attachment_id = ?`;
const FIND_OWN = `SELECT ${COLUMNS}, a.conversation_id FROM grants g JOIN attachments a ON a.id = g.attachment_id
  WHERE g.user_id = ? AND g.attachment_id = ?`;
const OLDER = "AND g.attachment_id < ? ORDER BY g.attachment_id DESC LIMIT ? + 0";
const NEWER = "AND g.attachment_id > ? ORDER BY g.attachment_id ASC LIMIT ? + 0";
const IN_CONVERSATION = "AND g.conversation_id = ?";

/** The attachment, where this user may see it. */
export function findAttachment(db: Reader, userId: string, id: string): Promise<AttachmentRow | undefined> {
  return db.get<AttachmentRow>(FIND, userId, id);
}

/** Those of the attachments that this user may see now. */
export async function seenAttachments(
  db: Reader,
  userId: string,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await db.all<{ id: string }>(
    `SELECT attachment_id AS id FROM grants WHERE user_id = ? AND attachment_id IN (${ids.map(() => "?").join(", ")})`,
    userId,
    ...ids,
  );
  return new Set(rows.map(({ id }) => id));
}

/** The attachment whoever asks: for links, whose signature stands for the permission. */
export function findLinkedAttachment(db: Reader, id: string): Promise<AttachmentRow | undefined> {
  return db.get<AttachmentRow>(`SELECT ${COLUMNS} FROM attachments a WHERE a.id = ?`, id);
}

/** One page, of one conversation where it is given, in the order of the walk, and one row more where there is one. */
export function listAttachments(
  db: Reader,
  userId: string,
  conversationId: string | undefined,
  page: Page,
): Promise<AttachmentRow[]> {
  const { sql, params } = attachmentsQuery(userId, conversationId, page);
  return db.all<AttachmentRow>(sql, ...params);
}

export function attachmentsQuery(userId: string, conversationId: string | undefined, page: Page): Statement {
  const walk = page.newer ? NEWER : OLDER;
  return conversationId === undefined
    ? { sql: `${GRANTED} ${walk}`, params: [userId, page.cursor, page.limit + 1] }
    : {
        sql: `${GRANTED} ${IN_CONVERSATION} ${walk}`,
        params: [userId, conversationId, page.cursor, page.limit + 1],
      };
}

/** Whether a committed attachment has these bytes. */
export async function isBlobLive(db: Reader, blobKey: string): Promise<boolean> {
  return (await db.get("SELECT 1 AS one FROM attachments WHERE blob_key = ?", blobKey)) !== undefined;
}

/** Where an upload goes: a conversation, an own message, or with neither the user's notes to self. */
export interface Target {
  conversationId?: string | undefined;
  messageId?: string | undefined;
}

const FIND_MESSAGE = `SELECT m.conversation_id FROM messages m
  JOIN members s ON s.conversation_id = m.conversation_id AND s.user_id = m.sender_id
  WHERE m.id = ? AND m.sender_id = ?`;

/** Whether the message is the user's own, in a conversation that the user is still a member of. */
export async function isOwnMessage(db: Reader, messageId: string, userId: string): Promise<boolean> {
  return (await db.get(FIND_MESSAGE, messageId, userId)) !== undefined;
}

export interface CreateAttachment extends Omit<AttachmentRow, "message_id" | "version"> {
  target: Target;
  /** The bytes of a small file; null: they are in the blob store. */
  bytes: Uint8Array | null;
  /** The id of the message that is made where the target names none. */
  newMessageId: string;
  /** Whether a row of `intents` stands for the bytes until now. */
  hasIntent: boolean;
  /** Null: there is no quota. */
  reservation: Reservation | null;
  act: Act;
}

/** What is shown of an attachment. */
export type ShownAttachment = Omit<AttachmentRow, "uploader_id" | "sha256" | "blob_key" | "crc32">;

function shownOf(row: AttachmentRow): ShownAttachment {
  const { id, message_id, filename, file_type, file_size, created_at, version } = row;
  return { id, message_id, filename, file_type, file_size, created_at, version };
}

const SETTLE = "DELETE FROM intents WHERE blob_key = ? RETURNING blob_key";
const SEND = "INSERT INTO messages (id, conversation_id, sender_id, created_at) VALUES (?, ?, ?, ?)";
const INSERT = `INSERT INTO attachments (id, conversation_id, message_id, uploader_id, filename, file_type, file_size,
  sha256, blob_key, crc32, created_at, version) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)`;
/** To every member but those who have blocked the uploader. */
const GRANT = `INSERT INTO grants (user_id, attachment_id, conversation_id)
  SELECT m.user_id, ?, m.conversation_id FROM members m WHERE m.conversation_id = ? AND NOT EXISTS (
    SELECT 1 FROM users u JOIN contacts c ON c.owner_id = m.user_id AND c.username_key = u.username_key
    WHERE u.id = ? AND u.id <> m.user_id AND c.blocked_at IS NOT NULL)`;

/** Resolves the target again inside the transaction: it may have gone while the file came in. */
export function* createAttachment(input: CreateAttachment): Write<ShownAttachment> {
  const {
    id,
    filename,
    file_type,
    file_size,
    created_at,
    target,
    newMessageId,
    bytes,
    hasIntent,
    reservation,
  } = input;
  const conversationId = yield* targetConversation(target, input.uploader_id);
  // One that lapsed has a tombstone by now: the bytes go.
  if (hasIntent && !(yield* get(SETTLE, input.blob_key))) throw new ParleyError("unavailable");
  if (reservation) yield* checkQuota(reservation);
  const messageId = target.messageId ?? newMessageId;
  const shown = { id, message_id: messageId, filename, file_type, file_size, created_at, version: 1 };
  const inserts = [
    statement(
      INSERT,
      input.id,
      conversationId,
      messageId,
      input.uploader_id,
      input.filename,
      input.file_type,
      input.file_size,
      input.sha256,
      input.blob_key,
      input.crc32,
      input.created_at,
    ),
    statement(GRANT, id, conversationId, input.uploader_id),
    tellOfAttachment("attachment.created", created_at, conversationId, shown),
    addStorage(input.uploader_id, file_size),
    recordAct(input.act, "attachment.created", id),
  ];
  if (reservation) inserts.push(dropReservation(reservation));
  if (target.messageId === undefined) {
    inserts.push(statement(SEND, messageId, conversationId, input.uploader_id, input.created_at));
  }
  if (bytes !== null) inserts.push(insertSmallFile(id, bytes));
  yield inserts;
  return shown;
}

function* targetConversation(target: Target, userId: string): Write<string> {
  if (target.messageId !== undefined) {
    const message = yield* get<{ conversation_id: string }>(FIND_MESSAGE, target.messageId, userId);
    if (!message) throw new ParleyError("message_not_found", undefined, { param: "message_id" });
    return message.conversation_id;
  }
  if (target.conversationId === undefined) {
    return (yield* requireUser(userId)).conversation_id;
  }
  const member = yield* get(
    "SELECT 1 AS one FROM members WHERE conversation_id = ? AND user_id = ?",
    target.conversationId,
    userId,
  );
  if (!member) throw new ParleyError("conversation_not_found", undefined, { param: "conversation_id" });
  return target.conversationId;
}

interface RenameAttachment {
  userId: string;
  id: string;
  /** Undefined: it stays as it is. */
  filename: string | undefined;
  expected: Expected;
  act: Act;
}

/** The row as it is after the update. Throws `attachment_not_found`, or `not_uploader` for another member. */
export function* renameAttachment(input: RenameAttachment): Write<ShownAttachment> {
  const { conversation_id, ...attachment } = yield* ownAttachment(input);
  const shown = shownOf(attachment);
  if (input.filename === undefined || input.filename === attachment.filename) return shown;
  const renamed = { ...shown, filename: input.filename, version: attachment.version + 1 };
  yield [
    statement(
      "UPDATE attachments SET filename = ?, version = version + 1 WHERE id = ?",
      input.filename,
      input.id,
    ),
    tellOfAttachment("attachment.updated", input.act.at, conversation_id, renamed),
    recordAct(input.act, "attachment.renamed", input.id, { from: attachment.filename, to: input.filename }),
  ];
  return renamed;
}

interface DeleteAttachment {
  userId: string;
  id: string;
  deletedAt: number;
  expected: Expected;
  act: Act;
}

/** Deletes the attachment for all; its tombstone stays until the bytes are erased. Throws as renaming does. */
export function* deleteAttachment(input: DeleteAttachment): Write<void> {
  const attachment = yield* ownAttachment(input);
  const { conversation_id } = attachment;
  const members = yield* all<{ user_id: string }>(
    "SELECT user_id FROM members WHERE conversation_id = ?",
    conversation_id,
  );
  yield [
    statement("DELETE FROM attachments WHERE id = ?", input.id),
    tellOfAttachment("attachment.deleted", input.deletedAt, conversation_id, shownOf(attachment)),
    ...members.map((member) =>
      statement("DELETE FROM grants WHERE user_id = ? AND attachment_id = ?", member.user_id, input.id),
    ),
    addStorage(input.userId, -attachment.file_size),
    recordAct(input.act, "attachment.deleted", input.id, { filename: attachment.filename }),
  ];
  if (isSmallFile(attachment)) yield* deleteSmallFile(input.id);
  else yield* createTombstone(attachment.blob_key, input.deletedAt);
}

interface OwnAttachment extends AttachmentRow {
  conversation_id: string;
}

function* ownAttachment(input: { userId: string; id: string; expected: Expected }): Write<OwnAttachment> {
  const attachment = yield* get<OwnAttachment>(FIND_OWN, input.userId, input.id);
  if (!attachment) throw new ParleyError("attachment_not_found");
  if (attachment.uploader_id !== input.userId) throw new ParleyError("not_uploader");
  checkVersion(input.expected, attachment.version);
  return attachment;
}
