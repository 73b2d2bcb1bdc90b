import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import { existingFiles } from "../../db/queries/files/picture-placeholders.ts";
import type { ServedFile } from "../../db/queries/storage/files.ts";
import { findSmallFile, isSmallFile } from "../../db/queries/storage/small-files.ts";
import { ParleyError } from "../../errors.ts";
import { isId } from "../../util/ids.ts";
import type { Core } from "../node/core.ts";

export type { ServedFile };

/** A file of up to this size is verified before the answer begins. */
const MAX_WHOLE_BYTES = 256 * 1024;

/**
 * Opens the bytes of a file from `start` to `end`, both included. A whole file is verified: if it is damaged, this throws, or the
 * chunks end in an error before the last. Iterate over the chunks in every case; each is valid until the next is requested.
 */
export async function openFile(
  core: Core,
  row: ServedFile,
  start: number,
  end: number,
): Promise<Uint8Array | AsyncIterable<Uint8Array>> {
  const isWhole = start === 0 && end === row.file_size - 1;
  // A client whose download was cut off requests the rest. A whole file is verified again, because it may have been repaired.
  if (core.damaged.has(row.id) && !isWhole) throw damaged(row);
  if (isSmallFile(row)) {
    const bytes = await findSmallFile(core.db, row.id);
    // It was deleted after its row was read.
    if (!bytes && !(await existingFiles(core.db, [row.id])).has(row.id))
      throw new ParleyError(isId("avt", row.id) ? "avatar_not_found" : "attachment_not_found");
    if (bytes?.length !== row.file_size || crc32(bytes) !== row.crc32) throw damaged(row);
    return bytes.subarray(start, end + 1);
  }
  const chunks = await core.blobs.read(row.blob_key, start, end);
  if (!isWhole) return chunks;
  if (row.file_size > MAX_WHOLE_BYTES) return verified(core, chunks, row);
  const whole = new Uint8Array(row.file_size);
  let at = 0;
  for await (const chunk of verified(core, chunks, row)) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

/**
 * Returns a URL with which a client can fetch the file directly from the store, if the store supports that. Those bytes are
 * not verified.
 */
export async function findStoreUrl(
  { blobs }: Core,
  row: ServedFile,
  answer: { type: string; disposition: string; seconds: number },
): Promise<string | undefined> {
  return isSmallFile(row) ? undefined : blobs.address?.(row.blob_key, answer);
}

async function* verified(
  core: Core,
  chunks: AsyncIterable<Uint8Array>,
  row: ServedFile,
): AsyncGenerator<Uint8Array> {
  const isRight = checker(row);
  let left = row.file_size;
  for await (const chunk of chunks) {
    left -= chunk.length;
    if (!isRight(chunk, left === 0)) {
      core.damaged.add(row.id);
      throw damaged(row);
    }
    if (left === 0) core.damaged.delete(row.id);
    yield chunk;
  }
}

/** Returns a function that takes the chunks of a file, and returns false if the last has come and the file is damaged. */
function checker(row: ServedFile): (chunk: Uint8Array, isLast: boolean) => boolean {
  if (row.crc32 === null) {
    const hash = createHash("sha256");
    return (chunk, isLast) => {
      hash.update(chunk);
      return !isLast || hash.digest().equals(row.sha256);
    };
  }
  // A CRC costs a third of a SHA-256, and detects a flipped bit as well.
  let crc = 0;
  return (chunk, isLast) => {
    crc = crc32(chunk, crc);
    return !isLast || crc === row.crc32;
  };
}

function damaged(row: ServedFile): Error {
  return new Error(`The bytes of ${row.id} are damaged. Find all damaged files with: parley check.`);
}
