import { isUtf8 } from "node:buffer";

/** Checks incoming bytes for valid UTF-8, chunk by chunk. */
export class Utf8Check {
  #isUtf8 = true;
  /** The bytes of an incomplete character at the end. */
  #rest: Uint8Array = new Uint8Array(0);

  push(chunk: Uint8Array): void {
    if (!this.#isUtf8) return;
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const end = bytes.length - unfinished(bytes);
    this.#isUtf8 = isUtf8(bytes.subarray(0, end));
    this.#rest = new Uint8Array(bytes.subarray(end));
  }

  /** Whether all bytes so far are UTF-8. */
  get isUtf8(): boolean {
    return this.#isUtf8 && this.#rest.length === 0;
  }
}

/** Returns how many bytes at the end belong to an incomplete character. */
function unfinished(bytes: Uint8Array): number {
  for (let count = 1; count <= Math.min(3, bytes.length); count++) {
    const byte = bytes[bytes.length - count]!;
    if (byte < 0x80) return 0;
    if (byte < 0xc0) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    return length > count ? count : 0;
  }
  return 0;
}
