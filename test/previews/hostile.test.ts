// Files that attack or exhaust decoders have no preview, and the process survives.
import assert from "node:assert/strict";
import { test } from "node:test";
import sharp from "sharp";
import { MAX_PICTURE_BYTES } from "../../src/previews/maker.ts";
import { blackPng } from "../support/picture-bytes.ts";
import { peakBytes } from "../support/usage.ts";
import { claiming, makeOf, noise, pictureOf, testMaker, twoColours } from "./pictures.ts";

/** In bytes. Without a bomb the process uses less than 100 MB. */
const MAX_MEMORY = 250_000_000;

/** A GIF of 65,535 by 65,535 pixels that contains a single one. */
const HUGE_GIF = Buffer.from(
  "474946383961ffffffff80000000000000ffffff2c00000000010001000002024401003b",
  "hex",
);

async function bombs(): Promise<Record<string, Buffer>> {
  const jpeg = await twoColours(200, 200).jpeg().toBuffer();
  return {
    "PNG of 900 million pixels": blackPng(30_000, 30_000),
    "PNG of 256 million pixels": blackPng(16_000, 16_000),
    "interlaced PNG of 256 million pixels": blackPng(16_000, 16_000, true),
    "JPEG that claims 65,000 pixels each way": claiming(jpeg, 65_000, 65_000),
    "GIF of 65,535 pixels each way": HUGE_GIF,
  };
}

test("decompression bombs have no preview and use little memory", async (t) => {
  const { maker, failures } = testMaker(t);
  const good = await twoColours(400, 300).png().toBuffer();
  assert.ok(await makeOf(maker, good));
  const pid = maker.pid!;
  for (const [name, bytes] of Object.entries(await bombs())) {
    assert.ok(bytes.length < 2_000_000, name);
    assert.equal(await makeOf(maker, bytes), null, name);
    assert.ok(await makeOf(maker, good), name);
  }
  assert.equal(maker.pid, pid);
  const peak = peakBytes(pid);
  assert.ok(peak < MAX_MEMORY, `${peak} bytes`);
  assert.deepEqual(failures, []);
});

test("formats that are not allowed have no preview, even if the decoder knows them", async (t) => {
  const { maker } = testMaker(t);
  const picture = twoColours(64, 64);
  const avif = await picture.clone().avif().toBuffer();
  const heic = Buffer.from(avif);
  heic.write("heic", 8);
  const others: Record<string, Buffer> = {
    SVG: Buffer.from(
      '<svg xmlns="http://www.w3.org/2000/svg" width="64" height="64"><rect width="64" height="64"/></svg>',
    ),
    TIFF: await picture.clone().tiff().toBuffer(),
    AVIF: avif,
    "AVIF that claims to be HEIC": heic,
  };
  for (const [name, bytes] of Object.entries(others)) {
    if (!name.includes("HEIC")) assert.ok((await sharp(bytes).metadata()).width, name);
    assert.equal(await makeOf(maker, bytes), null, name);
  }
  assert.ok(await makeOf(maker, await picture.png().toBuffer()));
});

test("damaged pictures have no preview", async (t) => {
  const { maker } = testMaker(t);
  const whole = {
    JPEG: await noise(600, 400).jpeg().toBuffer(),
    "progressive JPEG": await noise(600, 400).jpeg({ progressive: true }).toBuffer(),
    PNG: await noise(600, 400).png().toBuffer(),
    WebP: await noise(600, 400).webp().toBuffer(),
  };
  for (const [format, bytes] of Object.entries(whole)) {
    assert.ok(await makeOf(maker, bytes), format);
    assert.equal(await makeOf(maker, bytes.subarray(0, bytes.length / 2)), null, format);
  }
  for (const text of ["", "x", "GIF89a", "\x89PNG\r\n\x1a\n", "\xff\xd8\xff", "RIFF\x00\x00\x00\x00WEBPVP8 "])
    assert.equal(await makeOf(maker, Buffer.from(text, "latin1")), null, JSON.stringify(text));
  assert.ok(await makeOf(maker, whole.PNG));
});

test("a picture that is too large is not read", async (t) => {
  const { maker } = testMaker(t);
  const read = async () => assert.fail("It was read.");
  assert.equal(await maker.make(pictureOf(read, MAX_PICTURE_BYTES + 1), 320), null);
  assert.equal(maker.pid, undefined);
});
