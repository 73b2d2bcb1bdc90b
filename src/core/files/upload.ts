import type { BlobWriter } from "../../blobs/store.ts";
import type { NewFile } from "../../db/queries/storage/files.ts";
import type { Reservation } from "../../db/queries/storage/storage-used.ts";
import { ParleyError } from "../../errors.ts";
import { exactSize } from "../../util/sizes.ts";
import type { Caller } from "../node/caller.ts";
import type { Core } from "../node/core.ts";
import type { Verdict } from "../node/scanner.ts";
import { takeSlot } from "../node/user-slots.ts";
import { newEntry } from "../record/audit-trail.ts";
import { withCharset } from "./charset.ts";
import { FileFacts } from "./file-facts.ts";
import { checkType, detectType } from "./media-types.ts";

/** How long an intent is valid unless it is renewed. It allows for clocks of nodes that differ by a minute. */
export const INTENT_MS = 30 * 60_000;
/** By how many bytes an upload of unknown length may exceed its reservation. */
const RESERVATION_STEP_BYTES = 4 * 1024 * 1024;
/** When to retry an upload that exceeds the number of running uploads. */
const RETRY_AFTER_SECONDS = "1";

/** The parts of a reservation that its write checks. */
export type Room = Pick<Reservation, "bytes" | "quota" | "now">;

/**
 * Takes the bytes of a file, from one request or several, and describes the file for its commit. A subclass decides where to keep
 * the bytes, and what records them, so that a crash leaves no unknown bytes.
 */
export abstract class Upload implements AsyncDisposable {
  protected readonly core: Core;
  protected readonly userId: string;
  /** The id of its reservation, if there is a quota. */
  protected readonly id: string;
  /** The number of bytes that have arrived. */
  size = 0;
  /** Null if this process did not take all the bytes, or has forgotten the facts. Then the bytes are read again. */
  protected facts: FileFacts | null;
  protected blob: BlobWriter | undefined;
  /** The key of the row in `intents`, if the store keeps no intents itself and no other row names the blob. */
  protected intentRow: string | undefined;
  /** Set for a replay, which is only compared with the first request of its Idempotency-Key: its bytes are hashed and not kept. */
  protected isHashOnly = false;
  /** How many bytes of the user's quota are reserved. */
  protected reserved = 0;

  constructor(core: Core, userId: string, id: string, facts: FileFacts | null) {
    this.core = core;
    this.userId = userId;
    this.id = id;
    this.facts = facts;
  }

  protected abstract keepChunk(chunk: Uint8Array): Promise<void>;
  /** Writes the reservation. Returns the reason if it exceeds the quota; otherwise null. */
  protected abstract writeReservation(room: Room): Promise<string | null>;
  abstract [Symbol.asyncDispose](): Promise<void>;

  /** Takes a chunk, which need be valid only until this resolves. Throws `file_too_large` and `quota_exceeded`. */
  protected async take(chunk: Uint8Array): Promise<void> {
    const size = this.size + chunk.length;
    refuseTooLarge(this.core, size);
    const quota = this.core.limits.userQuotaBytes;
    // Reserve only what has arrived, so that uploads of unknown length do not hold quota that they may not need.
    if (quota > 0 && (size > this.reserved + RESERVATION_STEP_BYTES || size > quota))
      await this.reserve(size);
    this.size = size;
    this.facts?.push(chunk);
    if (!this.isHashOnly) await this.keepChunk(chunk);
  }

  /** Reserves quota for this many bytes. Throws `quota_exceeded`. */
  protected async reserve(bytes: number): Promise<void> {
    const quota = this.core.limits.userQuotaBytes;
    if (quota === 0 || this.isHashOnly || bytes <= this.reserved) return;
    // Set this before the write, so that the reservation is released even if the outcome of the write is unknown.
    this.reserved = bytes;
    const refusal = await this.writeReservation({ bytes, quota, now: this.core.clock() });
    if (refusal === null) return;
    // The refusal has dropped the reservation.
    this.reserved = 0;
    throw new ParleyError("quota_exceeded", refusal);
  }

  /**
   * Makes the bytes durable, unless they are committed with the row, and describes the file for its commit. Throws
   * `file_type_refused`, `file_infected`, and `unavailable` if the scanner does not answer.
   */
  protected async toFile(
    caller: Caller,
    filename: string,
    declaredType: string | undefined,
  ): Promise<NewFile> {
    const { core, size } = this;
    this.facts ??= await this.#readFacts();
    const { head, isUtf8, sha256, crc32, pictureSize } = this.facts;
    const type = await detectType(head, declaredType, filename);
    if (!this.isHashOnly) checkType(type, core.limits);
    const verdict = this.isHashOnly ? "clean" : await this.store();
    const id = core.newId("att");
    const entry = newEntry(core, caller);
    const { userQuotaBytes: quota, filesPerDay } = core.limits;
    const hasReservation = quota > 0 && !this.isHashOnly;
    if (typeof verdict === "object") await this.#refuse(verdict.found, { id, entry, filename, sha256 });
    return {
      id,
      uploaderId: this.userId,
      filename,
      fileType: withCharset(type, head, isUtf8, declaredType),
      fileSize: size,
      sha256,
      crc32,
      blobKey: this.blob?.key ?? id,
      bytes: this.blob ? null : this.bytes(),
      hasIntent: this.intentRow !== undefined,
      reservation: hasReservation
        ? { id: this.id, userId: this.userId, bytes: size, quota, now: entry.at }
        : null,
      filesPerDay,
      isUnscanned: verdict === "unscanned",
      pictureSize,
      createdAt: entry.at,
      entry,
    };
  }

  /** The bytes, if they are not in the store. */
  protected bytes(): Uint8Array {
    return new Uint8Array(0);
  }

  /** Makes the bytes in the store durable, and returns the scanner's verdict on all bytes. */
  protected async store(): Promise<Verdict> {
    await this.blob?.store();
    const read = () => (this.blob ? this.#read() : [this.bytes()]);
    return (await this.core.scanner?.judgeWhole(this.size, read)) ?? "clean";
  }

  #read(): Promise<AsyncIterable<Uint8Array>> {
    return this.core.blobs.read(this.blob!.key, 0, this.size - 1);
  }

  async #readFacts(): Promise<FileFacts> {
    const facts = new FileFacts();
    for await (const chunk of await this.#read()) facts.push(chunk);
    return facts;
  }

  /** Records the refusal, and throws `file_infected`. */
  async #refuse(
    found: string,
    { id, entry, filename, sha256 }: Pick<NewFile, "id" | "entry" | "filename" | "sha256">,
  ): Promise<never> {
    const details = { found, filename, sha256: Buffer.from(sha256).toString("hex") };
    await this.core.db.write("recordRefusedFile", { entry, attachmentId: id, details });
    const detail = `The virus scanner found ${found} in the file. Nothing was stored.`;
    throw new ParleyError("file_infected", detail, { param: "file" });
  }
}

/** Throws `file_too_large`. */
export function refuseTooLarge({ limits: { maxFileBytes } }: Core, size: number): void {
  if (maxFileBytes > 0 && size > maxFileBytes) throw fileTooLarge(maxFileBytes);
}

export function fileTooLarge(maxBytes: number): ParleyError {
  const detail = `A file can have at most ${exactSize(maxBytes)}. Nothing was stored.`;
  return new ParleyError("file_too_large", detail, { param: "file" });
}

/** Takes one of a user's slots for uploads on this node until it is disposed of. Throws `rate_limited` if none is left. */
export function takeUploadSlot({ limits, runningUploads }: Core, userId: string): Disposable {
  const slot = takeSlot(runningUploads, userId, limits.uploadsPerUser);
  if (slot) return slot;
  throw new ParleyError(
    "rate_limited",
    `You have reached the limit of ${limits.uploadsPerUser} uploads at once. Retry when one of them has ended.`,
    { header: RETRY_AFTER_SECONDS },
  );
}

/** Returns a random key for the blob store. */
export function newBlobKey({ random }: Core): string {
  const digits = new Uint8Array(16);
  random(digits);
  return Buffer.from(digits).toString("hex");
}
