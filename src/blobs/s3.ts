import type { Readable } from "node:stream";
import { type CompletedPart, GetObjectCommand } from "@aws-sdk/client-s3";
import type { S3Settings } from "../config/parse.ts";
import { ParleyError } from "../errors.ts";
import {
  ANSWER_TIMEOUT_MS,
  Bucket,
  COMPLETE_TIMEOUT_MS,
  type Request,
  sendTimeout,
  unavailable,
} from "./s3-bucket.ts";
import { GrowingObject, STORED, StoredObject } from "./s3-growing.ts";
import {
  abortUpload,
  abortUploads,
  FIRST_BUFFER_BYTES,
  MAX_PARTS,
  orMissing,
  PART_BYTES,
  Room,
  type S3Object,
  tooManyParts,
} from "./s3-parts.ts";
import {
  type BlobReader,
  type BlobStore,
  type BlobWriter,
  type GrowingBlob,
  type Grown,
  isKey,
  requireKey,
  type StoredItem,
} from "./store.ts";

/**
 * Opens the store in a bucket. Creates the bucket if it is missing and `mayMake` allows it. Throws `OperatorError` if it cannot
 * be used.
 */
export async function openS3Store(
  settings: S3Settings,
  options: { redirect: boolean; mayMake: () => Promise<boolean> },
): Promise<BlobStore> {
  const bucket = new Bucket(settings);
  await bucket.open(options.mayMake);
  return new S3Store(bucket, options.redirect ? await createAddresses(bucket) : undefined);
}

/** Reads the store in a bucket. Creates and changes nothing. */
export function readS3Store(settings: S3Settings): BlobReader {
  return new S3Reader(new Bucket(settings));
}

type Address = NonNullable<BlobStore["address"]>;

async function createAddresses(bucket: Bucket): Promise<Address> {
  const { getSignedUrl } = await import("@aws-sdk/s3-request-presigner");
  return (key, { type, disposition, seconds }) => {
    const command = new GetObjectCommand({
      Bucket: bucket.name,
      Key: requireKey(key),
      ResponseContentType: type,
      ResponseContentDisposition: disposition,
    });
    return getSignedUrl(bucket.s3, command, { expiresIn: seconds });
  };
}

/** An object is a blob, and its name is the key. S3 has no links, so intents are rows. */
class S3Reader implements BlobReader {
  readonly intents = null;
  protected readonly bucket: Bucket;

  constructor(bucket: Bucket) {
    this.bucket = bucket;
  }

  async read(key: string, start: number, end: number): Promise<AsyncIterable<Uint8Array>> {
    const object = { ...this.object(key), Range: `bytes=${start}-${end}` };
    const { Body, ContentLength } = await this.bucket.ask((s3, options) => s3.getObject(object, options));
    const bytes = end - start + 1;
    // A shorter object must not be sent with the length of its row.
    if (ContentLength !== bytes) {
      (Body as Readable).destroy();
      throw new Error(`The store has ${ContentLength} of ${bytes} bytes of the blob ${key}.`);
    }
    return chunksOf(Body as Readable, bytes);
  }

  async size(key: string): Promise<number | undefined> {
    const object = this.object(key);
    const found = await orMissing(this.bucket.ask((s3, options) => s3.headObject(object, options)));
    return found?.ContentLength;
  }

  async *list(): AsyncGenerator<StoredItem[]> {
    for (let ContinuationToken: string | undefined; ; ) {
      const page = { Bucket: this.bucket.name, ...(ContinuationToken ? { ContinuationToken } : {}) };
      const found = await this.bucket.ask((s3, options) => s3.listObjectsV2(page, options));
      yield (found.Contents ?? []).map(({ Key: name }) => ({
        name: name!,
        key: isKey(name!) ? name! : null,
      }));
      ContinuationToken = found.NextContinuationToken;
      if (!ContinuationToken) return;
    }
  }

  protected object(key: string): { Bucket: string; Key: string } {
    return { Bucket: this.bucket.name, Key: requireKey(key) };
  }
}

/** Ends in an error if the store sends too little, or nothing for too long. A slow reader is no error. */
async function* chunksOf(body: Readable, bytes: number): AsyncGenerator<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]();
  let left = bytes;
  try {
    for (;;) {
      const silent = setTimeout(() => body.destroy(new Error("it is silent")), ANSWER_TIMEOUT_MS);
      const { value, done } = await chunks.next().finally(() => clearTimeout(silent));
      if (done) break;
      left -= value.length;
      yield value;
    }
  } catch (error) {
    throw unavailable(error);
  } finally {
    body.destroy();
  }
  if (left !== 0) throw unavailable(new Error(`The store ended a file ${left} bytes early.`));
}

class S3Store extends S3Reader implements BlobStore {
  /** All files except empty ones go to the store, because many servers share the database. */
  readonly minFileBytes = 0;
  readonly address?: Address;
  readonly #room = new Room();

  constructor(bucket: Bucket, address: Address | undefined) {
    super(bucket);
    if (address) this.address = address;
  }

  async create(key: string): Promise<BlobWriter> {
    return new S3Writer(key, this.bucket, this.object(key), this.#room);
  }

  async grow(key: string, { size, parts, isTaken }: Grown): Promise<GrowingBlob> {
    if (parts === STORED) return new StoredObject(size);
    // What had this blob before may have stored it, and have ended before that was recorded.
    const stored = isTaken && parts !== null ? await this.size(key) : undefined;
    if (stored !== undefined) return new StoredObject(stored);
    return new GrowingObject(this.bucket, this.object(key), this.#room, { size, parts, isTaken });
  }

  /** Also removes what a dead server has left of an upload under this key. */
  async remove(key: string): Promise<void> {
    const object = this.object(key);
    await abortUploads(this.bucket, object);
    // After the uploads, one of which may have become the object meanwhile.
    await orMissing(this.bucket.ask((s3, options) => s3.deleteObject(object, options)));
  }

  checkReady(): Promise<void> {
    return this.bucket.checkReady();
  }

  close(): void {
    this.bucket.close();
  }
}

/** Sends a file that fits in one part as one object, and a larger one part by part while it arrives. */
class S3Writer implements BlobWriter {
  readonly key: string;
  readonly #bucket: Bucket;
  readonly #object: S3Object;
  readonly #room: Room;
  #buffer: Buffer;
  #buffered = 0;
  #uploadId: string | undefined;
  readonly #parts: CompletedPart[] = [];
  /** Whether anything was sent to the store. */
  #begun = false;
  /** Whether a request failed, so that the store may still be executing it. */
  #unsure = false;

  constructor(key: string, bucket: Bucket, object: S3Object, room: Room) {
    this.key = key;
    this.#bucket = bucket;
    this.#object = object;
    this.#room = room;
    room.take(FIRST_BUFFER_BYTES);
    this.#buffer = Buffer.allocUnsafeSlow(FIRST_BUFFER_BYTES);
  }

  get isUnsure(): boolean {
    return this.#unsure;
  }

  async write(chunk: Uint8Array): Promise<void> {
    for (let at = 0; at < chunk.length; ) {
      if (this.#buffered === PART_BYTES) await this.#sendPart();
      if (this.#buffered === this.#buffer.length) this.#grow();
      const piece = chunk.subarray(at, at + this.#buffer.length - this.#buffered);
      this.#buffer.set(piece, this.#buffered);
      this.#buffered += piece.length;
      at += piece.length;
    }
  }

  #grow(): void {
    this.#room.take(this.#buffer.length);
    const larger = Buffer.allocUnsafeSlow(2 * this.#buffer.length);
    larger.set(this.#buffer);
    this.#buffer = larger;
  }

  async #sendPart(): Promise<void> {
    if (this.#parts.length === MAX_PARTS) throw tooManyParts();
    const object = this.#object;
    this.#uploadId ??= await this.#beginParts();
    const part = { UploadId: this.#uploadId, PartNumber: this.#parts.length + 1 };
    const Body = this.#buffer.subarray(0, this.#buffered);
    const { ETag } = await this.#send(
      (s3, options) => s3.uploadPart({ ...object, ...part, Body }, options),
      sendTimeout(Body.length),
    );
    this.#parts.push({ ETag, PartNumber: part.PartNumber });
    this.#buffered = 0;
  }

  async #beginParts(): Promise<string> {
    const object = this.#object;
    const { UploadId, $metadata } = await this.#send((s3, options) =>
      s3.createMultipartUpload(object, options),
    );
    // An attempt whose answer was lost may have started another upload, or may still start one.
    if ($metadata.attempts !== 1) {
      this.#unsure = true;
      await abortUploads(this.#bucket, object, UploadId);
    }
    return UploadId!;
  }

  async store(): Promise<void> {
    await this.#store().finally(() => this.#drop());
  }

  /** Releases the buffer. Nothing is written after it. */
  #drop(): void {
    this.#room.give(this.#buffer.length);
    this.#buffer = Buffer.alloc(0);
  }

  async #store(): Promise<void> {
    const object = this.#object;
    if (this.#uploadId === undefined) {
      const Body = this.#buffer.subarray(0, this.#buffered);
      const { $metadata } = await this.#send(
        (s3, options) => s3.putObject({ ...object, Body }, options),
        sendTimeout(Body.length),
      );
      // An attempt whose answer was lost may still create the object, even after it is deleted.
      if ($metadata.attempts !== 1) this.#unsure = true;
      return;
    }
    await this.#sendPart();
    const upload = { ...object, UploadId: this.#uploadId, MultipartUpload: { Parts: this.#parts } };
    await this.#send((s3, options) => s3.completeMultipartUpload(upload, options), COMPLETE_TIMEOUT_MS);
  }

  async #send<T>(request: Request<T>, timeout?: number): Promise<T> {
    this.#begun = true;
    try {
      return await this.#bucket.ask(request, timeout);
    } catch (error) {
      this.#unsure = true;
      // Such as an upload that does not exist, because an attempt whose answer was lost has completed it.
      throw error instanceof ParleyError ? error : unavailable(error);
    }
  }

  /** Does nothing: the commit of the row has deleted the intent. */
  async settle(): Promise<void> {}

  /**
   * Fails if the store may still be executing a request that failed. Then the intent stays, and the eraser removes the blob when
   * it expires.
   */
  async discard(): Promise<void> {
    this.#drop();
    if (!this.#begun) return;
    if (this.#unsure) throw new Error("The outcome of a failed request to the store is unknown.");
    if (this.#uploadId !== undefined) await abortUpload(this.#bucket, this.#object, this.#uploadId);
    await orMissing(this.#bucket.ask((s3, options) => s3.deleteObject(this.#object, options)));
  }
}
