import { createHash } from "node:crypto";
import type { BlobReader } from "../../blobs/store.ts";
import { hasIntent } from "../../db/queries/storage/intents.ts";
import { checkSmallFile, isSmallFile } from "../../db/queries/storage/small-files.ts";
import { isBlobKnown, isBlobLive, type StoredFile, storedFiles } from "../../db/queries/upkeep/integrity.ts";
import type { Reader } from "../../db/sql.ts";
import { OperatorError, ParleyError } from "../../errors.ts";

/** A fault in the bytes of an attachment. */
export type Fault =
  | { kind: "missing" }
  /** `found` is in bytes. */
  | { kind: "size"; found: number }
  /** The size is right, but the SHA-256 is not. */
  | { kind: "damaged" }
  | { kind: "unreadable"; reason: string };

/** Stored bytes without a row. `size` is null for an item that is not a blob, so that Parley did not create it. */
export interface Stray {
  name: string;
  size: number | null;
}

/**
 * Reads the bytes of an attachment, passes them to `take`, and returns their fault, if any. Throws only what `take` throws, and
 * `unavailable` if file storage is unavailable.
 */
export async function faultOf(
  db: Reader,
  blobs: BlobReader,
  file: StoredFile,
  take: (chunk: Uint8Array) => void | Promise<void>,
): Promise<Fault | undefined> {
  if (isSmallFile(file)) return smallFileFault(db, file, take);
  const hash = createHash("sha256");
  try {
    const found = await blobs.size(file.blob_key);
    if (found === undefined) return { kind: "missing" };
    for await (const chunk of found > 0 ? await blobs.read(file.blob_key, 0, found - 1) : []) {
      hash.update(chunk);
      await take(chunk);
    }
    if (found !== file.file_size) return { kind: "size", found };
  } catch (error) {
    // If the store is unavailable, the file may be intact.
    if (error instanceof OperatorError || error instanceof ParleyError) throw error;
    return { kind: "unreadable", reason: (error as Error).message };
  }
  return hash.digest().equals(file.sha256) ? undefined : { kind: "damaged" };
}

async function smallFileFault(
  db: Reader,
  file: StoredFile,
  take: (chunk: Uint8Array) => void | Promise<void>,
): Promise<Fault | undefined> {
  const bytes = await checkSmallFile(db, file.id);
  if (!bytes) return { kind: "missing" };
  await take(bytes);
  if (bytes.length !== file.file_size) return { kind: "size", found: bytes.length };
  return createHash("sha256").update(bytes).digest().equals(file.sha256) ? undefined : { kind: "damaged" };
}

/** Yields every attachment with the fault in its bytes, if any. It is also correct while a server deletes some. */
export async function* checkFiles(
  db: Reader,
  blobs: BlobReader,
  take: (chunk: Uint8Array) => void,
): AsyncGenerator<{ file: StoredFile; fault: Fault | undefined }> {
  for await (const file of storedFiles(db)) {
    const fault = await faultOf(db, blobs, file, take);
    // Check again: bytes that were erased after the row was read are not a fault.
    if (!fault || (await isBlobLive(db, file.blob_key))) yield { file, fault };
  }
}

/**
 * Yields stored bytes without a row. It is also correct while a server runs: a listed blob no longer has an intent, so either it
 * was committed, and has a row, or it was discarded or erased since, and its bytes are gone.
 */
export async function* findStrays(db: Reader, blobs: BlobReader): AsyncGenerator<Stray> {
  for await (const items of blobs.list()) {
    for (const { name, key } of items) {
      if (key === null) {
        yield { name, size: null };
        continue;
      }
      // Look for the intent first: the commit that deletes it also creates the row.
      if ((!blobs.intents && (await hasIntent(db, key))) || (await isBlobKnown(db, key))) continue;
      const size = await blobs.size(key);
      if (size !== undefined) yield { name, size };
    }
  }
}
