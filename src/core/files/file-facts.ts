import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import { Utf8Check } from "../../util/utf8.ts";
import { SNIFF_BYTES } from "./media-types.ts";
import { type PictureSize, PictureSizeReader } from "./picture-size.ts";

/** Computes the stored facts about a file while its bytes arrive. Each chunk need be valid only during `push`. */
export class FileFacts {
  /** Bytes. */
  size = 0;
  crc32 = 0;
  /** The beginning of the file, for detecting its type. */
  head = Buffer.alloc(0);
  readonly #hash = createHash("sha256");
  readonly #utf8 = new Utf8Check();
  readonly #picture = new PictureSizeReader();
  #sha256: Uint8Array | undefined;

  push(chunk: Uint8Array): void {
    const missing = SNIFF_BYTES - this.size;
    if (missing > 0) this.head = Buffer.concat([this.head, chunk.subarray(0, missing)]);
    this.size += chunk.length;
    this.#hash.update(chunk);
    this.crc32 = crc32(chunk, this.crc32);
    this.#utf8.push(chunk);
    this.#picture.push(chunk);
  }

  /** The SHA-256 of all bytes. Nothing can be pushed after reading it. */
  get sha256(): Uint8Array {
    this.#sha256 ??= this.#hash.digest();
    return this.#sha256;
  }

  /** Whether all bytes are UTF-8. */
  get isUtf8(): boolean {
    return this.#utf8.isUtf8;
  }

  get pictureSize(): PictureSize | null {
    return this.#picture.end();
  }
}
