import { type Statement, sql } from "../../sql.ts";
import { dropWords, type IndexedBody } from "../search/search.ts";
import { deleteSmallFile, isSmallFile } from "./small-files.ts";
import { returnStorage } from "./storage-used.ts";
import { createTombstone } from "./tombstones.ts";

export interface ErasedFile {
  id: string;
  /** The id itself if the bytes are in the database. */
  blob_key: string;
  uploader_id: string;
  file_size: number;
}

/** Part of other writes: erases an attachment; its bytes are erased later. Leaves the grants of users other than its uploader. */
export function eraseFile(file: ErasedFile, now: number): Statement[] {
  return [
    ...returnStorage(file),
    sql`DELETE FROM attachments WHERE id = ${file.id}`,
    isSmallFile(file) ? deleteSmallFile(file.id) : createTombstone(file.blob_key, now),
  ];
}

/** Part of other writes: erases the stored picture of a user, if there is one. Its bytes are erased later. */
export function eraseAvatar(userId: string, now: number): Statement[] {
  const theirs = sql`FROM avatars WHERE user_id = ${userId}`;
  return [
    sql`INSERT INTO tombstones (blob_key, created_at) SELECT blob_key, CAST(${now} AS BIGINT) ${theirs} AND blob_key <> id`,
    sql`DELETE FROM small_files WHERE attachment_id = (SELECT id ${theirs})`,
    sql`DELETE ${theirs}`,
  ];
}

export interface ErasedMessage extends IndexedBody {
  id: string;
  /** 1 if somebody has reacted to it. */
  has_reactions: number;
}

/** Part of other writes: erases a message with its reactions, but not its files. */
export function eraseMessage(message: ErasedMessage): Statement[] {
  const { id, has_reactions } = message;
  return [
    sql`DELETE FROM messages WHERE id = ${id}`,
    ...(has_reactions === 1 ? [sql`DELETE FROM reactions WHERE message_id = ${id}`] : []),
    ...eraseBody(message),
  ];
}

/**
 * Part of other writes: erases the text of a message. The empty row stays: deleting it could make SQLite merge pages, which leaves
 * copies of their texts in the file. For the same reason an edited text gets a new row.
 */
export function eraseBody(body: IndexedBody): Statement[] {
  if (body.body_id === null) return [];
  return [
    ...dropWords(body),
    sql`UPDATE message_bodies SET text = NULL, data = NULL WHERE id = ${body.body_id}`,
  ];
}
