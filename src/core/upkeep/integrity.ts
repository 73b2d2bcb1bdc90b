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
  /** `found`: bytes. */
  | { kind: "size"; found: number }
  /** The size is right, but the SHA-256 is not. */
  | { kind: "damaged" }
  | { kind: "unreadable"; reason: string };

/** Bytes without a row. `size` is in bytes; null means that it is not a blob and not created by Parley. */
export interface Stray {
  name: string;
  size: number | null;
}

/**
 * Reads the bytes of an attachment, passes them to `take`, and returns what is wrong with them, if anything. Throws
 * only what `take` throws, and `unavailable` if file storage is unavailable.
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
    // An unavailable store says nothing about the file.
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

/** Yields every attachment with the fault in its bytes, if any; correct also while a server deletes some. */
export async function* checkFiles(
  db: Reader,
  blobs: BlobReader,
  take: (chunk: Uint8Array) => void,
): AsyncGenerator<{ file: StoredFile; fault: Fault | undefined }> {
  for await (const file of storedFiles(db)) {
    const fault = await faultOf(db, blobs, file, take);
    // Checked again: bytes erased after the row was read are no fault.
    if (!fault || (await isBlobLive(db, file.blob_key))) yield { file, fault };
  }
}

/**
 * Yields stored bytes without a row; correct also beside a running server. A listed blob has no intent any more: either
 * it was committed, and the database knows it, or it was discarded or erased since, and its bytes are gone.
 */
export async function* findStrays(db: Reader, blobs: BlobReader): AsyncGenerator<Stray> {
  for await (const items of blobs.list()) {
    for (const { name, key } of items) {
      if (key === null) {
        yield { name, size: null };
        continue;
      }
      // The intent first: the commit that deletes it also creates the row.
      if ((!blobs.intents && (await hasIntent(db, key))) || (await isBlobKnown(db, key))) continue;
      const size = await blobs.size(key);
      if (size !== undefined) yield { name, size };
    }
  }
}
