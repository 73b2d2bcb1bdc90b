import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import type { BlobWriter } from "../blobs/store.ts";
import { ParleyError } from "../errors.ts";
import { formatSize } from "../util/sizes.ts";
import type { Core } from "./core.ts";
import { SNIFF_BYTES } from "./media-types.ts";

/** How long the intent of an upload holds without being renewed. Clocks of nodes may differ by a minute. */
const INTENT_MS = 30 * 60_000;
const RENEW_MS = 10 * 60_000;

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
  let renewAt = core.clock() + RENEW_MS;
  try {
    for await (const chunk of source) {
      size += chunk.length;
      if (maxBytes > 0 && size > maxBytes) throw fileTooLarge(maxBytes);
      hash.update(chunk);
      crc = crc32(chunk, crc);
      if (blob) {
        await blob.write(chunk);
        if (core.clock() > renewAt) renewAt = await renew(core, blob);
        continue;
      }
      first.push(new Uint8Array(chunk));
      if (size > core.blobs.minFileBytes) {
        blob = await createBlob(core);
        head = joined(first).slice(0, SNIFF_BYTES);
        for (const each of first.splice(0)) await blob.write(each);
      }
    }
    const bytes = joined(first);
    head ??= bytes.slice(0, SNIFF_BYTES);
    return { content: blob ?? bytes, size, sha256: hash.digest(), crc32: crc, head };
  } catch (error) {
    // What went wrong first is what the caller must hear; a file that cannot be discarded is the sweep's.
    if (blob) await discardBlob(core, blob);
    throw error;
  }
}

/** Drops a file that gets no row. One that cannot be dropped is the sweep's. */
export async function discardFile(core: Core, { content }: ReceivedFile): Promise<void> {
  if (!(content instanceof Uint8Array)) await discardBlob(core, content);
}

async function createBlob(core: Core): Promise<BlobWriter> {
  const bytes = new Uint8Array(16);
  core.random(bytes);
  const blobKey = Buffer.from(bytes).toString("hex");
  if (core.blobs.intents) return core.blobs.create(blobKey);
  await core.db.write("createIntent", { blobKey, until: core.clock() + INTENT_MS });
  return core.blobs.create(blobKey).catch(async (error) => {
    await core.db.write("dropIntent", { blobKey });
    throw error;
  });
}

/** Returns when to renew again. */
async function renew(core: Core, { key }: BlobWriter): Promise<number> {
  const now = core.clock();
  if (!core.blobs.intents) {
    const renewed = await core.db.write("renewIntent", { blobKey: key, until: now + INTENT_MS });
    if (!renewed) throw new ParleyError("unavailable");
  }
  return now + RENEW_MS;
}

async function discardBlob(core: Core, blob: BlobWriter): Promise<void> {
  try {
    await blob.discard();
    if (!core.blobs.intents) await core.db.write("dropIntent", { blobKey: blob.key });
  } catch {}
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
