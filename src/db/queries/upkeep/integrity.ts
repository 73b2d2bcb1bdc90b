import { setImmediate } from "node:timers/promises";
import { isId } from "../../../util/ids.ts";
import { type Reader, raw, type Statement, sql } from "../../sql.ts";

/** Rows read at a time. */
const PAGE = 500;
/** SQLite stops after this many faults. */
const MAX_FAULTS = 100;

/** The columns of an attachment or of the picture of a user that describe its bytes, and its user. */
export interface StoredFile {
  id: string;
  filename: string;
  uploader_id: string;
  /** Username of the user; null if the user was deleted. */
  uploader: string | null;
  file_size: number;
  sha256: Uint8Array;
  blob_key: string;
}

/** Reports whether the file is the picture of a user; otherwise it is an attachment. */
export function isAvatar({ id }: StoredFile): boolean {
  return isId("avt", id);
}

const BYTES = sql`u.username AS uploader, a.file_size, a.sha256, a.blob_key`;

/**
 * Yields every attachment, oldest first, including those committed meanwhile, and then every picture of a user. Reads schemas of
 * all versions.
 */
export async function* storedFiles(db: Reader): AsyncGenerator<StoredFile> {
  yield* inPages(
    db,
    sql`SELECT a.id, a.filename, a.uploader_id, ${BYTES}
      FROM attachments a LEFT JOIN users u ON u.id = a.uploader_id`,
  );
  yield* inPages(
    db,
    sql`SELECT a.id, 'avatar' AS filename, a.user_id AS uploader_id, ${BYTES}
      FROM avatars a LEFT JOIN users u ON u.id = a.user_id`,
  );
}

async function* inPages(db: Reader, selected: Statement): AsyncGenerator<StoredFile> {
  for (let last = ""; ; ) {
    const page = await db.all<StoredFile>(
      sql`${selected} WHERE a.id > ${last} ORDER BY a.id LIMIT ${PAGE} + 0`,
    );
    yield* page;
    // Reads are synchronous, so let timers and signals run.
    await setImmediate();
    if (page.length < PAGE) return;
    last = page.at(-1)!.id;
  }
}

/** Reports whether the blob store has any file. */
export async function hasStoredFiles(db: Reader): Promise<boolean> {
  const files = sql`SELECT 1 AS one FROM attachments WHERE blob_key <> id
    UNION ALL SELECT 1 FROM avatars WHERE blob_key <> id LIMIT 1`;
  return (await db.get(files)) !== undefined;
}

/** Returns the number of files in the blob store and their bytes. */
export async function storedBytes(db: Reader): Promise<{ files: number; bytes: number }> {
  const row = await db.get<{ files: number; bytes: number }>(
    sql`SELECT COUNT(*) AS files, CAST(COALESCE(SUM(file_size), 0) AS BIGINT) AS bytes
      FROM (SELECT file_size FROM attachments WHERE blob_key <> id
        UNION ALL SELECT file_size FROM avatars WHERE blob_key <> id) AS stored`,
  );
  return row!;
}

/** Reports whether the bytes belong to an attachment, a picture of a user or an upload, or are still to be erased. */
export async function isBlobKnown(db: Reader, blobKey: string): Promise<boolean> {
  const known = sql`${live(blobKey)}
    UNION ALL SELECT 1 FROM tombstones WHERE blob_key = ${blobKey}
    UNION ALL SELECT 1 FROM uploads WHERE blob_key = ${blobKey} AND attachment_id IS NULL
    UNION ALL SELECT 1 FROM uploads WHERE tail_key = ${blobKey}`;
  return (await db.get(known)) !== undefined;
}

/** Faults in a database file. */
export interface Corruption {
  /** Faults in the search index, if it can be rebuilt. */
  index: string[];
  rows: string[];
}

/**
 * Returns the faults that SQLite finds in the database file. It reads the whole file and, unlike `quick_check`, compares each
 * index with its table, because lists are read from indexes.
 */
export async function findCorruption(db: Reader): Promise<Corruption> {
  try {
    const messages = await checkIntegrity(db, `${MAX_FAULTS}`);
    const { index = [], rows = [] } = Object.groupBy(messages, (message) =>
      message.includes("message_index") ? "index" : "rows",
    );
    return { index, rows };
  } catch (error) {
    const rows = await findRowCorruption(db);
    // Only a damaged index makes the check itself fail. FTS5 then cannot empty the index either.
    return {
      index: [],
      rows: [`the search index cannot be read or rebuilt: ${(error as Error).message}`, ...rows],
    };
  }
}

async function findRowCorruption(db: Reader): Promise<string[]> {
  const tables = await db.all<{ name: string }>(
    sql`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'message_index%'`,
  );
  const messages: string[] = [];
  for (const { name } of tables) messages.push(...(await checkIntegrity(db, name)));
  return messages;
}

/** `what` is a table, or the maximum number of faults to return for all tables. */
async function checkIntegrity(db: Reader, what: string): Promise<string[]> {
  const found = await db.all<{ integrity_check: string }>(sql`PRAGMA integrity_check(${raw(what)})`);
  return found.map((row) => row.integrity_check).filter((message) => message !== "ok");
}

/** Reports whether a committed attachment or picture of a user has these bytes. */
export async function isBlobLive(db: Reader, blobKey: string): Promise<boolean> {
  return (await db.get(live(blobKey))) !== undefined;
}

function live(blobKey: string): Statement {
  return sql`SELECT 1 AS one FROM attachments WHERE blob_key = ${blobKey}
    UNION ALL SELECT 1 FROM avatars WHERE blob_key = ${blobKey}`;
}
