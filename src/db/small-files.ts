import { type Reader, run, type Statement, statement, type Write } from "./sql.ts";

/** Whether the bytes of this attachment are in the database; else its `blob_key` is a key of the blob store. */
export function isSmallFile(attachment: { id: string; blob_key: string }): boolean {
  return attachment.blob_key === attachment.id;
}

const FIND = "SELECT bytes FROM small_files WHERE attachment_id = ?";

export async function findSmallFile(db: Reader, attachmentId: string): Promise<Uint8Array | undefined> {
  return (await db.get<{ bytes: Uint8Array }>(FIND, attachmentId))?.bytes;
}

/** Part of other writes. */
export function insertSmallFile(attachmentId: string, bytes: Uint8Array): Statement {
  return statement("INSERT INTO small_files (attachment_id, bytes) VALUES (?, ?)", attachmentId, bytes);
}

/** Part of other writes. */
export function* deleteSmallFile(attachmentId: string): Write<void> {
  yield* run("DELETE FROM small_files WHERE attachment_id = ?", attachmentId);
}
