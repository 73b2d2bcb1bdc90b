import { ParleyError } from "../../errors.ts";
import type { Page } from "../page.ts";
import {
  all,
  batch,
  EMPTY,
  get,
  list,
  type Reader,
  run,
  type Statement,
  sql,
  type Write,
  write,
} from "../sql.ts";
import { checkVersion, type Expected } from "../version.ts";
import { type NewEntry, recordEntry } from "./audit.ts";
import { GRANT_COUNTS } from "./conversations.ts";
import { publishAttachment } from "./events.ts";
import { settleIntent } from "./intents.ts";
import { deleteSmallFile, insertSmallFile, isSmallFile } from "./small-files.ts";
import { addStorage, checkQuota, dropReservation, type Reservation } from "./storage.ts";
import { createTombstone } from "./tombstones.ts";
import { getUser } from "./users.ts";

export interface AttachmentRow {
  id: string;
  message_id: string;
  uploader_id: string;
  filename: string;
  file_type: string;
  file_size: number;
  sha256: Uint8Array;
  /** The id itself if the bytes are in the database. */
  blob_key: string;
  /** Null if the file is older than this column. */
  crc32: number | null;
  created_at: number;
  version: number;
}

const COLUMNS = sql`a.id, a.message_id, a.uploader_id, a.filename, a.file_type, a.file_size, a.sha256, a.blob_key,
  a.crc32, a.created_at, a.version`;
// Only grants that count decide who may see an attachment.
function findGranted(userId: string): Statement<AttachmentRow> {
  return sql`SELECT ${COLUMNS} FROM grants g JOIN attachments a ON a.id = g.attachment_id
    WHERE g.user_id = ${userId} AND ${GRANT_COUNTS}`;
}

/** Finds an attachment that this user may see. */
export function findAttachment(db: Reader, userId: string, id: string): Promise<AttachmentRow | undefined> {
  return db.get(sql<AttachmentRow>`${findGranted(userId)} AND g.attachment_id = ${id}`);
}

/** Returns those of the attachments that this user may see now. */
export async function seenAttachments(
  db: Reader,
  userId: string,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await db.all<{ id: string }>(
    sql`SELECT g.attachment_id AS id FROM grants g
      WHERE g.user_id = ${userId} AND g.attachment_id IN (${list(ids)}) AND ${GRANT_COUNTS}`,
  );
  return new Set(rows.map(({ id }) => id));
}

// An attachment has a grant, unless departures are still being erased: only then its grants are checked.
const IS_SEEN = sql`(NOT EXISTS (SELECT 1 FROM erasing)
    AND NOT EXISTS (SELECT 1 FROM departing WHERE conversation_id = a.conversation_id)
  OR EXISTS (SELECT 1 FROM members m JOIN users u ON u.id = m.user_id
    JOIN grants g ON g.user_id = m.user_id AND g.attachment_id = a.id
    WHERE m.conversation_id = a.conversation_id AND ${GRANT_COUNTS}))`;

/** Finds an attachment that any member sees: for links, whose signature is the permission. */
export function findLinkedAttachment(db: Reader, id: string): Promise<AttachmentRow | undefined> {
  return db.get<AttachmentRow>(sql`SELECT ${COLUMNS} FROM attachments a WHERE a.id = ${id} AND ${IS_SEEN}`);
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

export function attachmentsQuery(
  userId: string,
  conversationId: string | undefined,
  { cursor, newer, limit }: Page,
): Statement<AttachmentRow> {
  const conversation = conversationId === undefined ? EMPTY : sql`AND g.conversation_id = ${conversationId}`;
  const walk = newer
    ? sql`g.attachment_id > ${cursor} ORDER BY g.attachment_id ASC`
    : sql`g.attachment_id < ${cursor} ORDER BY g.attachment_id DESC`;
  return sql`${findGranted(userId)} ${conversation} AND ${walk} LIMIT ${limit + 1} + 0`;
}

/** Reports whether a committed attachment has these bytes. */
export async function isBlobLive(db: Reader, blobKey: string): Promise<boolean> {
  return (await db.get(sql`SELECT 1 AS one FROM attachments WHERE blob_key = ${blobKey}`)) !== undefined;
}

/** The target of an upload: a conversation, an own message, or with neither the user's notes to self. */
export interface Target {
  conversationId?: string | undefined;
  messageId?: string | undefined;
}

// The last attachment whose new grant would be hidden for a member who left and came back.
const HIDDEN_UNTIL = sql`(SELECT MAX(d.until_id) FROM departing d
  JOIN members r ON r.conversation_id = d.conversation_id AND r.user_id = d.user_id
  WHERE d.conversation_id = s.conversation_id) AS hidden_until`;
interface FoundTarget {
  conversation_id: string;
  hidden_until: string | null;
}

// A deleted user stays a member until these rows are erased.
function findMessage(messageId: string, userId: string): Statement<FoundTarget> {
  return sql`SELECT m.conversation_id, ${HIDDEN_UNTIL} FROM messages m
    JOIN members s ON s.conversation_id = m.conversation_id AND s.user_id = m.sender_id
    JOIN users u ON u.id = s.user_id
    WHERE m.id = ${messageId} AND m.sender_id = ${userId}`;
}

function findMembership(conversationId: string, userId: string): Statement<FoundTarget> {
  return sql`SELECT s.conversation_id, ${HIDDEN_UNTIL} FROM members s JOIN users u ON u.id = s.user_id
    WHERE s.conversation_id = ${conversationId} AND s.user_id = ${userId}`;
}

/** Reports whether the message is the user's own, in a conversation that the user is still a member of. */
export async function isOwnMessage(db: Reader, messageId: string, userId: string): Promise<boolean> {
  return (await db.get(findMessage(messageId, userId))) !== undefined;
}

export interface CreateAttachment {
  id: string;
  uploaderId: string;
  filename: string;
  fileType: string;
  fileSize: number;
  sha256: Uint8Array;
  /** The id itself if the bytes are in the database. */
  blobKey: string;
  crc32: number | null;
  createdAt: number;
  target: Target;
  /** The bytes of a small file; null if they are in the blob store. */
  bytes: Uint8Array | null;
  /** The id of the new message, if the target names none. */
  newMessageId: string;
  /** Whether the bytes have a row in `intents`. */
  hasIntent: boolean;
  /** Null if there is no quota. */
  reservation: Reservation | null;
  entry: NewEntry;
}

/** The columns that are shown of an attachment. */
export type ShownAttachment = Omit<AttachmentRow, "uploader_id" | "sha256" | "blob_key" | "crc32">;

function toShown(row: AttachmentRow): ShownAttachment {
  const { id, message_id, filename, file_type, file_size, created_at, version } = row;
  return { id, message_id, filename, file_type, file_size, created_at, version };
}

/** Grants the attachment to every member except those who have blocked the uploader. */
function grantToMembers(id: string, conversationId: string, uploaderId: string): Statement {
  return sql`INSERT INTO grants (user_id, attachment_id, conversation_id)
    SELECT m.user_id, ${id}, m.conversation_id FROM members m
    WHERE m.conversation_id = ${conversationId} AND NOT EXISTS (
      SELECT 1 FROM users u JOIN contacts c ON c.owner_id = m.user_id AND c.username_key = u.username_key
      WHERE u.id = ${uploaderId} AND u.id <> m.user_id AND c.blocked_at IS NOT NULL)`;
}

/** Resolves the target again inside the transaction: it may have been deleted during the upload. */
export const createAttachment = write(
  { publishesEvents: true, serializeBy: ({ uploaderId }) => uploaderId },
  function* (input: CreateAttachment): Write<ShownAttachment> {
    const { id, uploaderId, filename, fileType, fileSize, createdAt, target, bytes, reservation } = input;
    const conversationId = yield* targetConversation(target, uploaderId, id);
    // An expired intent is a tombstone by now: the bytes are erased.
    if (input.hasIntent && !(yield* get(settleIntent(input.blobKey)))) throw new ParleyError("unavailable");
    if (reservation) yield* checkQuota(reservation);
    const messageId = target.messageId ?? input.newMessageId;
    const shown = {
      ...{ id, message_id: messageId, filename, file_type: fileType, file_size: fileSize },
      ...{ created_at: createdAt, version: 1 },
    };
    const inserts = [
      sql`INSERT INTO attachments (id, conversation_id, message_id, uploader_id, filename, file_type, file_size,
          sha256, blob_key, crc32, created_at, version)
        VALUES (${id}, ${conversationId}, ${messageId}, ${uploaderId}, ${filename}, ${fileType}, ${fileSize},
          ${input.sha256}, ${input.blobKey}, ${input.crc32}, ${createdAt}, 1)`,
      grantToMembers(id, conversationId, uploaderId),
      publishAttachment("attachment.created", createdAt, conversationId, shown),
      addStorage(uploaderId, fileSize),
      recordEntry(input.entry, "attachment.created", id),
    ];
    if (reservation) inserts.push(dropReservation(reservation));
    if (target.messageId === undefined) {
      inserts.push(
        sql`INSERT INTO messages (id, conversation_id, sender_id, created_at)
          VALUES (${messageId}, ${conversationId}, ${uploaderId}, ${createdAt})`,
      );
    }
    if (bytes !== null) inserts.push(insertSmallFile(id, bytes));
    yield* batch(inserts);
    return shown;
  },
);

function* targetConversation(target: Target, userId: string, attachmentId: string): Write<string> {
  const { conversationId, messageId } = target;
  if (conversationId === undefined && messageId === undefined) {
    return (yield* getUser(userId)).conversation_id;
  }
  const found =
    messageId === undefined
      ? yield* get(findMembership(conversationId!, userId))
      : yield* get(findMessage(messageId, userId));
  if (!found) {
    throw messageId === undefined
      ? new ParleyError("conversation_not_found", undefined, { param: "conversation_id" })
      : new ParleyError("message_not_found", undefined, { param: "message_id" });
  }
  // The id was made before a member left, or by a node whose clock is behind: a retry gets a later one.
  if (found.hidden_until !== null && attachmentId <= found.hidden_until) throw new ParleyError("unavailable");
  return found.conversation_id;
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
export const renameAttachment = write(
  { publishesEvents: true },
  function* (input: RenameAttachment): Write<ShownAttachment> {
    const { conversation_id, ...attachment } = yield* ownAttachment(input);
    const shown = toShown(attachment);
    if (input.filename === undefined || input.filename === attachment.filename) return shown;
    const renamed = { ...shown, filename: input.filename, version: attachment.version + 1 };
    yield* batch([
      sql`UPDATE attachments SET filename = ${input.filename}, version = version + 1 WHERE id = ${input.id}`,
      publishAttachment("attachment.updated", input.entry.at, conversation_id, renamed),
      recordEntry(input.entry, "attachment.renamed", input.id, {
        from: attachment.filename,
        to: input.filename,
      }),
    ]);
    return renamed;
  },
);

interface DeleteAttachment {
  userId: string;
  id: string;
  deletedAt: number;
  expected: Expected;
  entry: NewEntry;
}

/**
 * Deletes the attachment for everyone; its tombstone stays until the bytes are erased. Throws what `renameAttachment`
 * throws.
 */
export const deleteAttachment = write(
  { publishesEvents: true, serializeBy: ({ userId }) => userId },
  function* (input: DeleteAttachment): Write<void> {
    const attachment = yield* ownAttachment(input);
    const { conversation_id } = attachment;
    const members = yield* all<{ user_id: string }>(
      sql`SELECT user_id FROM members WHERE conversation_id = ${conversation_id}`,
    );
    yield* batch([
      sql`DELETE FROM attachments WHERE id = ${input.id}`,
      publishAttachment("attachment.deleted", input.deletedAt, conversation_id, toShown(attachment)),
      ...members.map(
        (member) => sql`DELETE FROM grants WHERE user_id = ${member.user_id} AND attachment_id = ${input.id}`,
      ),
      addStorage(input.userId, -attachment.file_size),
      recordEntry(input.entry, "attachment.deleted", input.id, { filename: attachment.filename }),
    ]);
    yield* run(
      isSmallFile(attachment)
        ? deleteSmallFile(input.id)
        : createTombstone(attachment.blob_key, input.deletedAt),
    );
  },
);

interface OwnAttachment extends AttachmentRow {
  conversation_id: string;
}

function* ownAttachment(input: { userId: string; id: string; expected: Expected }): Write<OwnAttachment> {
  const attachment = yield* get<OwnAttachment>(
    sql`SELECT ${COLUMNS}, a.conversation_id FROM grants g JOIN attachments a ON a.id = g.attachment_id
      JOIN users u ON u.id = g.user_id
      WHERE g.user_id = ${input.userId} AND g.attachment_id = ${input.id} AND ${GRANT_COUNTS}`,
  );
  if (!attachment) throw new ParleyError("attachment_not_found");
  if (attachment.uploader_id !== input.userId) throw new ParleyError("not_uploader");
  checkVersion(input.expected, attachment.version);
  return attachment;
}
