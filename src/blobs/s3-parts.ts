import { ParleyError } from "../errors.ts";
import { exactSize } from "../util/sizes.ts";
import type { Bucket } from "./s3-bucket.ts";

/** A larger file is sent in parts of this size, through one buffer. */
export const PART_BYTES = 8 * 1024 * 1024;
/** The maximum of S3: 10,000 parts of 8 MiB are 78 GiB. */
export const MAX_PARTS = 10_000;
/** The memory for the buffers of all uploads. An upload that would exceed it is refused. */
const MAX_BUFFERED_BYTES = 512 * 1024 * 1024;
/** The initial size of a writer's buffer, which grows with the file up to one part. */
export const FIRST_BUFFER_BYTES = 64 * 1024;

/** Aborts the multipart uploads of an object, except one. */
export async function abortUploads(bucket: Bucket, object: S3Object, kept?: string): Promise<void> {
  const uploads = { Bucket: object.Bucket, Prefix: object.Key };
  const found = await bucket.ask((s3, options) => s3.listMultipartUploads(uploads, options));
  for (const { UploadId } of found.Uploads ?? [])
    if (UploadId !== kept) await abortUpload(bucket, object, UploadId!);
}

export async function abortUpload(bucket: Bucket, object: S3Object, UploadId: string): Promise<void> {
  await orMissing(bucket.ask((s3, options) => s3.abortMultipartUpload({ ...object, UploadId }, options)));
}

/** Returns undefined if the object or upload does not exist. */
export async function orMissing<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof ParleyError) throw error;
    return undefined;
  }
}

export type S3Object = { Bucket: string; Key: string };

/** The memory for the buffers of all uploads. */
export class Room {
  #left = MAX_BUFFERED_BYTES;

  /** Throws `unavailable` if less is left. */
  take(bytes: number): void {
    if (bytes > this.#left)
      throw new ParleyError("unavailable", "The server has no memory left for another upload. Try again.");
    this.#left -= bytes;
  }

  give(bytes: number): void {
    this.#left += bytes;
  }
}

export function tooManyParts(): ParleyError {
  const limit = exactSize(MAX_PARTS * PART_BYTES);
  return new ParleyError("file_too_large", `File storage accepts files of at most ${limit}.`, {
    param: "file",
  });
}
