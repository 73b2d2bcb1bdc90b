// The contents of previews.
import assert from "node:assert/strict";
import { test } from "node:test";
import sharp from "sharp";
import { thumbHashToApproximateAspectRatio, thumbHashToRGBA } from "thumbhash";
import { PREVIEW_WIDTHS } from "../../src/core/node/previews.ts";
import { makeOf, noise, testMaker, twoColours } from "./pictures.ts";

/** Returns the colour at a point, given as fractions of width and height. */
async function colourAt(picture: Uint8Array, x: number, y: number): Promise<string> {
  const { data, info } = await sharp(picture).raw().toBuffer({ resolveWithObject: true });
  const at = (Math.floor(y * info.height) * info.width + Math.floor(x * info.width)) * info.channels;
  const [red, green, blue] = [...data.subarray(at, at + 3)].map((value) => Math.round(value / 255));
  return red && !blue ? "red" : blue && !red ? "blue" : green ? "white" : "black";
}

const picture = () => twoColours(1400, 700);
const FORMATS: Record<string, () => Promise<Buffer>> = {
  JPEG: () => picture().jpeg().toBuffer(),
  "progressive JPEG": () => picture().jpeg({ progressive: true }).toBuffer(),
  "CMYK JPEG": () => picture().toColourspace("cmyk").jpeg().toBuffer(),
  PNG: () => picture().png().toBuffer(),
  "PNG with a palette": () => picture().png({ palette: true }).toBuffer(),
  "16-bit PNG": () => picture().toColourspace("rgb16").png().toBuffer(),
  WebP: () => picture().webp().toBuffer(),
  GIF: () => picture().gif().toBuffer(),
};

test("each format has a preview in each width", async (t) => {
  const { maker, failures } = testMaker(t);
  for (const [format, create] of Object.entries(FORMATS)) {
    const bytes = await create();
    for (const width of PREVIEW_WIDTHS) {
      const made = await makeOf(maker, bytes, width);
      assert.ok(made, format);
      const is = await sharp(made.webp).metadata();
      assert.deepEqual(
        [is.format, is.width, is.height, is.space],
        ["webp", width, width / 2, "srgb"],
        format,
      );
      assert.equal(await colourAt(made.webp, 0.2, 0.5), "red", format);
      assert.equal(await colourAt(made.webp, 0.8, 0.5), "blue", format);
    }
  }
  assert.deepEqual(failures, []);
});

test("a small picture is not enlarged, and the preview of a long one is limited", async (t) => {
  const { maker } = testMaker(t);
  const sizes = [
    [100, 50, 100, 50],
    [1, 1, 1, 1],
    [320, 200, 320, 200],
    [600, 12_000, 64, 1280],
    [12_000, 600, 320, 16],
  ] as const;
  for (const [width, height, toWidth, toHeight] of sizes) {
    const made = await makeOf(maker, await twoColours(width, height).png().toBuffer());
    const is = await sharp(made!.webp).metadata();
    assert.deepEqual([is.width, is.height], [toWidth, toHeight]);
  }
});

test("a preview is turned as its metadata says, and contains no metadata", async (t) => {
  const { maker } = testMaker(t);
  const exif = {
    IFD0: { Model: "Camera 3000" },
    IFD3: { GPSLatitudeRef: "N", GPSLatitude: "51/1 30/1 0/1" },
  };
  const turned = await picture().withExif(exif).withMetadata({ orientation: 6 }).jpeg().toBuffer();
  const of = await sharp(turned).metadata();
  assert.ok(of.exif?.includes("Camera 3000") && of.icc);
  const { webp } = (await makeOf(maker, turned))!;
  const is = await sharp(webp).metadata();
  assert.deepEqual([is.width, is.height], [320, 640]);
  assert.deepEqual([is.orientation, is.exif, is.icc, is.xmp], [undefined, undefined, undefined, undefined]);
  assert.ok(!Buffer.from(webp).includes("Camera 3000"));
  assert.deepEqual([await colourAt(webp, 0.5, 0.2), await colourAt(webp, 0.5, 0.8)], ["red", "blue"]);
});

test("transparency is kept", async (t) => {
  const { maker } = testMaker(t);
  const background = { r: 255, g: 0, b: 0, alpha: 0.5 };
  const create = { width: 400, height: 400, channels: 4, background } as const;
  for (const bytes of [await sharp({ create }).png().toBuffer(), await sharp({ create }).webp().toBuffer()]) {
    const { webp, placeholder } = (await makeOf(maker, bytes))!;
    const { hasAlpha } = await sharp(webp).metadata();
    assert.ok(hasAlpha);
    const { rgba } = thumbHashToRGBA(Buffer.from(placeholder, "base64"));
    assert.ok(Math.abs(rgba[3]! - 128) < 20, `alpha ${rgba[3]}`);
  }
});

test("an animation shows its first frame", async (t) => {
  const { maker } = testMaker(t);
  const frames = await Promise.all(
    ["red", "blue", "green"].map((background) =>
      sharp({ create: { width: 400, height: 300, channels: 3, background } })
        .png()
        .toBuffer(),
    ),
  );
  const animation = sharp(frames, { join: { animated: true } });
  for (const bytes of [await animation.clone().gif().toBuffer(), await animation.clone().webp().toBuffer()]) {
    assert.equal((await sharp(bytes).metadata()).pages, 3);
    const { webp } = (await makeOf(maker, bytes))!;
    const is = await sharp(webp).metadata();
    assert.deepEqual([is.width, is.height, is.pages ?? 1], [320, 240, 1]);
    assert.equal(await colourAt(webp, 0.5, 0.5), "red");
  }
});

test("the placeholder has the shape and the colours of the picture", async (t) => {
  const { maker } = testMaker(t);
  for (const width of PREVIEW_WIDTHS) {
    const { placeholder } = (await makeOf(maker, await picture().jpeg().toBuffer(), width))!;
    const hash = Buffer.from(placeholder, "base64");
    assert.equal(hash.toString("base64"), placeholder);
    // A ThumbHash stores an aspect ratio of 2 as 7 to 4.
    assert.equal(thumbHashToApproximateAspectRatio(hash), 1.75);
    const { w, h, rgba } = thumbHashToRGBA(hash);
    const middle = Math.floor(h / 2) * w;
    const [left, right] = [rgba.slice(middle * 4 + 4), rgba.slice((middle + w - 2) * 4)];
    assert.ok(left[0]! > left[2]! && right[2]! > right[0]!, `${left.slice(0, 4)} ${right.slice(0, 4)}`);
  }
  const { placeholder } = (await makeOf(maker, await noise(50, 50).png().toBuffer()))!;
  assert.equal(thumbHashToApproximateAspectRatio(Buffer.from(placeholder, "base64")), 1);
});
