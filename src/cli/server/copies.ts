import { copyFile, type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { blobPath } from "../../blobs/disk.ts";
import type { BlobReader } from "../../blobs/store.ts";
import { type Fault, faultOf } from "../../core/upkeep/integrity.ts";
import { countUnfinishedUploads } from "../../db/queries/files/upload-resumable.ts";
import { isSmallFile } from "../../db/queries/storage/small-files.ts";
import type { StoredFile } from "../../db/queries/upkeep/integrity.ts";
import type { Reader } from "../../db/sql.ts";
import { OperatorError } from "../../errors.ts";
import { systemClock } from "../../util/clock.ts";
import { syncFile } from "../../util/durable.ts";
import type { Io } from "../io.ts";
import { counted } from "../text.ts";
import type { Watch } from "./watch.ts";

/** Backups and restored folders are readable by their owner only. */
export const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

/**
 * Copies and syncs the bytes of an attachment to another data folder. Returns the fault, if there is one: the copy
 * then has the bytes that could be read. A small file is only verified, because its bytes are in the database.
 */
export async function copyBlob(
  db: Reader,
  blobs: BlobReader,
  file: StoredFile,
  folder: string,
  watch: Watch,
): Promise<Fault | undefined> {
  if (isSmallFile(file)) return faultOf(db, blobs, file, watch.onChunk);
  const path = blobPath(folder, file.blob_key);
  const copy = await open(path, "w", FILE_MODE);
  try {
    const fault = await faultOf(db, blobs, file, async (chunk) => {
      watch.onChunk(chunk);
      await write(copy, chunk, path);
    });
    await copy.sync();
    return fault;
  } finally {
    await copy.close();
  }
}

async function write(file: FileHandle, chunk: Uint8Array, path: string): Promise<void> {
  try {
    for (let at = 0; at < chunk.length; ) at += (await file.write(chunk, at)).bytesWritten;
  } catch (error) {
    throw new OperatorError(`${path} cannot be written: ${(error as Error).message}.`, { cause: error });
  }
}

/** Says how many unfinished uploads a copy lacks: only the store of the original has their parts. */
export async function reportUploads(io: Io, db: Reader): Promise<void> {
  const count = await countUnfinishedUploads(db, systemClock());
  if (count > 0)
    io.warn(`Without ${counted(count, "unfinished upload")}: the clients must start them again on the copy.`);
}

/** Copies the secret that signs links. Returns false if there is none. */
export async function copySecret(from: string, to: string): Promise<boolean> {
  const path = join(to, "secret");
  try {
    await copyFile(join(from, "secret"), path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
  await syncFile(path);
  return true;
}
