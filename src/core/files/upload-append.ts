import { createHash } from "node:crypto";
import type { BlobWriter } from "../../blobs/store.ts";
import type { UploadRow } from "../../db/queries/files/upload-resumable.ts";
import { type ErrorCode, isUndone, ParleyError } from "../../errors.ts";
import type { Caller } from "../node/caller.ts";
import type { Core } from "../node/core.ts";
import { toNewAttachment } from "./attachments.ts";
import { FileFacts } from "./file-facts.ts";
import { INTENT_MS, newBlobKey, type Room, Upload } from "./upload.ts";

/** How many bytes come in before they are made durable and recorded, while a request continues. */
const CHECKPOINT_BYTES = 8 * 1024 * 1024;
const HOUR_MS = 3600 * 1000;

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
 * What one request adds to a file that comes in with several. Nothing is acknowledged that the row of the upload does not record,
 * and the row records only what is durable.
 */
export class ResumableUpload extends Upload {
  #row: UploadRow;
  /** Whether another process had the upload before. */
  readonly #isTaken: boolean;
  /** Whether no request to the store can have failed. */
  #isSound = true;

  /** `facts`: of the bytes that this process took. */
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
    // The store of this machine has no other process.
    if (known || core.blobs.intents !== null) {
      core.resumables.add(row.id, row.holder, facts);
      return new ResumableUpload(core, row, facts);
    }
    const newHolder = newBlobKey(core);
    // The process before may still send the whole, if it has sent no part.
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

  /** Records what the store says of the parts: another process may have sent or stored some, and have ended before that was recorded. */
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

  /** Whether all bytes have come in. */
  get isWhole(): boolean {
    return this.size === this.#row.length;
  }

  /**
   * Sets the length, once. Throws `upload_length_mismatch`, `file_too_large` and `quota_exceeded`. `isRecorded`: at once, and not
   * only with bytes that are kept.
   */
  async declareLength(length: number, isRecorded: boolean): Promise<void> {
    if (this.#row.length === length) return;
    if (this.#row.length !== null || length < this.size) throw new ParleyError("upload_length_mismatch");
    await this.makeRoom(length);
    this.#row = { ...this.#row, length };
    if (isRecorded) await this.#record(this.#row.received, this.#row.parts, this.#row.tail_key);
  }

  /** Makes room for a part before it comes, while the length of the file is not known. Throws `file_too_large` and `quota_exceeded`. */
  async makeRoom(size: number): Promise<void> {
    this.refuseTooLarge(size);
    await this.reserve(size);
  }

  protected writeReservation(room: Room): Promise<string | null> {
    return this.core.db.write("reserveForUpload", { ...room, row: this.#row });
  }

  /**
   * Takes bytes; each chunk need be valid only until the next is requested. If the body ends early, keeps what has come in and
   * throws, unless there is a checksum: then nothing is kept. Throws what `declareLength` throws as soon as the bytes are too
   * many.
   */
  async receive(source: AsyncIterable<Uint8Array>, checksum: Checksum | undefined): Promise<void> {
    const check = checksum && createHash(checksum.algorithm);
    let checkedUntil = this.size;
    try {
      for await (const chunk of source) {
        await this.take(chunk);
        check?.update(chunk);
        const parts = check ? this.blob!.partsBefore : this.blob!.parts;
        // Each part that is sent: a process that takes the upload over skips only one that is not recorded.
        if (parts === this.#row.parts && this.size - checkedUntil < CHECKPOINT_BYTES) continue;
        checkedUntil = this.size;
        if (check) await this.#record(this.#row.received, parts, this.#row.tail_key);
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
    const { parts } = this.blob!;
    const { received } = this.#row;
    if (durable < received || (durable === received && parts === this.#row.parts)) return;
    await this.reserve(durable);
    await this.#record(durable, parts, null);
  }

  /** Makes everything durable that has come in, and records it. */
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

  /** Stores bytes that are less than a part as a blob of their own, and returns its key. */
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
    // It would be there again after it was removed. Its intent removes it when nothing is on its way any more.
    if (tail.isUnsure) throw new ParleyError("unavailable");
    return key;
  }

  /** Records how far the upload has come, or only that this process still continues it. */
  async #record(received: number, parts: string | null, tailKey: string | null): Promise<void> {
    const row = this.#row;
    const { length } = row;
    const [now, expiresAt] = [this.core.clock(), expiryOf(this.core)];
    const input = { row, received, length, parts, tailKey, now, expiresAt };
    if (!(await this.core.db.write("advanceUpload", input))) throw new ParleyError("upload_not_found");
    this.#row = { ...row, received, parts, tail_key: tailKey, expires_at: expiresAt };
  }

  /** Checks and commits the file of an upload that is whole. If that is refused, the upload stays, and can be finished later. */
  async finish(caller: Caller): Promise<Finished> {
    const { db, newId, previews } = this.core;
    if (this.size > 0) await (await this.#open()).store();
    else {
      // Parts of a refused body may be left. An empty file is in its row.
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

  /** After an error the store may still be at work, so the next request takes the upload over as another process would. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isSound) this.core.resumables.forget(this.#row.id);
    await this.blob?.close().catch(() => {});
  }
}
