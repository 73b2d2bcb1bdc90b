// Builds parts of pictures, and feeds the bytes of pictures in chunks.
import { crc32, deflateSync } from "node:zlib";
import fc from "fast-check";
import { type PictureSize, PictureSizeReader } from "../../src/core/files/picture-size.ts";
import { MetadataStripper } from "../../src/core/files/picture-strip.ts";

export interface Picture {
  name: string;
  bytes: Buffer;
}

/** Yields the bytes in chunks of these lengths, repeated. Each chunk is overwritten by the next one. */
function* chunksOf(bytes: Uint8Array, lengths: readonly number[]): Generator<Uint8Array> {
  for (let at = 0, index = 0; at < bytes.length; index++) {
    const chunk = Buffer.from(bytes.subarray(at, at + lengths[index % lengths.length]!));
    yield chunk;
    chunk.fill(0xa5);
    at += chunk.length;
  }
}

const WHOLE = [Number.MAX_SAFE_INTEGER];

export function sizeOf(bytes: Uint8Array, lengths: readonly number[] = WHOLE): PictureSize | null {
  const reader = new PictureSizeReader();
  for (const chunk of chunksOf(bytes, lengths)) reader.push(chunk);
  return reader.end();
}

/** Strips metadata. Throws the errors of the stripper. */
export function stripped(bytes: Uint8Array, lengths: readonly number[] = WHOLE): Buffer {
  const stripper = new MetadataStripper();
  const output: Buffer[] = [];
  for (const chunk of chunksOf(bytes, lengths)) output.push(Buffer.concat(stripper.push(chunk)));
  return Buffer.concat([...output, ...stripper.end()]);
}

/** Generates lengths of chunks, from single bytes to more than a picture. */
export const chunkLengths = fc.array(
  fc.oneof(fc.integer({ min: 1, max: 16 }), fc.integer({ min: 1, max: 5000 })),
  {
    minLength: 1,
    maxLength: 8,
  },
);

/** Generates pictures with some bytes changed, removed or repeated. */
export function mutations(originals: readonly Picture[]): fc.Arbitrary<Buffer> {
  const edit = fc.record({
    at: fc.noBias(fc.nat(9999)).map((each) => each / 10_000),
    byte: fc.nat(255),
    kind: fc.nat(6),
    count: fc.nat(40),
  });
  return fc
    .tuple(fc.constantFrom(...originals), fc.array(edit, { minLength: 1, maxLength: 3 }))
    .map(([{ bytes }, edits]) => {
      let mutated = Buffer.from(bytes);
      for (const { at, byte, kind, count } of edits) {
        // Changes in headers matter most.
        const from = Math.floor(at * (kind % 2 ? mutated.length : Math.min(mutated.length, 500)));
        const [before, cut, after] = [
          mutated.subarray(0, from),
          mutated.subarray(from, from + count),
          mutated.subarray(from + count),
        ];
        if (kind === 0) mutated = Buffer.concat([before, cut.fill(byte), after]);
        else if (kind === 1) mutated = Buffer.concat([before, after]);
        else if (kind === 2) mutated = Buffer.concat([before, cut, cut, after]);
        else if (from < mutated.length) mutated[from] = byte;
      }
      return mutated;
    });
}

export function pngChunk(type: string, data: Uint8Array = Buffer.alloc(0)): Buffer {
  const chunk = Buffer.concat([Buffer.alloc(4), Buffer.from(type, "latin1"), data, Buffer.alloc(4)]);
  chunk.writeUInt32BE(data.length);
  chunk.writeUInt32BE(crc32(chunk.subarray(4, -4)), chunk.length - 4);
  return chunk;
}

/** `isBitmap` means one bit per pixel, black or white. */
export function pngHeader(
  width: number,
  height: number,
  { isBitmap = false, isInterlaced = false } = {},
): Buffer {
  const kind = isBitmap ? [1, 0] : [8, 2];
  const data = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, ...kind, 0, 0, isInterlaced ? 1 : 0]);
  data.writeUInt32BE(width);
  data.writeUInt32BE(height, 4);
  return Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), pngChunk("IHDR", data)]);
}

/** Each of `rows` begins with its filter byte. */
export function png(header: Buffer, rows: Uint8Array): Buffer<ArrayBuffer> {
  return Buffer.concat([header, pngChunk("IDAT", deflateSync(rows)), pngChunk("IEND")]);
}

/** Returns an all-black bitmap, which has few bytes at any size. */
export function blackPng(width: number, height: number, isInterlaced = false): Buffer<ArrayBuffer> {
  const row = Math.ceil(width / 8) + 1;
  // The seven passes together have the same number of pixels, and up to two more bytes for each row of each pass.
  const rows = Buffer.alloc(height * (isInterlaced ? row + 14 : row));
  return png(pngHeader(width, height, { isBitmap: true, isInterlaced }), rows);
}

export function jpegSegment(marker: number, data: string | Uint8Array = ""): Buffer {
  const bytes = typeof data === "string" ? Buffer.from(data, "latin1") : data;
  return Buffer.from([0xff, marker, (bytes.length + 2) >> 8, (bytes.length + 2) & 0xff, ...bytes]);
}

export const SOI = Buffer.from([0xff, 0xd8]);
export const EOI = Buffer.from([0xff, 0xd9]);

/** Returns a frame header of this size. */
export function jpegFrame(width: number, height: number, marker = 0xc0): Buffer {
  return jpegSegment(
    marker,
    Buffer.from([8, height >> 8, height & 0xff, width >> 8, width & 0xff, 1, 1, 0x11, 0]),
  );
}

export function webpChunk(type: string, data: Uint8Array = Buffer.alloc(0)): Buffer {
  const header = Buffer.from(`${type}\0\0\0\0`, "latin1");
  header.writeUInt32LE(data.length, 4);
  return Buffer.concat([header, data, Buffer.alloc(data.length % 2)]);
}

export function webp(...chunks: Buffer[]): Buffer {
  return webpChunk("RIFF", Buffer.concat([Buffer.from("WEBP"), ...chunks]));
}
