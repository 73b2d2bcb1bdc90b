import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import { findSmallFile, isSmallFile } from "../db/small-files.ts";
import type { FileRow } from "./attachments.ts";
import type { Core } from "./core.ts";

/** Up to this size a file is verified before the answer begins. */
const MAX_WHOLE_BYTES = 256 * 1024;

/**
 * The bytes of a file from `start` to `end` inclusive. A whole file is verified on its way: where it is damaged this
 * throws, or the chunks end in an error before the last is handed on. They must be iterated, and each is valid until the
 * next is asked for.
 */
export async function openFile(
  core: Core,
  row: FileRow,
  start: number,
  end: number,
): Promise<Uint8Array | AsyncIterable<Uint8Array>> {
  const isWhole = start === 0 && end === row.file_size - 1;
  // A client that was cut off asks for the rest. A whole one is verified again: the file may have been mended.
  if (core.damaged.has(row.id) && !isWhole) throw damaged(row);
  if (isSmallFile(row)) {
    const bytes = await findSmallFile(core.db, row.id);
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
 * An address at which a client can fetch the file from the store itself, where there is any. What it gets there is not
 * verified.
 */
export async function fileAddress(
  { blobs }: Core,
  row: FileRow,
  answer: { type: string; disposition: string; seconds: number },
): Promise<string | undefined> {
  return isSmallFile(row) ? undefined : blobs.address?.(row.blob_key, answer);
}

async function* verified(
  core: Core,
  chunks: AsyncIterable<Uint8Array>,
  row: FileRow,
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

/** Takes the chunks of a file; false where the last has come and the file is another than was uploaded. */
function checker(row: FileRow): (chunk: Uint8Array, isLast: boolean) => boolean {
  if (row.crc32 === null) {
    const hash = createHash("sha256");
    return (chunk, isLast) => {
      hash.update(chunk);
      return !isLast || hash.digest().equals(row.sha256);
    };
  }
  // A CRC costs a third of a SHA-256, and tells a bit that has flipped as well.
  let crc = 0;
  return (chunk, isLast) => {
    crc = crc32(chunk, crc);
    return !isLast || crc === row.crc32;
  };
}

function damaged(row: FileRow): Error {
  return new Error(`The bytes of ${row.id} are damaged. See which others are: parley check.`);
}
