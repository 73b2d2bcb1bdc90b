import { type QuickReader, type Reader, type Statement, sql } from "../../sql.ts";

/**
 * Reports whether the bytes of this attachment are in the database; otherwise its `blob_key` is a key of the blob
 * store.
 */
export function isSmallFile(attachment: { id: string; blob_key: string }): boolean {
  return attachment.blob_key === attachment.id;
}

function selectBytes<R>(attachmentId: string): Statement<R> {
  return sql`SELECT bytes FROM small_files WHERE attachment_id = ${attachmentId}`;
}

export async function findSmallFile(db: QuickReader, attachmentId: string): Promise<Uint8Array | undefined> {
  return (await db.getValues(selectBytes<[bytes: Uint8Array]>(attachmentId)))?.[0];
}

/** Reads a small file for a check, which reads all of them. */
export async function checkSmallFile(db: Reader, attachmentId: string): Promise<Uint8Array | undefined> {
  return (await db.get(selectBytes<{ bytes: Uint8Array }>(attachmentId)))?.bytes;
}

/** Part of other writes. */
export function insertSmallFile(attachmentId: string, bytes: Uint8Array): Statement {
  return sql`INSERT INTO small_files (attachment_id, bytes) VALUES (${attachmentId}, ${bytes})`;
}

/** Part of other writes. */
export function deleteSmallFile(attachmentId: string): Statement {
  return sql`DELETE FROM small_files WHERE attachment_id = ${attachmentId}`;
}
