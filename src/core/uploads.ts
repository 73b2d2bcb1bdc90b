import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import type { BlobWriter } from "../blobs/store.ts";
import { MAX_SMALL_FILE_BYTES } from "../db/small-files.ts";
import { ParleyError } from "../errors.ts";
import { formatSize } from "../util/sizes.ts";
import type { Core } from "./core.ts";
import { SNIFF_BYTES } from "./media-types.ts";

/** A file that has come in whole and waits for its row. */
export interface ReceivedFile {
  /** Its bytes, where they are few enough to be kept in the database; else it is in the blob store. */
  content: Uint8Array | BlobWriter;
  /** Bytes. */
  size: number;
  sha256: Uint8Array;
  crc32: number;
  /** The beginning of the file, for telling its type. */
  head: Uint8Array;
}

/**
 * Takes a file in, hashing and counting on the way; each chunk need be valid only until the next is asked for. Throws
 * `file_too_large` as soon as the limit (bytes; 0: none) is passed, and whatever the source throws; then nothing of the
 * file is kept.
 */
export async function receiveFile(
  core: Core,
  source: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<ReceivedFile> {
  const hash = createHash("sha256");
  let crc = 0;
  let size = 0;
  // The first chunks, until the file proves too large for the database.
  const first: Uint8Array[] = [];
  let blob: BlobWriter | undefined;
  let head: Uint8Array | undefined;
  try {
    for await (const chunk of source) {
      size += chunk.length;
      if (maxBytes > 0 && size > maxBytes) throw fileTooLarge(maxBytes);
      hash.update(chunk);
      crc = crc32(chunk, crc);
      if (blob) {
        await blob.write(chunk);
        continue;
      }
      first.push(new Uint8Array(chunk));
      if (size > MAX_SMALL_FILE_BYTES) {
        blob = await core.blobs.create();
        head = joined(first).slice(0, SNIFF_BYTES);
        for (const each of first.splice(0)) await blob.write(each);
      }
    }
    const bytes = joined(first);
    head ??= bytes.slice(0, SNIFF_BYTES);
    return { content: blob ?? bytes, size, sha256: hash.digest(), crc32: crc, head };
  } catch (error) {
    // What went wrong first is what the caller must hear; a file that cannot be discarded is the sweep's.
    await blob?.discard().catch(() => {});
    throw error;
  }
}

/** Drops a file that gets no row. One that cannot be dropped is the sweep's. */
export async function discardFile({ content }: ReceivedFile): Promise<void> {
  if (!(content instanceof Uint8Array)) await content.discard().catch(() => {});
}

/** In a buffer of its own, so that it passes to another thread alone. */
function joined(chunks: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(chunks.reduce((size, chunk) => size + chunk.length, 0));
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}

export function fileTooLarge(maxBytes: number): ParleyError {
  return new ParleyError(
    "file_too_large",
    `A file may have at most ${formatSize(maxBytes)}. Nothing of it was kept.`,
    {
      param: "file",
    },
  );
}
