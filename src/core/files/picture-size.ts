import { EXIF_NAME, MAX_EXIF_BYTES, readOrientation } from "./picture-exif.ts";
import { isSegment, JPEG, takeMarker, takeSignature } from "./picture-format.ts";
import { drop, type Parser, PullParser, take } from "./picture-parser.ts";

const MAX_PNG_NUMBER = 0x7fffffff;
const WEBP_HAS_EXIF = 0x08;

/** In pixels, as the picture is shown. */
export interface PictureSize {
  width: number;
  height: number;
}

/**
 * Reads the size of a JPEG, PNG, GIF or WebP while its bytes arrive. Each chunk need be valid only during `push`. The size is that
 * of the turned picture if the EXIF block has an orientation, unless that block follows the pixels of a PNG or the frame header of
 * a JPEG, or the orientation is beyond its first 64 KiB. A JPEG with its height after its pixels, and a GIF that leaves its size to
 * its frames, have no size.
 */
export class PictureSizeReader {
  readonly #parser = new PullParser(readSize(), () => null);

  push(chunk: Uint8Array): void {
    this.#parser.push(chunk);
  }

  /** Undefined until it is known. Null if the file is not a picture, or its size cannot be read. */
  get size(): PictureSize | null | undefined {
    return this.#parser.result;
  }

  end(): PictureSize | null {
    return this.size ?? null;
  }
}

function* readSize(): Parser<PictureSize | null> {
  const format = yield* takeSignature();
  switch (format?.name) {
    case "JPEG":
      return yield* readJpeg();
    case "PNG":
      return yield* readPng();
    case "GIF": {
      const screen = yield take(4);
      return toSize(screen.readUInt16LE(0), screen.readUInt16LE(2));
    }
    case "WebP":
      return yield* readWebp(format.signature.readUInt32LE(4));
    default:
      return null;
  }
}

function* readJpeg(): Parser<PictureSize | null> {
  let orientation: number | undefined;
  for (;;) {
    const marker = yield* takeMarker();
    if (!isSegment(marker) || marker === JPEG.SOS) return null;
    const bytes = (yield take(2)).readUInt16BE() - 2;
    if (bytes < 0) return null;
    if (isFrame(marker)) {
      const frame = yield take(5);
      return toSize(frame.readUInt16BE(3), frame.readUInt16BE(1), orientation);
    }
    if (marker === JPEG.APP1 && orientation === undefined) {
      const name = yield take(Math.min(bytes, EXIF_NAME.length));
      const rest = bytes - name.length;
      if (name.toString("latin1") === EXIF_NAME) orientation = readOrientation(yield take(rest));
      else yield drop(rest);
    } else yield drop(bytes);
  }
}

/** Whether a frame header follows: of all codes for frames three have another meaning. */
function isFrame(marker: number): boolean {
  return marker < 0xd0 && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
}

function* readPng(): Parser<PictureSize | null> {
  const header = yield take(25);
  if (header.readUInt32BE() !== 13 || header.toString("latin1", 4, 8) !== "IHDR") return null;
  const width = header.readUInt32BE(8);
  const height = header.readUInt32BE(12);
  if (width > MAX_PNG_NUMBER || height > MAX_PNG_NUMBER) return null;
  for (;;) {
    const chunk = yield take(8);
    const bytes = chunk.readUInt32BE();
    const type = chunk.toString("latin1", 4);
    if (bytes > MAX_PNG_NUMBER || type === "IEND") return null;
    if (type === "IDAT") return toSize(width, height);
    if (type === "eXIf")
      return toSize(width, height, readOrientation(yield take(Math.min(bytes, MAX_EXIF_BYTES))));
    yield drop(bytes + 4);
  }
}

function* readWebp(riffBytes: number): Parser<PictureSize | null> {
  const chunk = yield take(8);
  const type = chunk.toString("latin1", 0, 4);
  if (type === "VP8 ") {
    const frame = yield take(10);
    if (frame.toString("latin1", 3, 6) !== "\x9d\x01\x2a") return null;
    return toSize(frame.readUInt16LE(6) & 0x3fff, frame.readUInt16LE(8) & 0x3fff);
  }
  if (type === "VP8L") {
    const frame = yield take(5);
    const sides = frame.readUInt32LE(1);
    return frame[0] === 0x2f ? toSize((sides & 0x3fff) + 1, ((sides >>> 14) & 0x3fff) + 1) : null;
  }
  if (type !== "VP8X" || chunk.readUInt32LE(4) !== 10) return null;
  const canvas = yield take(10);
  const orientation = canvas[0]! & WEBP_HAS_EXIF ? yield* findWebpOrientation(riffBytes - 22) : 1;
  return toSize(canvas.readUIntLE(4, 3) + 1, canvas.readUIntLE(7, 3) + 1, orientation);
}

/** Finds the orientation in the EXIF chunk, which follows the pixels. `left` is the number of remaining bytes. */
function* findWebpOrientation(left: number): Parser<number> {
  for (let rest = left; rest >= 8; ) {
    const chunk = yield take(8);
    const bytes = chunk.readUInt32LE(4);
    if (chunk.toString("latin1", 0, 4) === "EXIF")
      return readOrientation(yield take(Math.min(bytes, MAX_EXIF_BYTES)));
    const padded = bytes + (bytes % 2);
    yield drop(padded);
    rest -= 8 + padded;
  }
  return 1;
}

/** Returns the size. Orientations from 5 on turn the picture by 90 degrees. */
function toSize(width: number, height: number, orientation = 1): PictureSize | null {
  if (width === 0 || height === 0) return null;
  return orientation >= 5 ? { width: height, height: width } : { width, height };
}
