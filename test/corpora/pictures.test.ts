// Pictures from cameras and programs, and pictures made to break programs: reading their sizes and removing their
// metadata.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import type { PictureSize } from "../../src/core/files/picture-size.ts";
import { ParleyError } from "../../src/errors.ts";
import {
  EOI,
  jpegFrame,
  jpegSegment,
  pngChunk,
  pngHeader,
  SOI,
  sizeOf,
  stripped,
  webp,
  webpChunk,
} from "../support/picture-bytes.ts";
import { decoded, sizeBySharp } from "../support/pictures.ts";
import { isLong, seededChance } from "../support/scale.ts";
import { shipped } from "./packages.ts";

const FOLDERS = ["exif/test", "exif-parser/test", "jpeg-exif/test", "playwright-core/lib"];
const MAX_BYTES = 2_000_000;
const pictures = FOLDERS.flatMap((folder) => shipped(folder, /\.(?:jpe?g|png|gif|webp)$/i)).filter(
  ({ bytes }) => bytes.length < MAX_BYTES,
);
/** Larger pictures are left out, because changing all of them takes too long. */
const small = pictures.filter(({ bytes }) => bytes.length < 120_000);

const { create } = createRequire(import.meta.url)("exif-parser") as {
  create: (bytes: Buffer) => { parse: () => { tags: Record<string, unknown> } };
};

/** Returns the stripped picture, or undefined if it is refused. */
function tryStripping(bytes: Buffer): Buffer | undefined {
  try {
    return stripped(bytes);
  } catch (error) {
    assert.ok(error instanceof ParleyError && error.code === "metadata_not_removable", String(error));
    return undefined;
  }
}

class Counts {
  #counts: Record<string, number> = { "size read": 0, "no size": 0, stripped: 0, refused: 0 };

  add(size: PictureSize | null, output: Buffer | undefined): void {
    this.#counts[size ? "size read" : "no size"]! += 1;
    this.#counts[output ? "stripped" : "refused"]! += 1;
  }

  toString(): string {
    return Object.entries(this.#counts)
      .map(([outcome, count]) => `${outcome} ${count}`)
      .join(", ");
  }
}

test("pictures from cameras and programs have their sizes, and look the same without metadata", async (t) => {
  const counts = new Counts();
  const tags = { before: 0, after: 0 };
  for (const { name, bytes } of pictures) {
    const size = sizeOf(bytes);
    assert.deepEqual(size, await sizeBySharp(bytes), name);
    const output = stripped(bytes);
    assert.ok(stripped(output).equals(output), name);
    const [before, after] = [await decoded(bytes), await decoded(output)];
    assert.ok(after.pixels.equals(before.pixels), name);
    assert.deepEqual([after.orientation, after.icc], [before.orientation, before.icc], name);
    counts.add(size, output);
    if (!/jpe?g$/i.test(name)) continue;
    tags.before += Object.keys(create(bytes).parse().tags).length;
    const left = create(output).parse().tags;
    tags.after += Object.keys(left).length;
    assert.deepEqual(left, before.orientation === 1 ? {} : { Orientation: before.orientation }, name);
  }
  assert.ok(pictures.length > 14 && tags.before > 200, `${pictures.length} pictures, ${tags.before} tags`);
  t.diagnostic(`${pictures.length} pictures: ${counts}; EXIF tags ${tags.before}, then ${tags.after}`);
});

const text = (bytes: string) => Buffer.from(bytes, "latin1");
const flood = (head: Buffer, part: Buffer) =>
  Buffer.concat([head, Buffer.alloc(2 ** 20 * part.length, part)]);
const gif = (...parts: string[]) => text(`GIF89a\x03\0\x04\0\0\0\0${parts.join("")}`);
const CANVAS = webpChunk("VP8X", Buffer.from([8, 0, 0, 0, 2, 0, 0, 3, 0, 0]));
const SMALL = { width: 3, height: 4 };
const endless = (bytes: Buffer) => bytes.fill(0xff, 4, 8);

const HOSTILE: [what: string, bytes: Buffer, size: PictureSize | null, outcome: "stripped" | "refused"][] = [
  [
    "a PNG of 900 million pixels",
    Buffer.concat([pngHeader(30_000, 30_000), pngChunk("IDAT"), pngChunk("IEND")]),
    { width: 30_000, height: 30_000 },
    "stripped",
  ],
  [
    "a PNG of 4 billion pixels",
    Buffer.concat([pngHeader(65_000, 65_000), pngChunk("IDAT"), pngChunk("IEND")]),
    { width: 65_000, height: 65_000 },
    "stripped",
  ],
  [
    "a PNG of no width",
    Buffer.concat([pngHeader(0, 4), pngChunk("IDAT"), pngChunk("IEND")]),
    null,
    "stripped",
  ],
  ["a PNG of a header alone", pngHeader(3, 4), null, "refused"],
  [
    "a PNG whose chunk has 4 GiB",
    Buffer.concat([pngHeader(3, 4), text("\xff\xff\xff\xfftEXt")]),
    null,
    "refused",
  ],
  [
    "a PNG whose chunk has 2 GiB",
    Buffer.concat([pngHeader(3, 4), text("\x7f\xff\xff\xfftEXt")]),
    null,
    "refused",
  ],
  ["a PNG of chunks of no bytes", flood(pngHeader(3, 4), pngChunk("tEXt")), null, "refused"],
  ["a PNG of endless pixels", flood(pngHeader(3, 4), pngChunk("IDAT")), SMALL, "refused"],
  [
    "a JPEG of 4 billion pixels",
    Buffer.concat([SOI, jpegFrame(65_000, 65_000), jpegSegment(0xda), EOI]),
    { width: 65_000, height: 65_000 },
    "stripped",
  ],
  ["a JPEG of no height", Buffer.concat([SOI, jpegFrame(3, 0), jpegSegment(0xda), EOI]), null, "stripped"],
  ["a JPEG of nothing", Buffer.concat([SOI, EOI]), null, "stripped"],
  ["a JPEG of starts", flood(SOI, SOI), null, "refused"],
  ["a JPEG whose segment has length 0", flood(SOI, text("\xff\xe1\0\0")), null, "refused"],
  ["a JPEG whose segment has length 1", flood(SOI, text("\xff\xe1\0\x01")), null, "refused"],
  ["a JPEG of segments of no bytes", flood(SOI, jpegSegment(0xe1)), null, "refused"],
  ["a JPEG of fill bytes", flood(SOI, text("\xff")), null, "refused"],
  [
    "a JPEG of endless pixels",
    flood(Buffer.concat([SOI, jpegFrame(3, 4), jpegSegment(0xda)]), text("\xff\0")),
    SMALL,
    "refused",
  ],
  [
    "a JPEG of endless restarts",
    flood(Buffer.concat([SOI, jpegFrame(3, 4), jpegSegment(0xda)]), text("\xff\xd0")),
    SMALL,
    "refused",
  ],
  [
    "a JPEG of thumbnails in each other",
    flood(SOI, Buffer.concat([jpegSegment(0xe1, Buffer.concat([text("Exif\0\0"), SOI]))])),
    null,
    "refused",
  ],
  [
    "an EXIF block whose directory is itself",
    Buffer.concat([
      SOI,
      jpegSegment(0xe1, "Exif\0\0II*\0\x08\0\0\0\xff\xff\0\0\x08\0\0\0"),
      jpegFrame(3, 4),
      EOI,
    ]),
    SMALL,
    "stripped",
  ],
  [
    "an EXIF block whose directory is far away",
    Buffer.concat([SOI, jpegSegment(0xe1, "Exif\0\0II*\0\xff\xff\xff\xff"), jpegFrame(3, 4), EOI]),
    SMALL,
    "stripped",
  ],
  ["a GIF of no pixels", text("GIF89a\0\0\0\0\0\0\0;"), null, "stripped"],
  ["a GIF of empty comments", flood(gif(), text("!\xfe\0")), SMALL, "refused"],
  ["a GIF of an endless comment", flood(gif("!\xfe"), text("\x01x")), SMALL, "refused"],
  [
    "a GIF of 65,536 frames",
    Buffer.concat([gif(), Buffer.alloc(65_536 * 12, text(",\0\0\0\0\x01\0\x01\0\0\x02\0")), text(";")]),
    SMALL,
    "stripped",
  ],
  [
    "a WebP of 280 billion pixels",
    webp(webpChunk("VP8X", Buffer.from([0, 0, 0, 0, ...Buffer.alloc(6, 0xff)]))),
    { width: 2 ** 24, height: 2 ** 24 },
    "stripped",
  ],
  ["a WebP whose RIFF has no bytes", webp(CANVAS).fill(0, 4, 8), SMALL, "refused"],
  ["a WebP of nothing", webp(), null, "stripped"],
  ["a WebP of chunks of no bytes", flood(endless(webp(CANVAS)), webpChunk("ICCP")), null, "refused"],
  ["a WebP whose chunk has 4 GiB", endless(webp(CANVAS, text("EXIF\xff\xff\xff\xff"))), null, "refused"],
  [
    "a WebP of frames within each other",
    webp(webpChunk("ANMF", Buffer.concat([Buffer.alloc(16), webpChunk("ANMF", Buffer.alloc(16))]))),
    null,
    "stripped",
  ],
  ["a HEIC of boxes of no size", flood(text("\0\0\0\x18ftypheic"), Buffer.alloc(8)), null, "refused"],
  [
    "a JPEG XL of boxes of no size",
    flood(text("\0\0\0\x0cJXL \r\n\x87\n"), text("\0\0\0\0jxlp")),
    null,
    "refused",
  ],
  ["a TIFF whose directory is itself", flood(text("II*\0\x08\0\0\0"), Buffer.alloc(8, 1)), null, "refused"],
];

test("pictures made to break programs have a size or none, and are stripped or refused", (t) => {
  const counts = new Counts();
  for (const [what, bytes, size, outcome] of HOSTILE) {
    const output = tryStripping(bytes);
    assert.deepEqual([sizeOf(bytes), output ? "stripped" : "refused"], [size, outcome], what);
    counts.add(size, output);
  }
  t.diagnostic(`${HOSTILE.length} files: ${counts}`);
});

test("truncated pictures are refused, and have their size or none", (t) => {
  const counts = new Counts();
  for (const { name, bytes } of pictures) {
    const size = sizeOf(bytes);
    for (let part = 0.01; part < 1; part += 0.01) {
      const cut = bytes.subarray(0, Math.floor(bytes.length * part));
      const output = tryStripping(cut);
      assert.ok(output === undefined, `${name}, ${cut.length} bytes`);
      const read = sizeOf(cut);
      if (read !== null) assert.deepEqual(read, size, name);
      counts.add(read, output);
    }
  }
  t.diagnostic(String(counts));
});

test("pictures with a changed header byte have a size or none, and are stripped or refused", (t) => {
  const chance = seededChance(t);
  const counts = new Counts();
  for (let index = 0; index < (isLong ? 50_000 : 1000); index++) {
    const bytes = Buffer.from(small[Math.floor(chance() * small.length)]!.bytes);
    for (let changes = 0; changes <= chance() * 4; changes++)
      bytes[Math.floor(chance() ** 3 * bytes.length)] = Math.floor(chance() * 256);
    const output = tryStripping(bytes);
    if (output) assert.ok(stripped(output).equals(output));
    counts.add(sizeOf(bytes), output);
  }
  t.diagnostic(String(counts));
});
