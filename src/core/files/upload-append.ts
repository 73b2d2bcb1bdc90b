import { createHash, type Hash } from "node:crypto";
import { crc32 } from "node:zlib";
import type { BlobWriter } from "../../blobs/store.ts";
import type { UploadRow } from "../../db/queries/files/upload-resumable.ts";
import type { NewFile } from "../../db/queries/storage/files.ts";
import { type ErrorCode, isUndone, ParleyError } from "../../errors.ts";
import { Utf8Check } from "../../util/utf8.ts";
import type { Caller } from "../node/caller.ts";
import type { Core } from "../node/core.ts";
import type { Progress } from "../node/resumables.ts";
import { newEntry } from "../record/audit-trail.ts";
import { toNewAttachment } from "./attachments.ts";
import { withCharset } from "./charset.ts";
import { checkType, detectType, SNIFF_BYTES } from "./media-types.ts";
import { type PictureSize, PictureSizeReader } from "./picture-size.ts";
import { fileTooLarge, INTENT_MS, newBlobKey, RESERVATION_STEP_BYTES } from "./upload-once.ts";
import { checkVerdict } from "./upload-received.ts";

/** How many bytes come in before they are made durable and recorded, while a request continues. */
const CHECKPOINT_BYTES = 8 * 1024 * 1024;
const HOUR_MS = 3600 * 1000;
/** How far into a picture its size is looked for. */
const PICTURE_HEADER_BYTES = 4 * 1024 * 1024;

/** Errors of a body that ended early: what has come in of it is kept. */
const INTERRUPTED: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["malformed_body", "request_timeout"]);

/** The checksum of a body. */
export interface Checksum {
  algorithm: string;
  expected: Uint8Array;
  /** The error if it is another. */
  mismatch: ErrorCode;
}

/** What `finish` has committed. */
export type Finished = ReturnType<typeof toNewAttachment>;

export function expiryOf({ clock, limits }: Core): number {
  return clock() + limits.uploadHours * HOUR_MS;
}

/**
 * Owns what a request to a resumable upload holds: the growing blob, the hash and the place of the upload's row. Nothing is
 * acknowledged that its row does not record, and the row records only what is durable.
 */
export class Appender implements AsyncDisposable {
  readonly #core: Core;
  readonly #caller: Caller;
  #row: UploadRow;
  readonly #progress: Progress;
  /** Whether another process had the upload before. */
  readonly #isTaken: boolean;
  #blob: BlobWriter | undefined;
  #hash: Hash;
  #crc32: number;
  #utf8: Utf8Check;
  /** Bytes, with those that are not recorded. */
  #size: number;
  #isHashed: boolean;
  /** Whether no request to the store can have failed. */
  #isSound = true;

  private constructor(
    core: Core,
    caller: Caller,
    row: UploadRow,
    progress: Progress,
    { isTaken }: { isTaken: boolean },
  ) {
    this.#core = core;
    this.#caller = caller;
    this.#row = row;
    this.#progress = progress;
    this.#isTaken = isTaken;
    this.#size = row.received;
    this.#isHashed = progress.size === row.received;
    this.#hash = progress.hash.copy();
    this.#crc32 = progress.crc32;
    this.#utf8 = progress.utf8.copy();
  }

  /** Continues an upload of which this is the only request in this process; takes it over from another process. */
  static async open(core: Core, caller: Caller, row: UploadRow): Promise<Appender> {
    const known = core.resumables.find(row.id, row.holder);
    if (known) return new Appender(core, caller, row, known, { isTaken: false });
    // The store of this machine has no other process.
    if (core.blobs.intents !== null)
      return new Appender(core, caller, row, core.resumables.add(row.id, row.holder), { isTaken: false });
    const newHolder = newBlobKey(core);
    // The process before may still send the whole, if it has sent no part.
    const blobKey = row.parts === null ? newBlobKey(core) : row.blob_key;
    const input = { row, newHolder, newBlobKey: blobKey, until: core.clock() + INTENT_MS };
    if (!(await core.db.write("takeUpload", input))) throw new ParleyError("unavailable");
    const progress = core.resumables.add(row.id, newHolder);
    const own = { ...row, holder: newHolder, blob_key: blobKey };
    const taken = new Appender(core, caller, own, progress, { isTaken: true });
    try {
      if (row.parts !== null) await taken.#takeParts();
      return taken;
    } catch (error) {
      await taken[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Records what the store says of the parts: another process may have sent or stored some, and have ended before that was recorded. */
  async #takeParts(): Promise<void> {
    const { size, parts } = await this.#open();
    if (size > this.#row.received) {
      this.#size = size;
      this.#isHashed = false;
      await this.#advance(size, null);
    } else if (parts !== this.#row.parts) await this.#write(this.#row.received, parts, this.#row.tail_key);
  }

  /** Bytes, with those that are not recorded. */
  get size(): number {
    return this.#size;
  }

  get row(): UploadRow {
    return this.#row;
  }

  /** Whether all bytes have come in. */
  get isWhole(): boolean {
    return this.#size === this.#row.length;
  }

  /**
   * Sets the length, once. Throws `upload_length_mismatch`, `file_too_large` and `quota_exceeded`. `isRecorded`: at once, and not
   * only with bytes that are kept.
   */
  async declareLength(length: number, isRecorded: boolean): Promise<void> {
    if (this.#row.length === length) return;
    if (this.#row.length !== null || length < this.#size) throw new ParleyError("upload_length_mismatch");
    this.#refuseTooLarge(length);
    await this.#reserve(length);
    this.#row = { ...this.#row, length };
    if (isRecorded) await this.#advance(this.#row.received, this.#row.tail_key);
  }

  /** Makes room for a part before it comes, while the length of the file is not known. Throws `file_too_large` and `quota_exceeded`. */
  async makeRoom(size: number): Promise<void> {
    this.#refuseTooLarge(size);
    await this.#reserve(size);
  }

  #refuseTooLarge(size: number): void {
    const { maxFileBytes } = this.#core.limits;
    if (maxFileBytes > 0 && size > maxFileBytes) throw fileTooLarge(maxFileBytes);
  }

  /**
   * Takes bytes; each chunk need be valid only until the next is requested. If the body ends early, keeps what has come in and
   * throws, unless there is a checksum: then nothing is kept. Throws what `declareLength` throws as soon as the bytes are too
   * many.
   */
  async receive(source: AsyncIterable<Uint8Array>, checksum: Checksum | undefined): Promise<void> {
    const check = checksum && createHash(checksum.algorithm);
    let checkedUntil = this.#size;
    try {
      for await (const chunk of source) {
        await this.#take(chunk);
        check?.update(chunk);
        if (this.#size - (check ? checkedUntil : this.#row.received) < CHECKPOINT_BYTES) continue;
        if (check) await this.#renew();
        else await this.#checkpoint();
        checkedUntil = this.#size;
      }
    } catch (error) {
      if (error instanceof ParleyError && INTERRUPTED.has(error.code) && !check) await this.keep();
      throw error;
    }
    if (check && !check.digest().equals(checksum!.expected)) throw new ParleyError(checksum!.mismatch);
  }

  async #take(chunk: Uint8Array): Promise<void> {
    const { length } = this.#row;
    const size = this.#size + chunk.length;
    if (length !== null && size > length) throw new ParleyError("upload_length_mismatch");
    this.#refuseTooLarge(size);
    if (length === null) await this.#reserveStep(size);
    const blob = await this.#open();
    this.#size = size;
    this.#hash.update(chunk);
    this.#crc32 = crc32(chunk, this.#crc32);
    this.#utf8.push(chunk);
    await blob.write(chunk);
  }

  /** Opens the blob with all bytes that are durable. */
  async #open(): Promise<BlobWriter> {
    if (this.#blob) return this.#blob;
    this.#isSound = false;
    const { blobs } = this.#core;
    const { blob_key, received, parts, tail_key } = this.#row;
    const blob = await blobs.resume(blob_key, { size: received, parts, isTaken: this.#isTaken });
    this.#blob = blob;
    if (tail_key !== null && blob.size < received) {
      for await (const chunk of await blobs.read(tail_key, 0, received - blob.size - 1))
        await blob.write(chunk);
    }
    return blob;
  }

  /** How much room is reserved while the length is not known. */
  #reserved = 0;

  async #reserveStep(size: number): Promise<void> {
    if (size <= Math.max(this.#reserved, this.#row.received)) return;
    await this.#reserve(size + RESERVATION_STEP_BYTES, size);
  }

  /** Reserves room; if there is less, `least` at least. Throws `quota_exceeded`. */
  async #reserve(bytes: number, least = bytes): Promise<void> {
    const { db, clock, limits } = this.#core;
    const quota = limits.userQuotaBytes;
    if (quota === 0) return;
    const reservation = { row: this.#row, quota, now: clock() };
    let reserved = bytes;
    let refusal = await db.write("reserveForUpload", { ...reservation, bytes });
    if (refusal !== null && least < bytes) {
      reserved = least;
      refusal = await db.write("reserveForUpload", { ...reservation, bytes: least });
    }
    if (refusal !== null) throw new ParleyError("quota_exceeded", refusal);
    this.#reserved = reserved;
  }

  async #checkpoint(): Promise<void> {
    const durable = await this.#blob!.sync();
    if (durable > this.#row.received) await this.#advance(durable, null);
  }

  /** Records nothing, but that this process still continues the upload. */
  async #renew(): Promise<void> {
    await this.#write(this.#row.received, this.#blob!.partsBefore, this.#row.tail_key);
  }

  /** Makes everything durable that has come in, and records it. */
  async keep(): Promise<void> {
    if (this.#blob && this.#size > this.#row.received) {
      await this.#blob.sync();
      const rest = this.#blob.rest();
      await this.#advance(this.#size, rest.length > 0 ? await this.#storeTail(rest) : null);
    }
    this.#isSound = true;
  }

  /** Stores bytes that are less than a part as a blob of their own, and returns its key. */
  async #storeTail(bytes: Uint8Array): Promise<string> {
    const { blobs, clock, db } = this.#core;
    const key = newBlobKey(this.#core);
    await db.write("createIntent", { blobKey: key, until: clock() + INTENT_MS });
    const tail = await blobs.create(key);
    await tail.write(bytes);
    await tail.store();
    // It would be there again after it was removed. Its intent removes it when nothing is on its way any more.
    if (tail.isUnsure) throw new ParleyError("unavailable");
    return key;
  }

  async #advance(received: number, tailKey: string | null): Promise<void> {
    await this.#write(received, this.#blob ? this.#blob.parts : this.#row.parts, tailKey);
    if (received !== this.#size || !this.#isHashed) return;
    const [hash, utf8] = [this.#hash.copy(), this.#utf8.copy()];
    Object.assign(this.#progress, { hash, crc32: this.#crc32, utf8, size: received });
  }

  async #write(received: number, parts: string | null, tailKey: string | null): Promise<void> {
    const row = this.#row;
    const { length } = row;
    const [now, expiresAt] = [this.#core.clock(), expiryOf(this.#core)];
    const input = { row, received, length, parts, tailKey, now, expiresAt };
    if (!(await this.#core.db.write("advanceUpload", input))) throw new ParleyError("upload_not_found");
    this.#row = { ...row, received, parts, tail_key: tailKey, expires_at: expiresAt };
  }

  /** Checks and commits the file of an upload that is whole. If that is refused, the upload stays, and can be finished later. */
  async finish(): Promise<Finished> {
    const { db } = this.#core;
    if (this.#size > 0) await (await this.#open()).store();
    const { conversation_id, message_id } = this.#row;
    try {
      const file = await this.#describe();
      const committed = await db.write("finishUpload", {
        row: this.#row,
        file,
        target: { conversationId: conversation_id ?? undefined, messageId: message_id ?? undefined },
        newMessageId: this.#core.newId("msg"),
        now: file.createdAt,
      });
      const row = toNewAttachment(file, committed.message_id);
      this.#core.previews?.prepare(row);
      return row;
    } catch (error) {
      if (isUndone(error) && this.#blob) await this.#advance(this.#size, null);
      throw error;
    }
  }

  async #describe(): Promise<NewFile> {
    const { id: uploadId, blob_key, user_id: userId, declared_type } = this.#row;
    const filename = this.#row.filename!;
    const size = this.#size;
    const { sha256, crc32, isUtf8 } = this.#isHashed
      ? { sha256: this.#hash.copy().digest(), crc32: this.#crc32, isUtf8: this.#utf8.isUtf8 }
      : await this.#hashAgain();
    const { blobs, limits, scanner } = this.#core;
    const head = await this.#head();
    const declared = declared_type ?? undefined;
    const type = await detectType(head, declared, filename);
    checkType(type, limits);
    // Of the stored bytes, since a scan cannot wait for the next request.
    const read = () => blobs.read(blob_key, 0, size - 1);
    const verdict = (await scanner?.judgeWhole(size, read)) ?? "clean";
    const id = this.#core.newId("att");
    const entry = newEntry(this.#core, this.#caller);
    const isUnscanned = await checkVerdict(this.#core, verdict, { id, entry, filename, sha256 });
    const quota = limits.userQuotaBytes;
    return {
      id,
      uploaderId: userId,
      filename,
      fileType: withCharset(type, head, isUtf8, declared),
      fileSize: size,
      sha256,
      crc32,
      // An empty file has no blob.
      blobKey: size === 0 ? id : blob_key,
      bytes: size === 0 ? new Uint8Array(0) : null,
      hasIntent: false,
      reservation: quota > 0 ? { id: uploadId, userId, bytes: size, quota, now: entry.at } : null,
      filesPerDay: limits.filesPerDay,
      isUnscanned,
      pictureSize: await this.#pictureSize(),
      createdAt: entry.at,
      entry,
    };
  }

  async #pictureSize(): Promise<PictureSize | null> {
    const reader = new PictureSizeReader();
    const end = Math.min(this.#size, PICTURE_HEADER_BYTES) - 1;
    if (end < 0) return null;
    for await (const chunk of await this.#core.blobs.read(this.#row.blob_key, 0, end)) {
      reader.push(chunk);
      if (reader.size !== undefined) break;
    }
    return reader.end();
  }

  async #head(): Promise<Uint8Array> {
    const end = Math.min(this.#size, SNIFF_BYTES) - 1;
    if (end < 0) return new Uint8Array(0);
    const chunks: Uint8Array[] = [];
    for await (const chunk of await this.#core.blobs.read(this.#row.blob_key, 0, end))
      chunks.push(new Uint8Array(chunk));
    return Buffer.concat(chunks);
  }

  /** Some of the bytes came in through another process. */
  async #hashAgain(): Promise<{ sha256: Uint8Array; crc32: number; isUtf8: boolean }> {
    const hash = createHash("sha256");
    const utf8 = new Utf8Check();
    let sum = 0;
    for await (const chunk of await this.#core.blobs.read(this.#row.blob_key, 0, this.#size - 1)) {
      hash.update(chunk);
      sum = crc32(chunk, sum);
      utf8.push(chunk);
    }
    return { sha256: hash.digest(), crc32: sum, isUtf8: utf8.isUtf8 };
  }

  /** After an error the store may still be at work, so the next request takes the upload over as another process would. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isSound) this.#core.resumables.forget(this.#row.id);
    await this.#blob?.close().catch(() => {});
  }
}
