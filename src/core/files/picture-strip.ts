import { crc32 } from "node:zlib";
import { ParleyError } from "../../errors.ts";
import { EXIF_NAME, MAX_EXIF_BYTES, orientationExif, readOrientation } from "./picture-exif.ts";
import {
  isSegment,
  JPEG,
  type PictureFormat,
  takeMarker,
  takeMarkerCode,
  takeSignature,
} from "./picture-format.ts";
import { blank, drop, emit, keep, type Parser, PullParser, peek, take } from "./picture-parser.ts";

/** The application segments of a JPEG that are needed to show it, with the first bytes of each. */
const JPEG_KEPT: ReadonlyMap<number, string> = new Map([
  [JPEG.APP0, "JFIF\0"],
  [JPEG.APP2, "ICC_PROFILE\0"],
  [JPEG.APP14, "Adobe"],
]);
const LONGEST_NAME = 12;
/** The ancillary chunks of a PNG that are needed to show it. */
const PNG_KEPT = new Set(
  "tRNS cHRM gAMA iCCP sBIT sRGB cICP mDCV cLLI bKGD hIST pHYs sPLT acTL fcTL fdAT".split(" "),
);
const GIF = { TRAILER: 0x3b, IMAGE: 0x2c, EXTENSION: 0x21, CONTROL: 0xf9, TEXT: 0x01, APPLICATION: 0xff };
const GIF_KEPT = new Set(["NETSCAPE2.0", "ANIMEXTS1.0"]);
const WEBP_KEPT = new Set(["VP8 ", "VP8L", "ALPH", "ANIM", "ICCP"]);
const WEBP_HAS_XMP = 0x04;

/**
 * Removes the metadata of a picture while its bytes arrive, such as the place, time and camera. Only the data to show it stays: its
 * unchanged pixels, color profile, animation and orientation. Bytes after the end of the picture are removed, too. Thumbnails of
 * JFIF and bytes hidden between the pixels are not removed. The size of a WebP precedes its chunks, so it stays: removed bytes
 * become zeros.
 *
 * Throws `metadata_not_removable` if the file is not a JPEG, PNG, GIF or WebP, or is damaged so that metadata could hide in it.
 */
export class MetadataStripper {
  readonly #parser = new PullParser(strip(), refuse);

  /** Returns the bytes that stay. They may share their memory with the chunk. */
  push(chunk: Uint8Array): Uint8Array[] {
    return this.#parser.push(chunk);
  }

  /** Returns the rest of the bytes that stay. */
  end(): Uint8Array[] {
    if (!this.#parser.isDone) refuse();
    return [];
  }
}

function refuse(
  detail = "The picture is damaged or incomplete, so its metadata cannot be removed. Nothing was stored.",
): never {
  throw new ParleyError("metadata_not_removable", detail, { param: "strip_metadata" });
}

function* strip(): Parser<void> {
  const format = yield* takeSignature();
  if (format === null)
    refuse(
      "Metadata can be removed from JPEG, PNG, GIF and WebP only, and the file is none of them. Nothing was stored.",
    );
  yield emit(format.signature);
  yield* STRIP[format.name](format.signature);
}

const STRIP: Record<PictureFormat["name"], (signature: Buffer) => Parser<void>> = {
  JPEG: stripJpeg,
  PNG: stripPng,
  GIF: stripGif,
  WebP: stripWebp,
};

function* stripJpeg(): Parser<void> {
  let hasOrientation = false;
  let marker = yield* takeMarker();
  while (marker !== JPEG.EOI) {
    if (!isSegment(marker)) refuse();
    const length = yield take(2);
    const bytes = length.readUInt16BE() - 2;
    if (bytes < 0) refuse();
    const isMetadata = marker === JPEG.COM || (marker >= JPEG.APP0 && marker <= JPEG.APP15);
    const name = isMetadata ? yield take(Math.min(bytes, LONGEST_NAME)) : Buffer.alloc(0);
    const rest = bytes - name.length;
    const text = name.toString("latin1");
    if (!isMetadata || text.startsWith(JPEG_KEPT.get(marker) ?? "\0none")) {
      yield emit(Buffer.from([0xff, marker, ...length, ...name]));
      yield keep(rest);
    } else if (marker === JPEG.APP1 && !hasOrientation && text.startsWith(EXIF_NAME)) {
      hasOrientation = true;
      yield* emitJpegOrientation(readOrientation(Buffer.concat([name, yield take(rest)])));
    } else yield drop(rest);
    marker = yield* marker === JPEG.SOS ? keepScan() : takeMarker();
  }
  yield emit(Buffer.from([0xff, JPEG.EOI]));
}

function* emitJpegOrientation(orientation: number): Parser<void> {
  if (orientation === 1) return;
  const block = Buffer.concat([Buffer.from(EXIF_NAME), orientationExif(orientation)]);
  yield emit(Buffer.from([0xff, JPEG.APP1, 0, block.length + 2, ...block]));
}

/** Keeps the pixels of a scan, and takes the marker that ends it. */
function* keepScan(): Parser<number> {
  for (;;) {
    const bytes = yield peek;
    let end = 0;
    while (end < bytes.length && (bytes[end] !== 0xff || isPixel(bytes[end + 1]))) end++;
    const isWhole = end === bytes.length;
    yield keep(end);
    if (isWhole) continue;
    yield drop(1);
    const code = yield* takeMarkerCode();
    if (!isPixel(code)) return code;
    yield emit(Buffer.from([0xff, code]));
  }
}

/** Whether FF and this byte belong to the pixels: as an escaped FF, or as a restart. */
function isPixel(code: number | undefined): boolean {
  return code === 0 || (code !== undefined && code >= 0xd0 && code <= 0xd7);
}

function* stripPng(): Parser<void> {
  let hasOrientation = false;
  for (let type = ""; type !== "IEND"; ) {
    const header = yield take(8);
    const bytes = header.readUInt32BE();
    type = header.toString("latin1", 4);
    if (bytes > 0x7fffffff || !/^[A-Za-z]{4}$/.test(type)) refuse();
    // Chunks whose names begin with a capital letter are critical: without them the picture cannot be shown.
    if (/^[A-Z]/.test(type) || PNG_KEPT.has(type)) {
      yield emit(header);
      yield keep(bytes + 4);
    } else if (type === "eXIf" && !hasOrientation) {
      hasOrientation = true;
      const exif = yield take(Math.min(bytes, MAX_EXIF_BYTES));
      yield drop(bytes - exif.length + 4);
      yield* emitPngOrientation(readOrientation(exif));
    } else yield drop(bytes + 4);
  }
}

function* emitPngOrientation(orientation: number): Parser<void> {
  if (orientation === 1) return;
  const block = orientationExif(orientation);
  const chunk = Buffer.concat([Buffer.alloc(4), Buffer.from("eXIf"), block, Buffer.alloc(4)]);
  chunk.writeUInt32BE(block.length);
  chunk.writeUInt32BE(crc32(chunk.subarray(4, -4)), chunk.length - 4);
  yield emit(chunk);
}

function* stripGif(): Parser<void> {
  const screen = yield take(7);
  yield emit(screen);
  yield keep(paletteBytes(screen[4]!));
  for (;;) {
    const kind = (yield take(1))[0]!;
    if (kind === GIF.EXTENSION) {
      yield* stripGifExtension();
      continue;
    }
    if (kind !== GIF.TRAILER && kind !== GIF.IMAGE) refuse();
    yield emit(Buffer.from([kind]));
    if (kind === GIF.TRAILER) return;
    const image = yield take(9);
    yield emit(image);
    yield keep(paletteBytes(image[8]!) + 1);
    yield* passGifBlocks(keep);
  }
}

function* stripGifExtension(): Parser<void> {
  const label = (yield take(1))[0]!;
  const start = Buffer.from([GIF.EXTENSION, label]);
  if (label === GIF.CONTROL || label === GIF.TEXT) {
    yield emit(start);
    return yield* passGifBlocks(keep);
  }
  if (label !== GIF.APPLICATION) return yield* passGifBlocks(drop);
  const size = yield take(1);
  const name = yield take(size[0]!);
  const isKept = GIF_KEPT.has(name.toString("latin1"));
  if (isKept) yield emit(Buffer.concat([start, size, name]));
  if (name.length > 0) yield* passGifBlocks(isKept ? keep : drop);
}

/** Each block begins with its length; one of no bytes is the last. */
function* passGifBlocks(pass: typeof keep | typeof drop): Parser<void> {
  for (;;) {
    const bytes = yield peek;
    let end = 0;
    while (end < bytes.length && bytes[end] !== 0) end += bytes[end]! + 1;
    const isLast = end < bytes.length;
    yield pass(isLast ? end + 1 : end);
    if (isLast) return;
  }
}

/** Returns the length of the palette that these flags announce. */
function paletteBytes(flags: number): number {
  return flags & 0x80 ? 3 * 2 ** ((flags & 7) + 1) : 0;
}

function* stripWebp(signature: Buffer): Parser<void> {
  const bytes = signature.readUInt32LE(4) - 4;
  if (bytes < 0) refuse();
  yield* stripWebpChunks(bytes, false);
}

/** The chunks must fill these bytes, or programs would see other chunks. */
function* stripWebpChunks(bytes: number, isFrame: boolean): Parser<void> {
  for (let left = bytes; left > 0; ) {
    if (left < 8) refuse();
    const header = yield take(8);
    const type = header.toString("latin1", 0, 4);
    const size = header.readUInt32LE(4);
    left -= 8;
    if (size > left) refuse();
    const padding = Math.min(size % 2, left - size);
    left -= size + padding;
    if (type === "ANMF" && !isFrame) {
      if (size < 16) refuse();
      yield emit(header);
      yield keep(16);
      yield* stripWebpChunks(size - 16, true);
    } else yield* stripWebpChunk(header, type, size);
    yield blank(padding);
  }
}

function* stripWebpChunk(header: Buffer, type: string, size: number): Parser<void> {
  if (WEBP_KEPT.has(type)) {
    yield emit(header);
    yield keep(size);
  } else if (type === "VP8X") {
    if (size !== 10) refuse();
    const canvas = yield take(size);
    canvas[0]! &= ~WEBP_HAS_XMP;
    yield emit(Buffer.concat([header, canvas]));
  } else if (type === "EXIF") {
    // It stays an EXIF chunk, since the canvas, which comes first, has announced one.
    const exif = yield take(Math.min(size, MAX_EXIF_BYTES));
    const block = orientationExif(readOrientation(exif));
    block.copy(exif.fill(0));
    yield emit(Buffer.concat([header, exif]));
    yield blank(size - exif.length);
  } else {
    header.write("JUNK", "latin1");
    yield emit(header);
    yield blank(size);
  }
}
