import type { Readable } from "node:stream";
import { GetObjectCommand } from "@aws-sdk/client-s3";
import type { S3Settings } from "../config/parse.ts";
import { ANSWER_TIMEOUT_MS, Bucket, orMissing, type S3Object, unavailable } from "./s3-bucket.ts";
import { abortUploads, BufferMemory, S3Writer, STORED } from "./s3-writer.ts";
import {
  type BlobReader,
  type BlobStore,
  type BlobWriter,
  type Grown,
  isKey,
  requireKey,
  type StoredItem,
} from "./store.ts";

/**
 * Opens the store in a bucket. Creates the bucket if it is missing and `mayMake` allows it. Throws `OperatorError` if the
 * store cannot be used.
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

/** Reads a bucket. Each object is a blob, and its name is the key. S3 has no links, so intents are rows. */
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
    // Refuse an object of another size: the response would announce the length in its row.
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

  protected object(key: string): S3Object {
    return { Bucket: this.bucket.name, Key: requireKey(key) };
  }
}

/** Yields the chunks. Throws `unavailable` if the store sends too few bytes, or stalls. A slow reader is not an error. */
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
  readonly #memory = new BufferMemory();

  constructor(bucket: Bucket, address: Address | undefined) {
    super(bucket);
    if (address) this.address = address;
  }

  async create(key: string): Promise<BlobWriter> {
    return new S3Writer(this.bucket, this.object(key), this.#memory, null);
  }

  async resume(key: string, from: Grown): Promise<BlobWriter> {
    const { parts, isTaken, size } = from;
    // An earlier writer may have stored the blob and then died before recording it.
    const stored = parts === STORED ? size : isTaken && parts !== null ? await this.size(key) : undefined;
    return new S3Writer(this.bucket, this.object(key), this.#memory, from, stored);
  }

  /** Also aborts the multipart uploads that a dead server left under this key. */
  async remove(key: string): Promise<void> {
    const object = this.object(key);
    await abortUploads(this.bucket, object);
    // Delete the object last: one of the uploads may have been completed meanwhile.
    await orMissing(this.bucket.ask((s3, options) => s3.deleteObject(object, options)));
  }

  checkReady(): Promise<void> {
    return this.bucket.checkReady();
  }

  close(): void {
    this.bucket.close();
  }
}
