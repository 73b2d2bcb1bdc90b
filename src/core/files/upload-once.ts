import { createHash, type Hash } from "node:crypto";
import { crc32 } from "node:zlib";
import type { BlobWriter } from "../../blobs/store.ts";
import type { NewFile } from "../../db/queries/storage/files.ts";
import { checkDailyLimit, type Reservation } from "../../db/queries/storage/storage-used.ts";
import { ParleyError } from "../../errors.ts";
import { exactSize } from "../../util/sizes.ts";
import { Utf8Check } from "../../util/utf8.ts";
import type { Core } from "../node/core.ts";
import type { Scan, Verdict } from "../node/scanner.ts";
import { SNIFF_BYTES } from "./media-types.ts";
import { PictureSizeReader } from "./picture-size.ts";
import { MetadataStripper } from "./picture-strip.ts";

/** How long an intent is valid unless it is renewed. The clocks of nodes may differ by a minute. */
export const INTENT_MS = 30 * 60_000;
const RENEW_MS = 10 * 60_000;
/** How long a reservation is valid. A longer upload has to find room when it is committed. */
const RESERVATION_MS = 15 * 60_000;
/** How far an upload without Content-Length may run ahead of its reservation. */
export const RESERVATION_STEP_BYTES = 4 * 1024 * 1024;
/** When to retry an upload that exceeds the number of uploads under way. */
const RETRY_AFTER_SECONDS = "1";

/** The columns that describe the bytes of a file, and what the commit of the row releases. */
type FileColumns = Pick<
  NewFile,
  | "fileSize"
  | "sha256"
  | "crc32"
  | "blobKey"
  | "bytes"
  | "hasIntent"
  | "reservation"
  | "filesPerDay"
  | "pictureSize"
>;

/**
 * Owns everything that an upload holds until its row is committed: one of its user's uploads under way, a reservation of
 * the user's quota, the bytes in memory or in the blob store, the intent, and the scan of the bytes. When it goes out of
 * scope it discards what was neither settled nor left to the sweep.
 */
export class Upload implements AsyncDisposable {
  readonly #core: Core;
  readonly #userId: string;
  readonly #hash = createHash("sha256");
  #sha256: Uint8Array | undefined;
  #crc32 = 0;
  #size = 0;
  readonly #pictureSize = new PictureSizeReader();
  readonly #utf8 = new Utf8Check();
  /** Removes the metadata of a picture as it comes in. */
  #stripper: MetadataStripper | undefined;
  /** Of the bytes as they come in, if those that are kept differ. */
  #receivedHash: Hash | undefined;
  #isHashOnly = false;
  /** The bytes, until there are too many for the database. */
  #first: Uint8Array[] = [];
  #head: Uint8Array | undefined;
  #blob: BlobWriter | undefined;
  /** The key of the row in `intents`, if the store keeps no intents itself. */
  #intentRow: string | undefined;
  #renewAt = 0;
  /** A scan of a file in the store, while it comes in. */
  #scan: Scan | undefined;
  #scanned: Promise<string | null> | undefined;
  /** Null: there is no quota. */
  #reservation: Omit<Reservation, "now"> | null = null;
  #isDone = false;

  /** Throws `rate_limited` if the user has as many uploads under way on this node as the limit allows. */
  constructor(core: Core, userId: string) {
    this.#core = core;
    this.#userId = userId;
    beginUpload(core, userId);
    const quota = core.limits.userQuotaBytes;
    if (quota > 0) this.#reservation = { id: core.newId("att"), userId, bytes: 0, quota };
  }

  /** Keeps no bytes and reserves nothing: a replay is only compared with the first request of its Idempotency-Key. */
  hashOnly(): void {
    this.#isHashOnly = true;
    this.#reservation = null;
  }

  /** Takes the bytes of a picture without its metadata: all that follows is said of those bytes. */
  stripMetadata(): void {
    this.#stripper = new MetadataStripper();
    this.#receivedHash = createHash("sha256");
  }

  /** Whether nothing is known of the file but its digest. */
  get isHashOnly(): boolean {
    return this.#isHashOnly;
  }

  /**
   * Takes bytes of the file; each chunk need be valid only until the next is requested. Throws `quota_exceeded` before the
   * first chunk if `announcedBytes`, the most that can come, is known and exceeds the quota, otherwise when the bytes
   * exceed it. Throws `file_too_large` as soon as they exceed `maxBytes` (0: no limit), `daily_limit_reached` before the
   * first chunk, and `metadata_not_removable`.
   */
  async receive(
    source: AsyncIterable<Uint8Array>,
    maxBytes: number,
    announcedBytes: number | undefined,
  ): Promise<void> {
    const { db, limits, clock } = this.#core;
    if (limits.filesPerDay > 0 && !this.#isHashOnly)
      await checkDailyLimit(db, this.#userId, limits.filesPerDay, clock());
    if (this.#reservation && announcedBytes) await this.#reserve(this.#reservation, announcedBytes);
    for await (const chunk of this.#stripper ? this.#stripped(source, this.#stripper) : source) {
      this.#size += chunk.length;
      if (maxBytes > 0 && this.#size > maxBytes) throw fileTooLarge(maxBytes);
      if (this.#reservation) await this.#reserveStep(this.#reservation);
      this.#hash.update(chunk);
      if (this.#isHashOnly) continue;
      this.#crc32 = crc32(chunk, this.#crc32);
      this.#pictureSize.push(chunk);
      this.#utf8.push(chunk);
      if (this.#blob) {
        await this.#write(this.#blob, chunk);
        if (this.#intentRow && this.#core.clock() > this.#renewAt) await this.#renewIntent(this.#intentRow);
        continue;
      }
      this.#first.push(new Uint8Array(chunk));
      if (this.#size > this.#core.blobs.minFileBytes) await this.#moveToStore();
    }
    // Its place is free once the scanner has answered, whatever else the request still sends.
    if (this.#scan && !this.#scan.isLost) this.#scanned = this.#scan.end();
    this.#scanned?.catch(() => {});
    if (this.#reservation) await this.#reserveRest(this.#reservation);
  }

  /** The SHA-256 of all bytes that are kept. Nothing can be received after it. */
  sha256(): Uint8Array {
    this.#sha256 ??= this.#hash.digest();
    return this.#sha256;
  }

  /** The SHA-256 of all bytes as they came in, with their metadata. To be asked for once. */
  receivedSha256(): Uint8Array {
    return this.#receivedHash?.digest() ?? this.sha256();
  }

  /** Whether all bytes are UTF-8. */
  get isUtf8(): boolean {
    return this.#utf8.isUtf8;
  }

  /** The beginning of the file, for detecting its type. */
  head(): Uint8Array {
    return this.#head ?? this.#joined().subarray(0, SNIFF_BYTES);
  }

  /**
   * Makes the bytes durable, unless they are committed with the row, and returns what the scanner says of them. Throws
   * `unavailable` if it does not answer.
   */
  async store(): Promise<Verdict> {
    const { scanner, blobs } = this.#core;
    const early = this.#scanned && (await scanner!.judge(this.#scanned));
    if (typeof early !== "object") await this.#blob?.store();
    if (early || !scanner || this.#isHashOnly) return early ?? "clean";
    // A file in memory, or one for which the scanner or the client was too slow.
    const blob = this.#blob;
    return scanner.judgeWhole(this.#size, () =>
      blob ? blobs.read(blob.key, 0, this.#size - 1) : [this.#joined()],
    );
  }

  columns(id: string, now: number): FileColumns {
    const isInRow = !this.#blob && !this.#isHashOnly;
    return {
      fileSize: this.#size,
      sha256: this.sha256(),
      crc32: this.#crc32,
      blobKey: this.#blob?.key ?? id,
      bytes: isInRow ? this.#joined() : null,
      hasIntent: this.#intentRow !== undefined,
      reservation: this.#reservation && { ...this.#reservation, bytes: this.#size, now },
      filesPerDay: this.#core.limits.filesPerDay,
      pictureSize: this.#pictureSize.end(),
    };
  }

  /** Ends the upload after its row is committed. If the intent cannot be removed now, the sweep does it. */
  async settle(): Promise<void> {
    this.#isDone = true;
    await this.#blob?.settle().catch(() => {});
  }

  /**
   * Keeps bytes and intent although the commit failed, because the row may be durable all the same. The sweep of the next
   * start asks the database, which knows by then.
   */
  leaveToSweep(): void {
    this.#isDone = true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#scan?.[Symbol.dispose]();
    if (!this.#isDone) await this.#discard();
    await this.#blob?.close().catch(() => {});
    endUpload(this.#core, this.#userId);
  }

  /** Never rejects, since the caller must see the first error. The sweep removes what is left. */
  async #discard(): Promise<void> {
    const { db } = this.#core;
    try {
      await this.#blob?.discard();
      if (this.#intentRow) await db.write("dropIntent", { blobKey: this.#intentRow });
    } catch {}
    if (!this.#reservation?.bytes) return;
    const { userId, id } = this.#reservation;
    await db.write("releaseStorage", { userId, id }).catch(() => {});
  }

  async *#stripped(
    source: AsyncIterable<Uint8Array>,
    stripper: MetadataStripper,
  ): AsyncGenerator<Uint8Array> {
    for await (const chunk of source) {
      this.#receivedHash!.update(chunk);
      yield* stripper.push(chunk);
    }
    yield* stripper.end();
  }

  async #reserve(reservation: Omit<Reservation, "now">, bytes: number): Promise<void> {
    const now = this.#core.clock();
    const until = now + RESERVATION_MS;
    // Before the write: if its outcome is unknown, the reservation is released all the same.
    reservation.bytes = bytes;
    const refusal = await this.#core.db.write("reserveStorage", { ...reservation, now, until });
    if (refusal !== null) {
      // The refusal has dropped it.
      this.#reservation = null;
      throw new ParleyError("quota_exceeded", refusal);
    }
  }

  /**
   * Raises the reservation to what has come in, once that is a step ahead of it. Reserving only what is there lets uploads
   * of unknown length share the quota: one never holds room that it may not need. The commit checks files of less than a
   * step.
   */
  async #reserveStep(reservation: Omit<Reservation, "now">): Promise<void> {
    if (this.#size <= reservation.bytes + RESERVATION_STEP_BYTES && this.#size <= reservation.quota) return;
    await this.#reserve(reservation, this.#size);
  }

  /** A commit that finds no room would still hold the steps while others are refused because of them. */
  async #reserveRest(reservation: Omit<Reservation, "now">): Promise<void> {
    if (reservation.bytes === 0 || this.#size <= reservation.bytes) return;
    await this.#reserve(reservation, this.#size);
  }

  async #moveToStore(): Promise<void> {
    const { blobs, clock, db, scanner } = this.#core;
    const blobKey = newBlobKey(this.#core);
    if (!blobs.intents) {
      const now = clock();
      await db.write("createIntent", { blobKey, until: now + INTENT_MS });
      this.#intentRow = blobKey;
      this.#renewAt = now + RENEW_MS;
    }
    this.#blob = await blobs.create(blobKey);
    const first = this.#joined();
    this.#head = first.slice(0, SNIFF_BYTES);
    this.#first = [];
    this.#scan = scanner?.tryStart();
    await this.#write(this.#blob, first);
  }

  #write(blob: BlobWriter, chunk: Uint8Array): Promise<unknown> {
    const scan = this.#scan;
    if (!scan) return blob.write(chunk);
    if (this.#size <= this.#core.scanner!.settings.maxBytes)
      return Promise.all([blob.write(chunk), scan.write(chunk)]);
    scan[Symbol.dispose]();
    this.#scan = undefined;
    return blob.write(chunk);
  }

  /** In a buffer of its own, so that it passes to another thread alone. */
  #joined(): Uint8Array {
    if (this.#first.length > 1) this.#first = [new Uint8Array(Buffer.concat(this.#first))];
    return this.#first[0] ?? new Uint8Array(0);
  }

  /** Throws `unavailable` if the intent has expired. */
  async #renewIntent(blobKey: string): Promise<void> {
    const now = this.#core.clock();
    if (!(await this.#core.db.write("renewIntent", { blobKey, until: now + INTENT_MS })))
      throw new ParleyError("unavailable");
    this.#renewAt = now + RENEW_MS;
  }
}

export function fileTooLarge(maxBytes: number): ParleyError {
  return new ParleyError(
    "file_too_large",
    `A file can have at most ${exactSize(maxBytes)}. Nothing was stored.`,
    {
      param: "file",
    },
  );
}

/** Counts an upload under way, until `endUpload`. Throws `rate_limited` beyond the limit of this node. */
export function beginUpload({ limits, uploadsUnderWay }: Core, userId: string): void {
  const others = uploadsUnderWay.get(userId) ?? 0;
  if (others >= limits.uploadsPerUser) {
    throw new ParleyError(
      "rate_limited",
      `You have reached the limit of ${others} uploads at once. Retry when one of them has ended.`,
      { header: RETRY_AFTER_SECONDS },
    );
  }
  uploadsUnderWay.set(userId, others + 1);
}

export function endUpload({ uploadsUnderWay }: Core, userId: string): void {
  const left = uploadsUnderWay.get(userId)! - 1;
  if (left > 0) uploadsUnderWay.set(userId, left);
  else uploadsUnderWay.delete(userId);
}

/** Returns a random key for the blob store. */
export function newBlobKey({ random }: Core): string {
  const digits = new Uint8Array(16);
  random(digits);
  return Buffer.from(digits).toString("hex");
}
