import { setImmediate } from "node:timers/promises";
import type { Reader } from "./sql.ts";

/** Rows that are read at a time. */
const PAGE = 500;
/** SQLite ends its search after so many faults. */
const MAX_FAULTS = 100;

/** What a row says of the bytes of an attachment, and whose it is. */
export interface StoredFile {
  id: string;
  filename: string;
  uploader_id: string;
  /** Name of the uploader; null: the user was removed. */
  uploader: string | null;
  file_size: number;
  sha256: Uint8Array;
  blob_key: string;
}

/** Every attachment, oldest first, also those that are committed during the walk. Reads schemas of all versions. */
export async function* storedFiles(db: Reader): AsyncGenerator<StoredFile> {
  for (let last = ""; ; ) {
    const page = await db.all<StoredFile>(
      `SELECT a.id, a.filename, a.uploader_id, u.username AS uploader, a.file_size, a.sha256, a.blob_key
       FROM attachments a LEFT JOIN users u ON u.id = a.uploader_id WHERE a.id > ? ORDER BY a.id LIMIT ? + 0`,
      last,
      PAGE,
    );
    yield* page;
    // Rows come without waiting: timers and signals get their turn.
    await setImmediate();
    if (page.length < PAGE) return;
    last = page.at(-1)!.id;
  }
}

/** Whether the blob store has any file. */
export async function hasStoredFiles(db: Reader): Promise<boolean> {
  return (await db.get("SELECT 1 AS one FROM attachments WHERE blob_key <> id LIMIT 1")) !== undefined;
}

/** How many files the blob store has, and their bytes. */
export async function storedBytes(db: Reader): Promise<{ files: number; bytes: number }> {
  const sql =
    "SELECT COUNT(*) AS files, COALESCE(SUM(file_size), 0) AS bytes FROM attachments WHERE blob_key <> id";
  return (await db.get(sql))!;
}

/** Whether the bytes belong to an attachment, or to one that was deleted and whose bytes are still to be erased. */
export async function isBlobKnown(db: Reader, blobKey: string): Promise<boolean> {
  const sql = `SELECT 1 AS one FROM attachments WHERE blob_key = ?
    UNION ALL SELECT 1 FROM tombstones WHERE blob_key = ?`;
  return (await db.get(sql, blobKey, blobKey)) !== undefined;
}

/**
 * What SQLite finds wrong with the database file; empty: nothing. It reads all of it, and compares each index with
 * its table: a list is served from an index, so the quicker check, which leaves that out, would not do.
 */
export async function findCorruption(db: Reader): Promise<string[]> {
  const rows = await db.all<{ integrity_check: string }>(`PRAGMA integrity_check(${MAX_FAULTS})`);
  return rows.map((row) => row.integrity_check).filter((message) => message !== "ok");
}
