import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { orientationExif } from "../../src/core/files/picture-exif.ts";
import { MAX_TAKEN_BYTES } from "../../src/core/files/picture-parser.ts";
import { PictureSizeReader } from "../../src/core/files/picture-size.ts";
import {
  chunkLengths,
  EOI,
  jpegFrame,
  jpegSegment,
  mutations,
  pngChunk,
  pngHeader,
  SOI,
  sizeOf,
  webp,
  webpChunk,
} from "../support/picture-bytes.ts";
import { picturesWithSecrets, plainPictures, sizeBySharp } from "../support/pictures.ts";
import { holds } from "../support/property.ts";

const pictures = [...(await picturesWithSecrets()), ...(await plainPictures())];
const KIB = 1024;
const exif = (orientation: number) => Buffer.concat([Buffer.from("Exif\0\0"), orientationExif(orientation)]);

test("the size is the one that sharp reads, turned as the picture is displayed", async () => {
  assert.ok(pictures.length > 70);
  const sizes = new Set<string>();
  for (const { name, bytes } of pictures) {
    const size = sizeOf(bytes);
    assert.deepEqual(size, await sizeBySharp(bytes), name);
    sizes.add(JSON.stringify(size));
  }
  assert.deepEqual([...sizes].sort(), ['{"width":21,"height":37}', '{"width":37,"height":21}']);
});

test("the size does not depend on chunk lengths, and chunks may be reused", () =>
  holds(
    fc.property(fc.constantFrom(...pictures), chunkLengths, ({ bytes }, lengths) => {
      assert.deepEqual(sizeOf(bytes, lengths), sizeOf(bytes));
    }),
  ));

test("the size is known before the pixels, except for a WebP with EXIF", () => {
  for (const { name, bytes } of pictures) {
    const reader = new PictureSizeReader();
    let at = 0;
    while (reader.size === undefined && at < bytes.length) reader.push(bytes.subarray(at, ++at));
    const hasExif = name.endsWith(".webp") && bytes.includes("EXIF");
    const pixels = bytes.indexOf(name.endsWith(".jpg") ? "\xff\xda" : "IDAT", 0, "latin1");
    const end = hasExif ? bytes.length : pixels === -1 ? 30 : pixels + 4;
    assert.ok(at <= end, `${name}: ${at} of ${bytes.length}`);
    reader.push(Buffer.from("\x89PNG\r\n\x1a\n", "latin1"));
    assert.deepEqual(reader.end(), reader.size);
  }
});

const OTHERS: [what: string, bytes: Buffer][] = [
  ["text", Buffer.from("Dear all, this is no picture.")],
  ["a PDF", Buffer.from("%PDF-1.7\n1 0 obj\n")],
  ["a ZIP", Buffer.from("PK\x03\x04\x14\0\0\0\0\0\0\0")],
  ["a BMP", Buffer.from("BM\x3a\0\0\0\0\0\0\0\x36\0\0\0\x28\0", "latin1")],
  ["a WAV", Buffer.from("RIFF\x24\0\0\0WAVEfmt ")],
  ["a HEIC", Buffer.from("\0\0\0\x18ftypheic\0\0\0\0")],
  ["half a signature of PNG", Buffer.from("\x89PNG\r\n\r\n\0\0\0\0", "latin1")],
  ["GIF of no version", Buffer.from("GIF88a\x01\0\x01\0\0\0")],
  ["a JPEG without markers", Buffer.from([0xff, 0xd8, 9, 0, 9, 9, 9, 9, 9, 9, 9, 9])],
];

for (const [what, bytes] of OTHERS)
  test(`the first 12 bytes show that ${what} has no size`, () => {
    for (const length of [1, 5, 12]) {
      const reader = new PictureSizeReader();
      for (let at = 0; at < 12; at += length) reader.push(bytes.subarray(at, Math.min(at + length, 12)));
      assert.equal(reader.size, null);
    }
  });

test("a file that ends before its size has none", () => {
  for (const { name, bytes } of pictures) {
    const reader = new PictureSizeReader();
    let at = 0;
    for (; reader.size === undefined && at < bytes.length; at++) {
      assert.equal(reader.end(), null, name);
      reader.push(bytes.subarray(at, at + 1));
    }
    assert.ok(reader.size, name);
    assert.equal(sizeOf(bytes.subarray(0, at - 1)), null, name);
  }
  assert.equal(sizeOf(Buffer.alloc(0)), null);
});

test("the largest sizes are read, and no size is 0", () => {
  const idat = pngChunk("IDAT");
  const png = (width: number, height: number) => Buffer.concat([pngHeader(width, height), idat]);
  assert.deepEqual(sizeOf(png(0x7fffffff, 1)), { width: 0x7fffffff, height: 1 });
  assert.equal(sizeOf(png(0x80000000, 1)), null);
  const jpeg = (width: number, height: number) => Buffer.concat([SOI, jpegFrame(width, height)]);
  assert.deepEqual(sizeOf(jpeg(65_535, 65_000)), { width: 65_535, height: 65_000 });
  const gif = (width: number, height: number) =>
    Buffer.from([...Buffer.from("GIF87a"), width & 0xff, width >> 8, height & 0xff, height >> 8, 0, 0, 0]);
  assert.deepEqual(sizeOf(gif(65_535, 258)), { width: 65_535, height: 258 });
  const vp8x = Buffer.from([0, 0, 0, 0, 0xff, 0xff, 0xff, 0, 1, 0]);
  assert.deepEqual(sizeOf(webp(webpChunk("VP8X", vp8x))), { width: 16_777_216, height: 257 });
  const vp8 = (width: number, height: number) =>
    webp(
      webpChunk(
        "VP8 ",
        Buffer.from([0, 0, 0, 0x9d, 1, 0x2a, width & 0xff, width >> 8, height & 0xff, height >> 8]),
      ),
    );
  // The two highest bits are a scale.
  assert.deepEqual(sizeOf(vp8(0xffff, 0x4001)), { width: 16_383, height: 1 });
  for (const make of [png, jpeg, gif, vp8])
    for (const [w, h] of [
      [0, 1],
      [1, 0],
      [0, 0],
    ] as const)
      assert.equal(sizeOf(make(w, h)), null);
});

test("every kind of JPEG frame has the size, and tables are not mistaken for frames", () => {
  for (let marker = 0xc0; marker <= 0xcf; marker++) {
    const isTable = [0xc4, 0xc8, 0xcc].includes(marker);
    const bytes = Buffer.concat([SOI, jpegFrame(3, 4, marker), jpegFrame(5, 6)]);
    assert.deepEqual(
      sizeOf(bytes),
      isTable ? { width: 5, height: 6 } : { width: 3, height: 4 },
      String(marker),
    );
  }
});

test("a JPEG is turned by its first EXIF segment before the frame, among fill bytes and other segments", () => {
  const frame = jpegFrame(3, 4);
  const fill = Buffer.alloc(7, 0xff);
  const app = jpegSegment(0xe1, "http://ns.adobe.com/xap/1.0/\0<x/>");
  const turned = jpegSegment(0xe1, exif(6));
  const jpeg = (...parts: Buffer[]) => sizeOf(Buffer.concat([SOI, ...parts, EOI]));
  assert.deepEqual(jpeg(app, fill, turned, jpegSegment(0xfe), frame), { width: 4, height: 3 });
  assert.deepEqual(jpeg(jpegSegment(0xe1, exif(1)), turned, frame), { width: 3, height: 4 });
  assert.deepEqual(jpeg(frame, turned), { width: 3, height: 4 });
  assert.deepEqual(jpeg(jpegSegment(0xe2, exif(6)), frame), { width: 3, height: 4 });
  const [reserved, scan] = [jpegSegment(0xf0), jpegSegment(0xda)];
  for (const before of [reserved, scan]) assert.equal(jpeg(before, frame), null);
});

test("a PNG is turned only by an EXIF chunk before its pixels", () => {
  const [header, turned, idat] = [pngHeader(3, 4), pngChunk("eXIf", orientationExif(8)), pngChunk("IDAT")];
  assert.deepEqual(sizeOf(Buffer.concat([header, pngChunk("tEXt"), turned, idat])), { width: 4, height: 3 });
  assert.deepEqual(sizeOf(Buffer.concat([header, idat, turned])), { width: 3, height: 4 });
});

test("a WebP is turned by its announced EXIF chunk, after any number of pixels", () => {
  const canvas = (flags: number) => webpChunk("VP8X", Buffer.from([flags, 0, 0, 0, 2, 0, 0, 3, 0, 0]));
  const pixels = webpChunk("VP8L", Buffer.alloc(3 * KIB * KIB + 1));
  const turned = webpChunk("EXIF", exif(5));
  assert.deepEqual(sizeOf(webp(canvas(8), pixels, turned)), { width: 4, height: 3 });
  assert.deepEqual(sizeOf(webp(canvas(0), pixels, turned)), { width: 3, height: 4 });
  assert.deepEqual(sizeOf(webp(canvas(8), pixels)), { width: 3, height: 4 });
});

const ENDLESS: [what: string, head: Buffer, part: Buffer][] = [
  ["fill bytes", SOI, Buffer.from([0xff])],
  ["empty comments", SOI, jpegSegment(0xfe)],
  ["empty application segments", SOI, jpegSegment(0xe1)],
  ["empty chunks of PNG", pngHeader(1, 1), pngChunk("tEXt")],
  [
    "empty chunks of WebP",
    webp(webpChunk("VP8X", Buffer.from([8, 0, 0, 0, 1, 0, 0, 1, 0, 0]))).fill(0xff, 4, 8),
    webpChunk("ICCP"),
  ],
];

for (const [what, head, part] of ENDLESS)
  test(`nothing is read after 1 MiB of ${what}`, () => {
    const flood = Buffer.alloc(64 * KIB * part.length, part);
    const reader = new PictureSizeReader();
    reader.push(head);
    let pushed = 0;
    for (; reader.size === undefined && pushed < 4 * MAX_TAKEN_BYTES; pushed += flood.length)
      reader.push(flood);
    assert.equal(reader.size, null);
    // The checksums of a PNG are skipped.
    assert.ok(pushed >= MAX_TAKEN_BYTES && pushed < 3 * MAX_TAKEN_BYTES, String(pushed));
  });

test("skipped bytes do not count, so that large profiles and thumbnails hide no size", () => {
  const segments = Array.from({ length: 100 }, () => jpegSegment(0xe2, Buffer.alloc(65_533)));
  assert.deepEqual(sizeOf(Buffer.concat([SOI, ...segments, jpegFrame(3, 4)])), { width: 3, height: 4 });
});

test("arbitrary bytes and damaged pictures have a size or none", () => {
  const known = mutations(pictures);
  return holds(
    fc.property(
      fc.oneof({ weight: 4, arbitrary: known }, fc.uint8Array({ maxLength: 400 })),
      chunkLengths,
      (bytes, lengths) => {
        const size = sizeOf(bytes, lengths);
        assert.deepEqual(size, sizeOf(bytes));
        if (size !== null) assert.ok(size.width > 0 && size.height > 0);
      },
    ),
    3000,
  );
});
