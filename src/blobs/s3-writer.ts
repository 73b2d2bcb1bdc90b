import type { CompletedPart } from "@aws-sdk/client-s3";
import { ParleyError } from "../errors.ts";
import { exactSize } from "../util/sizes.ts";
import {
  type Bucket,
  COMPLETE_TIMEOUT_MS,
  orMissing,
  type Request,
  type S3Object,
  sendTimeout,
  unavailable,
} from "./s3-bucket.ts";
import type { BlobWriter, Grown } from "./store.ts";

/**
 * A larger file is sent in parts of this size, each from the writer's buffer. `CHECKPOINT_BYTES` of `core/files/upload-append.ts` is
 * the same: each part must be recorded.
 */
const PART_BYTES = 8 * 1024 * 1024;
/** The maximum of S3. 10,000 parts of 8 MiB are 78 GiB. */
const MAX_PARTS = 10_000;
/** Bounds the buffers of all writers together. A file that would exceed it is refused. */
const MAX_BUFFERED_BYTES = 512 * 1024 * 1024;
/** The initial size of a writer's buffer, which grows with the file up to one part. */
const FIRST_BUFFER_BYTES = 64 * 1024;
/** The `parts` of an object that was stored. */
export const STORED = "stored";

/** Aborts the multipart uploads of an object, except one. */
export async function abortUploads(bucket: Bucket, object: S3Object, kept?: string): Promise<void> {
  const uploads = { Bucket: object.Bucket, Prefix: object.Key };
  const found = await bucket.ask((s3, options) => s3.listMultipartUploads(uploads, options));
  for (const { UploadId } of found.Uploads ?? []) {
    if (UploadId === kept) continue;
    const upload = { ...object, UploadId };
    await orMissing(bucket.ask((s3, options) => s3.abortMultipartUpload(upload, options)));
  }
}

/** Counts the memory that is left for the buffers of all writers. */
export class BufferMemory {
  #left = MAX_BUFFERED_BYTES;

  /** Throws `unavailable` if fewer bytes are left. */
  take(bytes: number): void {
    if (bytes > this.#left)
      throw new ParleyError("unavailable", "The server has no memory left for another upload. Try again.");
    this.#left -= bytes;
  }

  give(bytes: number): void {
    this.#left += bytes;
  }
}

/** The recorded state of a multipart upload. */
interface Parts {
  uploadId: string;
  /** The number of the next part. */
  next: number;
  /** Part numbers to leave out, because an earlier writer may still send a part with that number. */
  skipped: number[];
}

/**
 * Sends a file that fits in one part as one object, and a larger one part by part while it arrives. The bytes after the
 * last part (`rest`) are only in memory.
 */
export class S3Writer implements BlobWriter {
  readonly key: string;
  size: number;
  /** Whether a request failed or was repeated, so that the store may still be executing it. */
  isUnsure = false;
  readonly #bucket: Bucket;
  readonly #object: S3Object;
  readonly #memory: BufferMemory;
  #parts: Parts | undefined;
  readonly #from: Grown | null;
  /** The parts that this writer has sent. */
  readonly #sent: CompletedPart[] = [];
  #buffer = Buffer.alloc(0);
  #buffered = 0;
  #isBegun = false;
  #isStored: boolean;

  /** `from`: null for a file of one request. `stored`: the bytes of the object, if an earlier writer has stored it. */
  constructor(bucket: Bucket, object: S3Object, memory: BufferMemory, from: Grown | null, stored?: number) {
    this.key = object.Key;
    this.#bucket = bucket;
    this.#object = object;
    this.#memory = memory;
    this.#isStored = stored !== undefined;
    this.size = stored ?? 0;
    this.#from = from;
    if (stored !== undefined) return;
    this.#grow();
    if (!from?.parts) return;
    const { uploadId, next, skipped } = JSON.parse(from.parts) as Parts;
    this.#parts = from.isTaken
      ? { uploadId, next: next + 1, skipped: [...skipped, next] }
      : { uploadId, next, skipped };
    this.size = this.#durable();
  }

  get parts(): string | null {
    if (this.#isStored) return STORED;
    return this.#parts ? JSON.stringify(this.#parts) : null;
  }

  get partsBefore(): string | null {
    if (this.#isStored || !this.#parts) return this.parts;
    const { uploadId, next, skipped } = this.#parts;
    const sent = this.#sent.map(({ PartNumber }) => PartNumber!);
    return JSON.stringify({ uploadId, next, skipped: [...skipped, ...sent] });
  }

  async write(chunk: Uint8Array): Promise<void> {
    if (this.#isStored) throw unavailable(new Error("The object is complete."));
    for (let at = 0; at < chunk.length; ) {
      if (this.#buffered === PART_BYTES) await this.#sendPart();
      if (this.#buffered === this.#buffer.length) this.#grow();
      const piece = chunk.subarray(at, at + this.#buffer.length - this.#buffered);
      this.#buffer.set(piece, this.#buffered);
      this.#buffered += piece.length;
      this.size += piece.length;
      at += piece.length;
    }
  }

  #grow(): void {
    const more = this.#buffer.length || FIRST_BUFFER_BYTES;
    this.#memory.take(more);
    const larger = Buffer.allocUnsafeSlow(this.#buffer.length + more);
    larger.set(this.#buffer);
    this.#buffer = larger;
  }

  async #sendPart(): Promise<void> {
    this.#parts ??= { uploadId: await this.#begin(), next: 1, skipped: [] };
    const { uploadId: UploadId, next: PartNumber } = this.#parts;
    if (PartNumber > MAX_PARTS) throw tooManyParts();
    const part = { ...this.#object, UploadId, PartNumber, Body: this.rest() };
    const { ETag } = await this.#send(
      (s3, options) => s3.uploadPart(part, options),
      sendTimeout(this.#buffered),
    );
    this.#sent.push({ ETag, PartNumber });
    this.#parts.next++;
    this.#buffered = 0;
  }

  async #begin(): Promise<string> {
    const { UploadId, $metadata } = await this.#send((s3, options) =>
      s3.createMultipartUpload(this.#object, options),
    );
    // An attempt whose response was lost may have started another upload, or may still start one.
    if ($metadata.attempts !== 1) this.isUnsure = true;
    // The client's next request uses another key.
    if (this.isUnsure && this.#from) throw unavailable(new Error("an answer of the store was lost"));
    return UploadId!;
  }

  async sync(): Promise<number> {
    if (this.#buffered === PART_BYTES) await this.#sendPart();
    return this.#durable();
  }

  #durable(): number {
    if (this.#isStored) return this.size;
    if (!this.#parts) return 0;
    return (this.#parts.next - 1 - this.#parts.skipped.length) * PART_BYTES;
  }

  rest(): Uint8Array {
    return this.#buffer.subarray(0, this.#buffered);
  }

  async store(): Promise<void> {
    if (this.#isStored) return;
    if (this.#parts) await this.#complete(this.#parts);
    else {
      const put = { ...this.#object, Body: this.rest() };
      const { $metadata } = await this.#send(
        (s3, options) => s3.putObject(put, options),
        sendTimeout(this.#buffered),
      );
      // An attempt whose response was lost may still create the object, even after it was deleted.
      if ($metadata.attempts !== 1) this.isUnsure = true;
    }
    this.#isStored = true;
    await this.close();
  }

  async #complete(parts: Parts): Promise<void> {
    if (this.#buffered > 0) await this.#sendPart();
    const upload = { ...this.#object, UploadId: parts.uploadId };
    const isResumed = this.#from !== null && this.#from.parts !== null;
    const Parts = isResumed ? await this.#listParts(parts) : this.#sent;
    // Abort uploads that were begun but not recorded.
    if (isResumed || this.isUnsure) await abortUploads(this.#bucket, this.#object, parts.uploadId);
    await this.#send(
      (s3, options) => s3.completeMultipartUpload({ ...upload, MultipartUpload: { Parts } }, options),
      COMPLETE_TIMEOUT_MS,
    );
  }

  async #listParts({ uploadId, next, skipped }: Parts): Promise<CompletedPart[]> {
    const found: CompletedPart[] = [];
    let bytes = 0;
    for (let PartNumberMarker: string | undefined; ; ) {
      const page = { ...this.#object, UploadId: uploadId, ...(PartNumberMarker ? { PartNumberMarker } : {}) };
      const { Parts = [], ...more } = await this.#send((s3, options) => s3.listParts(page, options));
      for (const { PartNumber, ETag, Size } of Parts) {
        if (PartNumber! >= next || skipped.includes(PartNumber!)) continue;
        found.push({ PartNumber, ETag });
        bytes += Size!;
      }
      if (!more.IsTruncated) break;
      PartNumberMarker = more.NextPartNumberMarker!;
    }
    if (bytes !== this.size) throw new Error(`The store has ${bytes} of ${this.size} bytes of an upload.`);
    return found;
  }

  async #send<T>(request: Request<T>, timeout?: number): Promise<T> {
    this.#isBegun = true;
    try {
      return await this.#bucket.ask(request, timeout);
    } catch (error) {
      this.isUnsure = true;
      // Such as NoSuchUpload, if an attempt whose response was lost has completed the upload.
      throw error instanceof ParleyError ? error : unavailable(error);
    }
  }

  /** Does nothing: the commit of the row has deleted the intent. */
  async settle(): Promise<void> {}

  /**
   * Throws if the store may still be executing a request. The intent then stays, and the eraser removes the blob when it expires.
   */
  async discard(): Promise<void> {
    await this.close();
    if (!this.#isBegun) return;
    if (this.isUnsure) throw new Error("The outcome of a failed request to the store is unknown.");
    const upload = { ...this.#object, UploadId: this.#parts?.uploadId };
    if (this.#parts)
      await orMissing(this.#bucket.ask((s3, options) => s3.abortMultipartUpload(upload, options)));
    await orMissing(this.#bucket.ask((s3, options) => s3.deleteObject(this.#object, options)));
  }

  async close(): Promise<void> {
    this.#memory.give(this.#buffer.length);
    this.#buffer = Buffer.alloc(0);
    this.#buffered = 0;
  }
}

function tooManyParts(): ParleyError {
  const limit = exactSize(MAX_PARTS * PART_BYTES);
  return new ParleyError("file_too_large", `File storage accepts files of at most ${limit}.`, {
    param: "file",
  });
}
