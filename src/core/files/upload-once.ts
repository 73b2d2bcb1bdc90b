import { createHash, type Hash } from "node:crypto";
import type { BlobWriter } from "../../blobs/store.ts";
import type { WriteInput, WriteResult } from "../../db/database.ts";
import { findSentBefore, type SentBefore } from "../../db/queries/record/client-ids.ts";
import type { NewFile } from "../../db/queries/storage/files.ts";
import { checkDailyLimit } from "../../db/queries/storage/storage-used.ts";
import type { SingleName } from "../../db/writes.ts";
import { isUndone, ParleyError } from "../../errors.ts";
import type { Caller } from "../node/caller.ts";
import type { Core } from "../node/core.ts";
import type { Scan, Verdict } from "../node/scanner.ts";
import { isReplay, writeIdempotent } from "../record/idempotency.ts";
import { FileFacts } from "./file-facts.ts";
import { MetadataStripper } from "./picture-strip.ts";
import { INTENT_MS, newBlobKey, type Room, takeUploadSlot, Upload } from "./upload.ts";

const RENEW_MS = 10 * 60_000;
/** How long a reservation is valid. The quota of a longer upload is checked when it is committed. */
const RESERVATION_MS = 15 * 60_000;

/** The files that one request uploads. When it goes out of scope, files that were not committed are discarded. */
export class RequestUploads implements AsyncDisposable {
  readonly files: UploadOnce[] = [];
  /** Whether the key was used before. Then the result of the first request is returned, and nothing is stored. */
  readonly isReplay: boolean;
  readonly #core: Core;
  readonly #caller: Caller;
  readonly #key: string | undefined;
  #sentBefore: Promise<SentBefore | undefined> | undefined;

  private constructor(core: Core, caller: Caller, key: string | undefined, isReplay: boolean) {
    this.#core = core;
    this.#caller = caller;
    this.#key = key;
    this.isReplay = isReplay;
  }

  /** `key` is the Idempotency-Key. */
  static async begin(core: Core, caller: Caller, key: string | undefined): Promise<RequestUploads> {
    return new RequestUploads(core, caller, key, key !== undefined && (await isReplay(core, caller, key)));
  }

  /** Finds the message that the caller has sent with this client id. Looks only once, so that all files are treated alike. */
  findSentBefore(clientId: string): Promise<SentBefore | undefined> {
    const { db, clock } = this.#core;
    this.#sentBefore ??= findSentBefore(db, this.#caller.userId, clientId, clock());
    return this.#sentBefore;
  }

  /**
   * Starts a file. It is only compared if the request repeats an earlier one. Throws `rate_limited` if the user has reached the limit
   * of running uploads on this node.
   */
  add(isRepeat = false): UploadOnce {
    const upload = new UploadOnce(this.#core, this.#caller, this.isReplay || isRepeat);
    this.files.push(upload);
    return upload;
  }

  /** Runs the write that commits the files, or returns the stored result of the key's first request. */
  async commit<N extends SingleName>(
    asked: readonly unknown[],
    name: N,
    input: WriteInput<N>,
  ): Promise<{ result: WriteResult<N>; replayed: boolean }> {
    const request = { caller: this.#caller, key: this.#key, asked, replayOnly: this.isReplay };
    const done = await writeIdempotent(this.#core, request, name, input).catch((error) => {
      if (!isUndone(error)) for (const upload of this.files) upload.leaveToSweep();
      throw error;
    });
    if (!done.replayed) await Promise.all(this.files.map((upload) => upload.settle()));
    return done;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const upload of this.files) await upload[Symbol.asyncDispose]();
  }
}

/** A file as its request sends it. */
interface SentFile {
  filename: string;
  declaredType: string | undefined;
  /** Each chunk need be valid only until the next is requested. */
  bytes: AsyncIterable<Uint8Array>;
  /** The maximum number of bytes that can arrive, if that is known. */
  maxBytes: number | undefined;
  /** Whether to remove a picture's metadata. All stored facts are about the remaining bytes. */
  stripsMetadata: boolean;
}

/** A file that arrives in one request. A small one is kept in memory and committed with its row. */
export class UploadOnce extends Upload {
  readonly #caller: Caller;
  readonly #slot: Disposable;
  #sent: Pick<SentFile, "filename" | "declaredType"> | undefined;
  /** The hash of the bytes as they arrive, if the stored ones differ. */
  #receivedHash: Hash | undefined;
  /** The bytes, until there are too many for the database. */
  #first: Uint8Array[] = [];
  #renewAt = 0;
  /** A scan of a file in the store, while it arrives. */
  #scan: Scan | undefined;
  #scanned: Promise<string | null> | undefined;
  #isDone = false;

  constructor(core: Core, caller: Caller, isHashOnly: boolean) {
    super(core, caller.userId, core.limits.userQuotaBytes > 0 ? core.newId("att") : "", new FileFacts());
    this.#caller = caller;
    this.isHashOnly = isHashOnly;
    this.#slot = takeUploadSlot(core, caller.userId);
  }

  /**
   * Takes the bytes. Throws `daily_limit_reached` before the first, and `quota_exceeded` before it if the maximum that can arrive
   * exceeds the quota, otherwise when the bytes do. Throws `file_too_large` as soon as there are too many, and
   * `metadata_not_removable`.
   */
  async receive({ filename, declaredType, bytes, maxBytes = 0, stripsMetadata }: SentFile): Promise<void> {
    const { db, limits, clock } = this.core;
    this.#sent = { filename, declaredType };
    if (limits.filesPerDay > 0 && !this.isHashOnly)
      await checkDailyLimit(db, this.userId, limits.filesPerDay, clock());
    await this.reserve(maxBytes);
    for await (const chunk of stripsMetadata ? this.#strip(bytes) : bytes) await this.take(chunk);
    // End the scan now, so that its slot is free when the scanner has answered, even if the request has more to send.
    if (this.#scan && !this.#scan.isLost) this.#scanned = this.#scan.end();
    this.#scanned?.catch(() => {});
    // Reserve the rest now: a refusal here drops the reservation. A refused commit would keep it, and others be refused because of it.
    if (this.reserved > 0) await this.reserve(this.size);
  }

  async *#strip(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    const stripper = new MetadataStripper();
    this.#receivedHash = createHash("sha256");
    for await (const chunk of source) {
      this.#receivedHash.update(chunk);
      yield* stripper.push(chunk);
    }
    yield* stripper.end();
  }

  /** Returns the SHA-256 of all bytes as they arrived, including metadata. Call this only once. */
  receivedSha256(): Uint8Array {
    return this.#receivedHash?.digest() ?? this.facts!.sha256;
  }

  /** The facts by which the file is compared with that of an earlier request with the same Idempotency-Key or `client_id`. */
  get asked(): { filename: string; type: string | null; sha256: string } {
    const { filename, declaredType } = this.#sent!;
    const sha256 = Buffer.from(this.facts!.sha256).toString("hex");
    return { filename, type: declaredType ?? null, sha256 };
  }

  /** Makes the bytes durable, unless they are committed with the row. Throws what `toFile` throws. */
  finish(): Promise<NewFile> {
    const { filename, declaredType } = this.#sent!;
    return this.toFile(this.#caller, filename, declaredType);
  }

  protected async keepChunk(chunk: Uint8Array): Promise<void> {
    if (this.blob) {
      await this.#write(this.blob, chunk);
      if (this.intentRow && this.core.clock() > this.#renewAt) await this.#renewIntent(this.intentRow);
      return;
    }
    this.#first.push(new Uint8Array(chunk));
    if (this.size > this.core.blobs.minFileBytes) await this.#moveToStore();
  }

  protected writeReservation(room: Room): Promise<string | null> {
    const { id, userId } = this;
    return this.core.db.write("reserveStorage", { ...room, id, userId, until: room.now + RESERVATION_MS });
  }

  async #moveToStore(): Promise<void> {
    const { blobs, clock, db, scanner } = this.core;
    const blobKey = newBlobKey(this.core);
    if (!blobs.intents) {
      const now = clock();
      await db.write("createIntent", { blobKey, until: now + INTENT_MS });
      this.intentRow = blobKey;
      this.#renewAt = now + RENEW_MS;
    }
    this.blob = await blobs.create(blobKey);
    this.#scan = scanner?.tryStart();
    await this.#write(this.blob, this.bytes());
    this.#first = [];
  }

  #write(blob: BlobWriter, chunk: Uint8Array): Promise<unknown> {
    const scan = this.#scan;
    if (!scan) return blob.write(chunk);
    if (this.size <= this.core.scanner!.settings.maxBytes)
      return Promise.all([blob.write(chunk), scan.write(chunk)]);
    scan[Symbol.dispose]();
    this.#scan = undefined;
    return blob.write(chunk);
  }

  /** Renews the intent. Throws `unavailable` if it has expired. */
  async #renewIntent(blobKey: string): Promise<void> {
    const now = this.core.clock();
    if (!(await this.core.db.write("renewIntent", { blobKey, until: now + INTENT_MS })))
      throw new ParleyError("unavailable");
    this.#renewAt = now + RENEW_MS;
  }

  /** Returns the bytes in a separate buffer, so that no other memory is passed to the writer thread. */
  protected override bytes(): Uint8Array {
    if (this.#first.length > 1) this.#first = [new Uint8Array(Buffer.concat(this.#first))];
    return this.#first[0] ?? new Uint8Array(0);
  }

  protected override async store(): Promise<Verdict> {
    const early = this.#scanned && (await this.core.scanner!.judge(this.#scanned));
    // The file is in memory, or the scanner or the client was too slow.
    if (!early) return super.store();
    if (typeof early !== "object") await this.blob!.store();
    return early;
  }

  /** Ends the upload after its row is committed. If the intent cannot be removed now, the sweep does it. */
  async settle(): Promise<void> {
    this.#isDone = true;
    await this.blob?.settle().catch(() => {});
  }

  /**
   * Keeps bytes and intent although the commit failed, because the row may be durable anyway. The sweep at the next start checks
   * the database, which knows the outcome by then.
   */
  leaveToSweep(): void {
    this.#isDone = true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#scan?.[Symbol.dispose]();
    if (!this.#isDone) await this.#discard();
    await this.blob?.close().catch(() => {});
    this.#slot[Symbol.dispose]();
  }

  /** Discards the bytes. Never rejects, because the caller must see the first error. The sweep removes the rest. */
  async #discard(): Promise<void> {
    const { db } = this.core;
    try {
      await this.blob?.discard();
      if (this.intentRow) await db.write("dropIntent", { blobKey: this.intentRow });
    } catch {}
    const { userId, id } = this;
    if (this.reserved > 0) await db.write("releaseStorage", { userId, id }).catch(() => {});
  }
}
