import { ParleyError } from "../../../errors.ts";
import { type Page, pageClause } from "../../page.ts";
import { type QuickReader, type Reader, raw, type Statement, sql } from "../../sql.ts";
import { all, batch, get, run, type Write, write } from "../../write.ts";
import { createIntent, insertIntent, settleIntent } from "../storage/intents.ts";
import {
  checkQuota,
  dropReservation,
  type Reservation,
  reserve,
  reserveStorage,
} from "../storage/storage-used.ts";
import { createTombstone } from "../storage/tombstones.ts";
import { type CreateAttachment, createAttachment } from "./attachments.ts";

/** A resumable upload. While it is unfinished, its row is the intent of its bytes. */
export interface UploadRow {
  id: string;
  user_id: string;
  /** Null once the upload is complete, as are type and target: then the attachment has them. */
  filename: string | null;
  declared_type: string | null;
  conversation_id: string | null;
  message_id: string | null;
  /** Null if not known yet. */
  length: number | null;
  /** The number of durable bytes. */
  received: number;
  blob_key: string;
  /** The state with which the store continues the blob. */
  parts: string | null;
  /** The blob with the bytes after the last part. */
  tail_key: string | null;
  /** Changes when another process continues the upload, so that later writes of the earlier process are refused. */
  holder: string;
  /** Null if the upload is unfinished. */
  attachment_id: string | null;
  created_at: number;
  expires_at: number;
}

const COLUMNS = raw(
  "id, user_id, filename, declared_type, conversation_id, message_id, length, received, blob_key, parts, tail_key, " +
    "holder, attachment_id, created_at, expires_at",
);

/** Finds an upload of this user that has not expired at `now` (milliseconds). */
export function findUpload(
  db: QuickReader,
  userId: string,
  id: string,
  now: number,
): Promise<UploadRow | undefined> {
  return db.get(
    sql<UploadRow>`SELECT ${COLUMNS} FROM uploads WHERE id = ${id} AND user_id = ${userId} AND expires_at > ${now}`,
  );
}

/** Returns the rows of a page of the user's unfinished uploads that have not expired, and one more if there is one. */
export function listUploadRows(db: Reader, userId: string, page: Page, now: number): Promise<UploadRow[]> {
  return db.all(uploadsQuery(userId, page, now));
}

export function uploadsQuery(userId: string, page: Page, now: number): Statement<UploadRow> {
  return sql`SELECT ${COLUMNS} FROM uploads
    WHERE user_id = ${userId} AND attachment_id IS NULL AND expires_at > ${now} AND ${pageClause(page)}`;
}

export async function countUnfinishedUploads(db: Reader, now: number): Promise<number> {
  const query = sql<{ count: number }>`SELECT COUNT(*) AS count FROM uploads
    WHERE attachment_id IS NULL AND expires_at > ${now}`;
  return (await db.get(query))!.count;
}

interface CreateUpload {
  row: UploadRow;
  /** How many unfinished uploads the user may have. */
  limit: number;
  /** In bytes; 0 means no quota. */
  quota: number;
}

/**
 * Creates an upload and reserves room for it, if its length is known. Throws `count_limit_reached`, `quota_exceeded` and
 * `invalid_token`.
 */
const createUpload = write(
  { serializeBy: ({ row }) => row.user_id },
  function* ({ row, limit, quota }: CreateUpload): Write<{ id: string }> {
    const { id, user_id: userId, length, created_at: now } = row;
    const [user, [counted]] = yield* batch([
      sql`SELECT 1 AS one FROM users WHERE id = ${userId}`,
      sql<{ count: number }>`SELECT COUNT(*) AS count FROM uploads
        WHERE user_id = ${userId} AND attachment_id IS NULL`,
    ]);
    // The user was deleted after the token was checked.
    if (user.length === 0) throw new ParleyError("invalid_token");
    const { count } = counted!;
    if (count >= limit) {
      const detail = `You have ${count} unfinished uploads, which GET /v1/uploads lists. Finish one, or delete it: DELETE /v1/uploads/{upload_id}.`;
      throw new ParleyError("count_limit_reached", detail);
    }
    if (quota > 0 && length !== null) {
      const reservation = { id, userId, bytes: length, quota, now };
      yield* checkQuota(reservation);
      yield* run(reserve({ ...reservation, until: NEVER }));
    }
    yield* run(
      sql`INSERT INTO uploads (${COLUMNS}) VALUES (${id}, ${userId}, ${row.filename}, ${row.declared_type},
        ${row.conversation_id}, ${row.message_id}, ${length}, ${row.received}, ${row.blob_key}, ${row.parts},
        ${row.tail_key}, ${row.holder}, ${row.attachment_id}, ${now}, ${row.expires_at})`,
    );
    return { id };
  },
);

/** The reservation of an upload lasts as long as its row. */
const NEVER = Number.MAX_SAFE_INTEGER;

/** The part of an upload that only its holder may change. */
function held({ id, holder }: Pick<UploadRow, "id" | "holder">): Statement {
  return sql`id = ${id} AND holder = ${holder} AND attachment_id IS NULL`;
}

interface ReserveForUpload extends Omit<Reservation, "id" | "userId"> {
  row: UploadRow;
}

/**
 * Does the same as `reserveStorage`, for as long as the row exists. Throws `upload_not_found` if another process continues the
 * upload, or it is gone: then nothing would ever drop the reservation.
 */
const reserveForUpload = write(
  { serializeBy: ({ row }) => row.user_id },
  function* ({ row, ...room }: ReserveForUpload): Write<string | null> {
    if (!(yield* get(sql`SELECT id FROM uploads WHERE ${held(row)}`)))
      throw new ParleyError("upload_not_found");
    return yield* reserveStorage({ ...room, id: row.id, userId: row.user_id, until: NEVER });
  },
);

interface TakeUpload {
  /** The upload before this write. */
  row: UploadRow;
  newHolder: string;
  newBlobKey: string;
  /** How long the previous holder may still write to its blob key, if that changes. The key has an intent until then. */
  until: number;
}

/** Lets another process continue the upload. Returns false if a third one was faster, or the upload is gone. */
function* takeUpload({ row, newHolder, newBlobKey, until }: TakeUpload): Write<boolean> {
  const taken = yield* get(
    sql`UPDATE uploads SET holder = ${newHolder}, blob_key = ${newBlobKey} WHERE ${held(row)} RETURNING id`,
  );
  if (taken && newBlobKey !== row.blob_key) yield* createIntent({ blobKey: row.blob_key, until });
  return taken !== undefined;
}

interface AdvanceUpload {
  /** The upload before this write. */
  row: UploadRow;
  received: number;
  length: number | null;
  parts: string | null;
  /** A new tail, which has an intent, or the old one. */
  tailKey: string | null;
  now: number;
  expiresAt: number;
}

/** Records that more bytes are durable. Returns false if another process continues the upload, or it is gone. */
function* advanceUpload(input: AdvanceUpload): Write<boolean> {
  const { row, tailKey, now } = input;
  const isNewTail = tailKey !== row.tail_key;
  // An expired intent has become a tombstone, and the bytes are erased.
  if (isNewTail && tailKey !== null && !(yield* get(settleIntent(tailKey)))) return false;
  const advanced = yield* get(
    sql`UPDATE uploads SET received = ${input.received}, length = ${input.length}, parts = ${input.parts},
      tail_key = ${tailKey}, expires_at = ${input.expiresAt} WHERE ${held(row)} RETURNING id`,
  );
  if (!advanced) {
    // Nothing else refers to the new tail.
    if (isNewTail && tailKey !== null) yield* run(createTombstone(tailKey, now));
    return false;
  }
  if (isNewTail && row.tail_key !== null) yield* run(createTombstone(row.tail_key, now));
  return true;
}

interface FinishUpload extends CreateAttachment {
  row: UploadRow;
}

/**
 * Commits the file of an upload whose bytes are stored. Throws what `createAttachment` throws, and `upload_not_found` if
 * another process continues the upload, or it is gone.
 */
const finishUpload = write(
  { publishesEvents: true, serializeBy: ({ file }) => file.uploaderId },
  function* (input: FinishUpload): Write<{ id: string; message_id: string }> {
    const { row, file, now } = input;
    const finished = yield* get(
      sql`UPDATE uploads SET received = ${file.fileSize}, length = ${file.fileSize}, parts = NULL, tail_key = NULL,
        attachment_id = ${file.id}, filename = NULL, declared_type = NULL, conversation_id = NULL, message_id = NULL
      WHERE ${held(row)} RETURNING id`,
    );
    if (!finished) throw new ParleyError("upload_not_found");
    const created = yield* createAttachment(input);
    // The bytes of an empty file are in its row, but those of a refused body may be left.
    if (file.blobKey !== row.blob_key) yield* run(createTombstone(row.blob_key, now));
    if (row.tail_key !== null) yield* run(createTombstone(row.tail_key, now));
    return created;
  },
);

interface DeleteUpload {
  userId: string;
  id: string;
  now: number;
  /** How long another process may still write to the blob, which has an intent until then; null if none does. */
  until: number | null;
}

/** Deletes an upload. The attachment of a finished one stays. Returns false if the user does not have this upload. */
function* deleteUpload({ userId, id, now, until }: DeleteUpload): Write<boolean> {
  const row = yield* get<UploadRow>(
    sql`SELECT ${COLUMNS} FROM uploads WHERE id = ${id} AND user_id = ${userId}`,
  );
  if (row) yield* batch(eraseUpload(row, now, until));
  return row !== undefined;
}

function eraseUpload(row: UploadRow, now: number, until: number | null = null): Statement[] {
  const forget = sql`DELETE FROM uploads WHERE id = ${row.id}`;
  if (row.attachment_id !== null) return [forget];
  return [
    forget,
    dropReservation({ userId: row.user_id, id: row.id }),
    until === null ? createTombstone(row.blob_key, now) : insertIntent({ blobKey: row.blob_key, until }),
    ...(row.tail_key === null ? [] : [createTombstone(row.tail_key, now)]),
  ];
}

function* eraseUploads(condition: Statement, limit: number, now: number): Write<number> {
  const rows = yield* all<UploadRow>(
    sql`SELECT ${COLUMNS} FROM uploads WHERE ${condition} LIMIT ${limit} + 0`,
  );
  yield* batch(rows.flatMap((row) => eraseUpload(row, now)));
  return rows.length;
}

/** Part of other writes: erases at most `limit` uploads of the user, and returns how many. */
export function eraseUploadsOf(userId: string, limit: number, now: number): Write<number> {
  return eraseUploads(sql`user_id = ${userId}`, limit, now);
}

/** Erases at most `limit` expired uploads, and returns how many. */
function expireUploads(input: { now: number; limit: number }): Write<number> {
  return eraseUploads(sql`expires_at <= ${input.now}`, input.limit, input.now);
}

export async function hasExpiredUploads(db: Reader, now: number): Promise<boolean> {
  return (await db.get(sql`SELECT 1 AS one FROM uploads WHERE expires_at <= ${now} LIMIT 1`)) !== undefined;
}

export const uploadWrites = {
  createUpload,
  reserveForUpload,
  takeUpload,
  advanceUpload,
  finishUpload,
  deleteUpload,
  expireUploads,
};
