import { createHash } from "node:crypto";
import type { BlobWriter } from "../../blobs/store.ts";
import type { UploadRow } from "../../db/queries/files/upload-resumable.ts";
import { type ErrorCode, isUndone, ParleyError } from "../../errors.ts";
import type { Caller } from "../node/caller.ts";
import type { Core } from "../node/core.ts";
import { toNewAttachment } from "./attachments.ts";
import { FileFacts } from "./file-facts.ts";
import { INTENT_MS, newBlobKey, type Room, refuseTooLarge, Upload } from "./upload.ts";

/**
 * Bytes are made durable and recorded whenever a file grows beyond a multiple of this. It is the size of the parts in S3: a process
 * that takes an upload over skips one part, so no more may be sent and not recorded.
 */
const CHECKPOINT_BYTES = 8 * 1024 * 1024;
const HOUR_MS = 3600 * 1000;

/** Errors of a body that ended early. The bytes that have arrived are kept. */
const INTERRUPTED: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["malformed_body", "request_timeout"]);

/** The checksum of a body. */
export interface Checksum {
  algorithm: string;
  expected: Uint8Array;
  /** The error if the checksum does not match. */
  mismatch: ErrorCode;
}

/** The attachment that `finish` has committed. */
export type Finished = ReturnType<typeof toNewAttachment>;

/** Returns how many multiples of `CHECKPOINT_BYTES` a size is beyond. */
function checkpointsIn(size: number): number {
  return Math.max(0, Math.ceil(size / CHECKPOINT_BYTES) - 1);
}

export function expiryOf({ clock, limits }: Core): number {
  return clock() + limits.uploadHours * HOUR_MS;
}

/**
 * Adds the bytes of one request to a file that arrives in several. Only bytes that the row of the upload records are acknowledged,
 * and the row records only durable bytes.
 */
export class ResumableUpload extends Upload {
  #row: UploadRow;
  /** Whether another process had the upload before. */
  readonly #isTaken: boolean;
  /** False if a request to the store may have failed. */
  #isSound = true;

  /** `facts` are about the bytes that this process took. */
  private constructor(core: Core, row: UploadRow, facts: FileFacts, isTaken = false) {
    super(core, row.user_id, row.id, facts.size === row.received ? facts : null);
    this.#row = row;
    this.#isTaken = isTaken;
    this.size = row.received;
    this.reserved = row.length ?? row.received;
  }

  /** Continues an upload of which this is the only request in this process; takes it over from another process. */
  static async open(core: Core, row: UploadRow): Promise<ResumableUpload> {
    const known = core.resumables.find(row.id, row.holder) as FileFacts | undefined;
    const facts = known ?? new FileFacts();
    // A store on this machine is used only by this process.
    if (known || core.blobs.intents !== null) {
      core.resumables.add(row.id, row.holder, facts);
      return new ResumableUpload(core, row, facts);
    }
    const newHolder = newBlobKey(core);
    // If the previous process has sent no part, it may still send the whole file.
    const blobKey = row.parts === null ? newBlobKey(core) : row.blob_key;
    const input = { row, newHolder, newBlobKey: blobKey, until: core.clock() + INTENT_MS };
    if (!(await core.db.write("takeUpload", input))) throw new ParleyError("unavailable");
    core.resumables.add(row.id, newHolder, facts);
    const taken = new ResumableUpload(core, { ...row, holder: newHolder, blob_key: blobKey }, facts, true);
    try {
      if (row.parts !== null) await taken.#takeParts();
      return taken;
    } catch (error) {
      await taken[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Records the parts in the store: another process may have sent or stored some, and then died before recording them. */
  async #takeParts(): Promise<void> {
    const { size, parts } = await this.#open();
    const { received, parts: recorded, tail_key } = this.#row;
    if (size > received) {
      this.size = size;
      this.facts = null;
      await this.#record(size, parts, null);
    } else if (parts !== recorded) await this.#record(received, parts, tail_key);
  }

  get row(): UploadRow {
    return this.#row;
  }

  /** Whether all bytes have arrived. */
  get isWhole(): boolean {
    return this.size === this.#row.length;
  }

  /**
   * Sets the length, once. Throws `upload_length_mismatch`, `file_too_large` and `quota_exceeded`. `isRecorded` means to record it
   * at once, and not only with the next bytes.
   */
  async declareLength(length: number, isRecorded: boolean): Promise<void> {
    if (this.#row.length === length) return;
    if (this.#row.length !== null || length < this.size) throw new ParleyError("upload_length_mismatch");
    await this.makeRoom(length);
    this.#row = { ...this.#row, length };
    if (isRecorded) await this.#record(this.#row.received, this.#row.parts, this.#row.tail_key);
  }

  /** Reserves quota for a part before it arrives, if the file's length is unknown. Throws `file_too_large` and `quota_exceeded`. */
  async makeRoom(size: number): Promise<void> {
    refuseTooLarge(this.core, size);
    await this.reserve(size);
  }

  protected writeReservation(room: Room): Promise<string | null> {
    return this.core.db.write("reserveForUpload", { ...room, row: this.#row });
  }

  /**
   * Takes bytes; each chunk need be valid only until the next is requested. If the body ends early, keeps the bytes that have
   * arrived and throws; with a checksum nothing is kept. Throws what `declareLength` throws as soon as there are too many bytes.
   */
  async receive(source: AsyncIterable<Uint8Array>, checksum: Checksum | undefined): Promise<void> {
    const check = checksum && createHash(checksum.algorithm);
    try {
      for await (const chunk of source) {
        const passed = checkpointsIn(this.size);
        await this.take(chunk);
        check?.update(chunk);
        if (checkpointsIn(this.size) === passed) continue;
        if (check) await this.#record(this.#row.received, this.blob!.partsBefore, this.#row.tail_key);
        else await this.#checkpoint();
      }
    } catch (error) {
      if (error instanceof ParleyError && INTERRUPTED.has(error.code) && !check) await this.keep();
      throw error;
    }
    if (check && !check.digest().equals(checksum!.expected)) throw new ParleyError(checksum!.mismatch);
  }

  protected override async take(chunk: Uint8Array): Promise<void> {
    const { length } = this.#row;
    if (length !== null && this.size + chunk.length > length) throw new ParleyError("upload_length_mismatch");
    await super.take(chunk);
  }

  protected async keepChunk(chunk: Uint8Array): Promise<void> {
    await (await this.#open()).write(chunk);
  }

  /** Opens the blob with all bytes that are durable. */
  async #open(): Promise<BlobWriter> {
    if (this.blob) return this.blob;
    this.#isSound = false;
    const { blobs } = this.core;
    const { blob_key, received, parts, tail_key } = this.#row;
    const blob = await blobs.resume(blob_key, { size: received, parts, isTaken: this.#isTaken });
    this.blob = blob;
    if (tail_key !== null && blob.size < received) {
      for await (const chunk of await blobs.read(tail_key, 0, received - blob.size - 1))
        await blob.write(chunk);
    }
    return blob;
  }

  async #checkpoint(): Promise<void> {
    const durable = await this.blob!.sync();
    if (durable <= this.#row.received) return;
    await this.reserve(durable);
    await this.#record(durable, this.blob!.parts, null);
  }

  /** Makes all bytes that have arrived durable, and records them. */
  async keep(): Promise<void> {
    if (this.blob && this.size > this.#row.received) {
      await this.reserve(this.size);
      await this.blob.sync();
      const rest = this.blob.rest();
      const tailKey = rest.length > 0 ? await this.#storeTail(rest) : null;
      await this.#record(this.size, this.blob.parts, tailKey);
    }
    this.#isSound = true;
  }

  /** Stores bytes that are less than a part as a separate blob, and returns its key. */
  async #storeTail(bytes: Uint8Array): Promise<string> {
    const { blobs, clock, db } = this.core;
    const key = newBlobKey(this.core);
    await db.write("createIntent", { blobKey: key, until: clock() + INTENT_MS });
    const tail = await blobs.create(key);
    try {
      await tail.write(bytes);
      await tail.store();
    } finally {
      await tail.close();
    }
    // A late request could create it again after it was removed. When its intent expires, the eraser removes it.
    if (tail.isUnsure) throw new ParleyError("unavailable");
    return key;
  }

  /** Records the new offset of the upload, or only that this process still continues it. */
  async #record(received: number, parts: string | null, tailKey: string | null): Promise<void> {
    const row = this.#row;
    const { length } = row;
    const [now, expiresAt] = [this.core.clock(), expiryOf(this.core)];
    const input = { row, received, length, parts, tailKey, now, expiresAt };
    if (!(await this.core.db.write("advanceUpload", input))) throw new ParleyError("upload_not_found");
    this.#row = { ...row, received, parts, tail_key: tailKey, expires_at: expiresAt };
  }

  /** Checks and commits the file of a whole upload. If that is refused, the upload stays, and can be finished later. */
  async finish(caller: Caller): Promise<Finished> {
    const { db, newId, previews } = this.core;
    if (this.size > 0) await (await this.#open()).store();
    else {
      // The bytes of a refused body may be left. An empty file is in its row.
      await this.blob?.close();
      this.blob = undefined;
    }
    const { filename, declared_type, conversation_id, message_id } = this.#row;
    try {
      const file = await this.toFile(caller, filename!, declared_type ?? undefined);
      const committed = await db.write("finishUpload", {
        row: this.#row,
        file,
        target: { conversationId: conversation_id ?? undefined, messageId: message_id ?? undefined },
        newMessageId: newId("msg"),
        now: file.createdAt,
      });
      const row = toNewAttachment(file, committed.message_id);
      previews?.prepare(row);
      return row;
    } catch (error) {
      if (isUndone(error) && this.blob) await this.#record(this.size, this.blob.parts, null);
      throw error;
    }
  }

  /** After an error a request to the store may still be running, so the next request takes over as another process would. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isSound) this.core.resumables.forget(this.#row.id);
    await this.blob?.close().catch(() => {});
  }
}
