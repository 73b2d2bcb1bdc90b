import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import type { BlobWriter } from "../blobs/store.ts";
import type { Reservation } from "../db/storage.ts";
import { ParleyError } from "../errors.ts";
import { exactSize } from "../util/sizes.ts";
import type { Core } from "./core.ts";
import { SNIFF_BYTES } from "./media-types.ts";

/** How long the intent of an upload holds without being renewed. Clocks of nodes may differ by a minute. */
const INTENT_MS = 30 * 60_000;
const RENEW_MS = 10 * 60_000;
/** How long an upload has its claim on the quota. One that takes longer has to find room at its end. */
const RESERVATION_MS = 15 * 60_000;

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
  /** Its claim on the quota of its user; null: there is no quota. */
  reservation: Reservation | null;
}

/** What is known of a file before it comes in. */
interface Announced {
  userId: string;
  /** Bytes that it has at most, by the length of its request; undefined: that is not known. */
  bytes: number | undefined;
}

/**
 * Takes a file in, hashing and counting on the way; each chunk need be valid only until the next is asked for. Throws
 * `quota_exceeded`, where the length is known before anything comes in, `file_too_large` as soon as the limit (bytes; 0:
 * none) is passed, and whatever the source throws; then nothing of the file is kept.
 */
export async function receiveFile(
  core: Core,
  source: AsyncIterable<Uint8Array>,
  maxBytes: number,
  announced: Announced,
): Promise<ReceivedFile> {
  const reservation = await reserve(core, announced);
  try {
    return { ...(await receive(core, source, maxBytes)), reservation };
  } catch (error) {
    await release(core, reservation);
    throw error;
  }
}

/** Where the length is not known nothing is promised, and the commit decides alone. */
async function reserve(core: Core, { userId, bytes }: Announced): Promise<Reservation | null> {
  const quota = core.limits.userQuotaBytes;
  if (quota === 0) return null;
  const now = core.clock();
  const reservation = { id: core.newId("att"), userId, bytes: bytes ?? 0, quota, now };
  if (bytes !== undefined) {
    await core.db.write("reserveStorage", { ...reservation, until: now + RESERVATION_MS });
  }
  return reservation;
}

/** One that cannot be released lapses. */
async function release(core: Core, reservation: Reservation | null): Promise<void> {
  if (!reservation) return;
  const { userId, id } = reservation;
  await core.db.write("releaseStorage", { userId, id }).catch(() => {});
}

async function receive(
  core: Core,
  source: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<Omit<ReceivedFile, "reservation">> {
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
export async function discardFile(core: Core, { content, reservation }: ReceivedFile): Promise<void> {
  if (!(content instanceof Uint8Array)) await discardBlob(core, content);
  await release(core, reservation);
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
    `A file may have at most ${exactSize(maxBytes)}. Nothing of it was kept.`,
    {
      param: "file",
    },
  );
}
