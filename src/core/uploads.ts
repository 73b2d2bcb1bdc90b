import { createHash } from "node:crypto";
import type { BlobWriter } from "../blobs/store.ts";
import { ParleyError } from "../errors.ts";
import { formatSize } from "../util/sizes.ts";
import type { Core } from "./core.ts";
import { SNIFF_BYTES } from "./media-types.ts";

/** A file that has come in whole and waits for its row. */
export interface ReceivedFile {
  blob: BlobWriter;
  /** Bytes. */
  size: number;
  sha256: Uint8Array;
  /** The beginning of the file, for telling its type. */
  head: Uint8Array;
}

/**
 * Streams a file into the store, hashing and counting on the way. Throws `file_too_large` as soon as the limit
 * (bytes; 0: none) is passed, and whatever the source throws; then nothing of the file is kept.
 */
export async function receiveFile(
  core: Core,
  source: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<ReceivedFile> {
  const blob = await core.blobs.create();
  try {
    const hash = createHash("sha256");
    const head: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of source) {
      if (size < SNIFF_BYTES) head.push(chunk.slice(0, SNIFF_BYTES - size));
      size += chunk.length;
      if (maxBytes > 0 && size > maxBytes) throw fileTooLarge(maxBytes);
      hash.update(chunk);
      await blob.write(chunk);
    }
    return { blob, size, sha256: hash.digest(), head: Buffer.concat(head) };
  } catch (error) {
    // What went wrong first is what the caller must hear; a file that cannot be discarded is the sweep's.
    await blob.discard().catch(() => {});
    throw error;
  }
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
