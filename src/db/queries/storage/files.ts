import { ParleyError } from "../../../errors.ts";
import { type Statement, sql } from "../../sql.ts";
import { batch, get, type Write } from "../../write.ts";
import { publishReference } from "../events/events.ts";
import { type NewEntry, recordEntry } from "../record/audit-trail.ts";
import { audience } from "../visibility/visibility.ts";
import { settleIntent } from "./intents.ts";
import { insertSmallFile } from "./small-files.ts";
import { addStorage, checkQuota, countFile, dropReservation, type Reservation } from "./storage-used.ts";

/** The columns of a stored file by which it is served. */
export interface ServedFile {
  id: string;
  uploader_id: string;
  filename: string;
  file_type: string;
  file_size: number;
  sha256: Uint8Array;
  /** Null if the file is older than this column. */
  crc32: number | null;
  /** The id itself if the bytes are in the database. */
  blob_key: string;
  created_at: number;
  /** 1 if the file was accepted although it could not be scanned for viruses. */
  unscanned: number;
}

/** A received file whose bytes are durable, to be attached to a message or to a user. */
export interface NewFile {
  id: string;
  uploaderId: string;
  filename: string;
  fileType: string;
  fileSize: number;
  sha256: Uint8Array;
  /** The id itself if the bytes are in the database. */
  blobKey: string;
  crc32: number | null;
  /** The bytes of a small file; null if they are in the blob store. */
  bytes: Uint8Array | null;
  /** Whether the bytes have a row in `intents`. */
  hasIntent: boolean;
  /** Null if there is no quota. */
  reservation: Reservation | null;
  /** How many files the uploader may upload per day; 0 means no limit. */
  filesPerDay: number;
  /** Whether the file is accepted although it could not be scanned for viruses. */
  isUnscanned: boolean;
  /** Pixels, if it is a picture. */
  pictureSize: { width: number; height: number } | null;
  createdAt: number;
  entry: NewEntry;
}

/**
 * Part of other writes: attaches the file to a message. Everybody who sees the message sees the file. The statements in `before`
 * are sent in the same round trip. Throws `quota_exceeded`, `daily_limit_reached`, and `unavailable` if the upload took too
 * long.
 */
export function* addFile(
  file: NewFile,
  conversationId: string,
  messageId: string,
  now: number,
  before: readonly Statement[],
): Write<void> {
  const { id, uploaderId, fileSize, reservation, bytes, isUnscanned, pictureSize } = file;
  // An expired intent has become a tombstone, and the bytes are erased.
  if (file.hasIntent && !(yield* get(settleIntent(file.blobKey)))) throw new ParleyError("unavailable");
  if (reservation) yield* checkQuota(reservation);
  if (file.filesPerDay > 0) yield* countFile(uploaderId, file.filesPerDay, file.createdAt);
  yield* batch([
    ...before,
    sql`INSERT INTO attachments (id, conversation_id, message_id, uploader_id, filename, file_type, file_size,
        sha256, blob_key, crc32, created_at, version, unscanned, width, height)
      VALUES (${id}, ${conversationId}, ${messageId}, ${uploaderId}, ${file.filename}, ${file.fileType}, ${fileSize},
        ${file.sha256}, ${file.blobKey}, ${file.crc32}, ${file.createdAt}, 1,
        ${isUnscanned ? 1 : 0}, ${pictureSize?.width ?? null}, ${pictureSize?.height ?? null})`,
    sql`INSERT INTO grants (user_id, attachment_id, conversation_id)
      SELECT s.user_id, ${id}, s.conversation_id ${audience(conversationId, sql`${messageId}`)}`,
    publishReference("attachment.created", now, conversationId, id, messageId),
    addStorage(uploaderId, fileSize),
    recordEntry(file.entry, "attachment.created", id, isUnscanned ? { unscanned: true } : undefined),
    ...(reservation ? [dropReservation(reservation)] : []),
    ...(bytes === null ? [] : [insertSmallFile(id, bytes)]),
  ]);
}
