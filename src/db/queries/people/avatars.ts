import { ParleyError } from "../../../errors.ts";
import { columns, type RowOf } from "../../columns.ts";
import { type QuickReader, type Statement, sql } from "../../sql.ts";
import { checkVersion, type Expected } from "../../version.ts";
import { batch, get, type Write } from "../../write.ts";
import { type NewEntry, recordEntry } from "../record/audit-trail.ts";
import { eraseAvatar } from "../storage/content-erase.ts";
import type { NewFile } from "../storage/files.ts";
import { settleIntent } from "../storage/intents.ts";
import { insertSmallFile } from "../storage/small-files.ts";
import { noteProfileChange } from "./profile-readers.ts";
import { addSetFields } from "./profiles.ts";

const AVATAR = columns({
  id: sql<string>`a.id`,
  uploader_id: sql<string>`a.user_id`,
  file_type: sql<string>`a.file_type`,
  file_size: sql<number>`a.file_size`,
  sha256: sql<Uint8Array>`a.sha256`,
  crc32: sql<number>`a.crc32`,
  blob_key: sql<string>`a.blob_key`,
  created_at: sql<number>`a.created_at`,
});
type AvatarRow = RowOf<typeof AVATAR>;

/** Finds the picture that this user has now, if it has this id. */
export function findAvatar(db: QuickReader, userId: string, id: string): Promise<AvatarRow | undefined> {
  return AVATAR.get(db, sql`SELECT ${AVATAR} FROM avatars a WHERE a.user_id = ${userId} AND a.id = ${id}`);
}

interface SetAvatar {
  userId: string;
  /** Its id is that of the picture, and its size in pixels is known. */
  file: NewFile;
  expected: Expected;
}

/**
 * Sets the picture of a user whose bytes are durable, and erases the one before. Throws `user_not_found`, `invalid_token` if the
 * caller was deleted after the token was checked, `precondition_failed`, and `unavailable` if the upload took too long.
 */
function* setAvatar({ userId, file, expected }: SetAvatar): Write<void> {
  const { id, bytes, entry, createdAt, pictureSize, isUnscanned } = file;
  // An expired intent has become a tombstone, and the bytes are erased.
  if (file.hasIntent && !(yield* get(settleIntent(file.blobKey)))) throw new ParleyError("unavailable");
  const { set_fields } = yield* getPictured(userId, expected, entry);
  yield* batch([
    ...eraseAvatar(userId, createdAt),
    sql`INSERT INTO avatars (user_id, id, file_type, file_size, sha256, crc32, blob_key, width, height, created_at)
      VALUES (${userId}, ${id}, ${file.fileType}, ${file.fileSize}, ${file.sha256}, ${file.crc32}, ${file.blobKey},
        ${pictureSize!.width}, ${pictureSize!.height}, ${createdAt})`,
    ...(bytes === null ? [] : [insertSmallFile(id, bytes)]),
    ...showAvatar(userId, id, set_fields, entry, isUnscanned ? { unscanned: true } : {}),
  ]);
}

interface DeleteAvatar {
  userId: string;
  expected: Expected;
  entry: NewEntry;
}

/** Erases the picture of a user, if there is one. Throws what `setAvatar` throws about the user. */
function* deleteAvatar({ userId, expected, entry }: DeleteAvatar): Write<void> {
  const { avatar_id, set_fields } = yield* getPictured(userId, expected, entry);
  if (avatar_id === null) return;
  yield* batch([...eraseAvatar(userId, entry.at), ...showAvatar(userId, null, set_fields, entry, {})]);
}

interface WithdrawAvatar {
  userId: string;
  id: string;
  /** The scanner's name for what it found. */
  found: string;
  entry: NewEntry;
}

/** Erases the picture of a user in which a scan found something. Returns false if it was replaced or deleted first. */
function* withdrawAvatar({ userId, id, found, entry }: WithdrawAvatar): Write<boolean> {
  const user = yield* get(selectPictured(userId));
  if (user?.avatar_id !== id) return false;
  yield* batch([
    ...eraseAvatar(userId, entry.at),
    ...showAvatar(userId, null, user.set_fields, entry, { found }),
  ]);
  return true;
}

interface PicturedRow {
  avatar_id: string | null;
  set_fields: string;
  version: number;
}

function selectPictured(userId: string): Statement<PicturedRow> {
  return sql`SELECT avatar_id, set_fields, version FROM users WHERE id = ${userId}`;
}

function* getPictured(userId: string, expected: Expected, { actorId }: NewEntry): Write<PicturedRow> {
  const user = yield* get(selectPictured(userId));
  if (!user) throw new ParleyError(actorId === userId ? "invalid_token" : "user_not_found");
  checkVersion(expected, user.version);
  return user;
}

/** Shows a stored picture, or none, instead of any other address. `facts` are for the audit trail. */
function showAvatar(
  userId: string,
  id: string | null,
  setFields: string,
  entry: NewEntry,
  facts: object,
): Statement[] {
  return [
    sql`UPDATE users SET avatar_id = ${id}, avatar_url = NULL, set_fields = ${addSetFields(setFields, { avatar_url: null })},
        version = version + 1 WHERE id = ${userId}`,
    recordEntry(entry, "user.updated", userId, { fields: ["avatar_url"], ...facts }),
    noteProfileChange(userId),
  ];
}

export const avatarWrites = { setAvatar, deleteAvatar, withdrawAvatar };
