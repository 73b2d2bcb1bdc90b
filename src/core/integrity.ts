import { createHash } from "node:crypto";
import type { BlobReader } from "../blobs/store.ts";
import { isBlobLive } from "../db/attachments.ts";
import { isBlobKnown, type StoredFile, storedFiles } from "../db/integrity.ts";
import { hasIntent } from "../db/intents.ts";
import { findSmallFile, isSmallFile } from "../db/small-files.ts";
import type { Reader } from "../db/sql.ts";
import { OperatorError, ParleyError } from "../errors.ts";

/** What is wrong with the bytes of an attachment. */
export type Fault =
  | { kind: "missing" }
  /** `found`: bytes. */
  | { kind: "size"; found: number }
  /** The size is right, the SHA-256 is not. */
  | { kind: "damaged" }
  | { kind: "unreadable"; reason: string };

/** Bytes that no row knows. `size` in bytes; null: it is no blob, and none of Parley's making. */
export interface Stray {
  name: string;
  size: number | null;
}

/**
 * Reads the bytes of an attachment, hands them to `take`, and tells what is wrong with them, if anything is. Throws
 * only what `take` does, and `unavailable` where the store cannot be asked now.
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
    // A store that is away for a moment says nothing of the file.
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
  const bytes = await findSmallFile(db, file.id);
  if (!bytes) return { kind: "missing" };
  await take(bytes);
  if (bytes.length !== file.file_size) return { kind: "size", found: bytes.length };
  return createHash("sha256").update(bytes).digest().equals(file.sha256) ? undefined : { kind: "damaged" };
}

/** Every attachment, with what is wrong with its bytes; right also beside a server that deletes some meanwhile. */
export async function* checkFiles(
  db: Reader,
  blobs: BlobReader,
  take: (chunk: Uint8Array) => void,
): AsyncGenerator<{ file: StoredFile; fault: Fault | undefined }> {
  for await (const file of storedFiles(db)) {
    const fault = await faultOf(db, blobs, file, take);
    // Asked again: bytes that were erased after the row was read are no fault.
    if (!fault || (await isBlobLive(db, file.blob_key))) yield { file, fault };
  }
}

/**
 * What lies in the store without a row; right also beside a server. What is listed has no intent any more, so it was
 * committed before, which the database knows, or discarded or erased since, and then its bytes are gone.
 */
export async function* findStrays(db: Reader, blobs: BlobReader): AsyncGenerator<Stray> {
  for await (const entries of blobs.list()) {
    for (const { name, key } of entries) {
      if (key === null) {
        yield { name, size: null };
        continue;
      }
      // The intent first: it goes with the commit, which the database knows from then on.
      if ((!blobs.intents && (await hasIntent(db, key))) || (await isBlobKnown(db, key))) continue;
      const size = await blobs.size(key);
      if (size !== undefined) yield { name, size };
    }
  }
}
