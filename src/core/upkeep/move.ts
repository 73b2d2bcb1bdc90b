import { createHash } from "node:crypto";
import type { BlobReader, BlobStore } from "../../blobs/store.ts";
import type { Database } from "../../db/database.ts";
import { isSmallFile } from "../../db/queries/storage/small-files.ts";
import { type StoredFile, storedFiles } from "../../db/queries/upkeep/integrity.ts";
import { findMove, lastKey, type Row, rowsAfter, type Table } from "../../db/queries/upkeep/tables.ts";
import type { Reader } from "../../db/sql.ts";
import { OperatorError } from "../../errors.ts";
import { type Fault, faultOf } from "./integrity.ts";

/** Throws if a move into the database was not completed. */
export async function refuseHalfMove(db: Reader): Promise<void> {
  const from = await findMove(db);
  if (from === undefined) return;
  throw new OperatorError(
    `A move from ${from} into this database did not end. Run the same parley move again.`,
  );
}

/** Rows per commit. */
const PAGE = 200;
/** How many files are copied at the same time. */
const AT_ONCE = 8;

/** Copies the rows of a table that are missing in the other database. `onRows` also counts the existing ones. */
export async function copyRows(
  from: Reader,
  to: Database,
  table: Table,
  onRows: (count: number) => void,
): Promise<void> {
  for await (const rows of rowsAfter(from, table, await lastKey(to, table), PAGE)) {
    await to.write("importRows", { table, rows });
    onRows(rows.length);
  }
}

/** Returns the SHA-256 of all rows of a table in hexadecimal digits, and their number. */
export async function rowsDigest(
  db: Reader,
  table: Table,
  onRows: (count: number) => void,
): Promise<{ count: number; sha256: string }> {
  const hash = createHash("sha256");
  let count = 0;
  for await (const rows of rowsAfter(db, table, undefined, PAGE)) {
    for (const row of rows) hash.update(lineOf(row));
    count += rows.length;
    onRows(rows.length);
  }
  return { count, sha256: hash.digest("hex") };
}

function lineOf(row: Row): string {
  const values = row.map((value) =>
    value instanceof Uint8Array ? { hex: Buffer.from(value).toString("hex") } : value,
  );
  return `${JSON.stringify(values)}\n`;
}

export interface CheckedFile {
  file: StoredFile;
  /** The fault in the bytes; undefined if they are those of the upload. */
  fault: Fault | undefined;
}

/**
 * Copies the bytes of each attachment to the other store under the same key, unless they exist there, and reports the faults of
 * files that cannot be copied whole. If an earlier run was interrupted (`isResumed`), removes its incomplete uploads. Small files
 * were copied with their rows.
 */
export async function* copyFiles(
  db: Reader,
  from: BlobReader,
  to: BlobStore,
  isResumed: boolean,
  onChunk: (bytes: number) => void,
): AsyncGenerator<CheckedFile> {
  let maybeLeft = isResumed ? AT_ONCE : 0;
  if (to.intents) {
    // No server uses the store, so none of its intents belongs to a running upload.
    await to.intents.sweep(
      async () => false,
      fail,
      () => false,
    );
  }
  yield* eachFile(db, async (file) => {
    if (isSmallFile(file)) return undefined;
    if ((await to.size(file.blob_key)) === file.file_size) {
      onChunk(file.file_size);
      return undefined;
    }
    if (maybeLeft > 0 && (await from.size(file.blob_key)) !== undefined) {
      maybeLeft--;
      await to.remove(file.blob_key);
    }
    const writer = await to.create(file.blob_key);
    try {
      const fault = await faultOf(db, from, file, async (chunk) => {
        await writer.write(chunk).catch((error) => {
          // Mark it as a failed write: other errors count as failed reads.
          throw new OperatorError(`${file.blob_key} cannot be written: ${error.message}.`, { cause: error });
        });
        onChunk(chunk.length);
      });
      if (fault) {
        await writer.discard();
        return fault;
      }
      await writer.store();
      await writer.settle();
      return undefined;
    } catch (error) {
      await writer.discard().catch(() => {});
      throw error;
    }
  });
}

function fail(error: unknown): never {
  throw error;
}

/** Reads the bytes of each attachment in their present store, and reports their faults. */
export function verifyFiles(
  db: Reader,
  blobs: BlobReader,
  onChunk: (bytes: number) => void,
): AsyncGenerator<CheckedFile> {
  return eachFile(db, (file) => faultOf(db, blobs, file, (chunk) => onChunk(chunk.length)));
}

/** Does the work for every attachment, several at a time, and yields each when it is done. */
async function* eachFile(
  db: Reader,
  work: (file: StoredFile) => Promise<Fault | undefined>,
): AsyncGenerator<CheckedFile> {
  const running = new Set<Promise<void>>();
  const checked: CheckedFile[] = [];
  const failures: unknown[] = [];
  const start = (file: StoredFile) => {
    const one = work(file)
      .then(
        (fault) => void checked.push({ file, fault }),
        (error) => void failures.push(error),
      )
      .finally(() => running.delete(one));
    running.add(one);
  };
  try {
    for await (const file of storedFiles(db)) {
      start(file);
      if (running.size >= AT_ONCE) await Promise.race(running);
      if (failures.length > 0) throw failures[0];
      yield* checked.splice(0);
    }
    await Promise.all(running);
    if (failures.length > 0) throw failures[0];
    yield* checked;
  } finally {
    // After a failure, or when the caller stops, running work must end before the stores are closed. The concurrent `Readable.map`
    // does not wait for it.
    await Promise.all(running);
  }
}
