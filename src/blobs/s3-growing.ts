import type { CompletedPart } from "@aws-sdk/client-s3";
import { ParleyError } from "../errors.ts";
import { type Bucket, COMPLETE_TIMEOUT_MS, type Request, sendTimeout, unavailable } from "./s3-bucket.ts";
import {
  abortUploads,
  FIRST_BUFFER_BYTES,
  MAX_PARTS,
  PART_BYTES,
  type Room,
  type S3Object,
  tooManyParts,
} from "./s3-parts.ts";
import type { GrowingBlob, Grown } from "./store.ts";

/** A multipart upload, as far as it is recorded. */
interface Parts {
  uploadId: string;
  /** The number of the next part. */
  next: number;
  /** Numbers that are not used, since what had the blob before may still send a part of that number. */
  skipped: number[];
}

/** The `parts` of an object that was stored. */
export const STORED = "stored";

/** An object that grows by whole parts. The bytes after the last part are in memory alone: `rest`. */
export class GrowingObject implements GrowingBlob {
  size = 0;
  readonly #bucket: Bucket;
  readonly #object: S3Object;
  readonly #room: Room;
  #parts: Parts | undefined;
  #buffer = Buffer.alloc(0);
  #buffered = 0;
  /** The number of the first part that was sent since the object is growing here. */
  readonly #first: number = 1;
  #isStored = false;

  constructor(bucket: Bucket, object: S3Object, room: Room, { parts, isTaken }: Grown) {
    this.#bucket = bucket;
    this.#object = object;
    this.#room = room;
    if (parts === null) return;
    const { uploadId, next, skipped } = JSON.parse(parts) as Parts;
    this.#parts = isTaken
      ? { uploadId, next: next + 1, skipped: [...skipped, next] }
      : { uploadId, next, skipped };
    this.#first = this.#parts.next;
    this.size = this.#durable();
  }

  get parts(): string | null {
    if (this.#isStored) return STORED;
    return this.#parts ? JSON.stringify(this.#parts) : null;
  }

  get partsBefore(): string | null {
    if (!this.#parts) return null;
    const { uploadId, next, skipped } = this.#parts;
    const sent = Array.from({ length: next - this.#first }, (_, i) => this.#first + i);
    return JSON.stringify({ uploadId, next, skipped: [...skipped, ...sent] });
  }

  async write(chunk: Uint8Array): Promise<void> {
    for (let at = 0; at < chunk.length; ) {
      if (this.#buffered === this.#buffer.length) this.#grow();
      const piece = chunk.subarray(at, at + this.#buffer.length - this.#buffered);
      this.#buffer.set(piece, this.#buffered);
      this.#buffered += piece.length;
      this.size += piece.length;
      at += piece.length;
      if (this.#buffered === PART_BYTES) await this.#sendPart();
    }
  }

  #grow(): void {
    const more = this.#buffer.length || FIRST_BUFFER_BYTES;
    this.#room.take(more);
    const larger = Buffer.allocUnsafeSlow(this.#buffer.length + more);
    larger.set(this.#buffer);
    this.#buffer = larger;
  }

  async #sendPart(): Promise<void> {
    this.#parts ??= { uploadId: await this.#begin(), next: 1, skipped: [] };
    const parts = this.#parts;
    if (parts.next > MAX_PARTS) throw tooManyParts();
    const part = { ...this.#object, UploadId: parts.uploadId, PartNumber: parts.next };
    const Body = this.rest();
    await this.#send((s3, options) => s3.uploadPart({ ...part, Body }, options), sendTimeout(Body.length));
    parts.next++;
    this.#buffered = 0;
  }

  async #begin(): Promise<string> {
    const { UploadId, $metadata } = await this.#send((s3, options) =>
      s3.createMultipartUpload(this.#object, options),
    );
    // An attempt whose answer was lost may still start another upload. The next request uses another key.
    if ($metadata.attempts !== 1) throw unavailable(new Error("an answer of the store was lost"));
    return UploadId!;
  }

  async sync(): Promise<number> {
    return this.#durable();
  }

  #durable(): number {
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
      await this.#send((s3, options) => s3.putObject(put, options), sendTimeout(this.#buffered));
    }
    this.#isStored = true;
  }

  async #complete(parts: Parts): Promise<void> {
    if (this.#buffered > 0) await this.#sendPart();
    const upload = { ...this.#object, UploadId: parts.uploadId };
    const Parts = await this.#listParts(parts);
    // Uploads that were begun and not recorded.
    await abortUploads(this.#bucket, this.#object, parts.uploadId);
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
    try {
      return await this.#bucket.ask(request, timeout);
    } catch (error) {
      throw error instanceof ParleyError ? error : unavailable(error);
    }
  }

  async close(): Promise<void> {
    this.#room.give(this.#buffer.length);
    this.#buffer = Buffer.alloc(0);
    this.#buffered = 0;
  }
}

/** An object that was stored, and whose upload is not recorded as finished. */
export class StoredObject implements GrowingBlob {
  readonly parts = STORED;
  readonly partsBefore = STORED;
  readonly size: number;

  constructor(size: number) {
    this.size = size;
  }

  async write(): Promise<void> {
    throw unavailable(new Error("The object is complete."));
  }

  async sync(): Promise<number> {
    return this.size;
  }

  rest(): Uint8Array {
    return new Uint8Array(0);
  }

  async store(): Promise<void> {}

  async close(): Promise<void> {}
}
