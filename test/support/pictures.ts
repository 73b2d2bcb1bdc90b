// Pictures made by sharp, some with metadata that must not leak, and how sharp reads pictures.
import sharp, { type Sharp } from "sharp";
import type { PictureSize } from "../../src/core/files/picture-size.ts";
import { type Picture, pngChunk, pngHeader } from "./picture-bytes.ts";

const WIDTH = 37;
const HEIGHT = 21;
/** The seconds of the latitude, which is stored as a fraction. */
const SECONDS = [0x1267, 0x65];
const XMP =
  '<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/" dc:format="Secret packet"/></rdf:RDF></x:xmpmeta><?xpacket end="w"?>';
const EXIF = {
  IFD0: { Make: "Secret maker", ImageDescription: "Secret serial 4711" },
  IFD2: { DateTimeOriginal: "2026:02:03 04:05:06" },
  IFD3: { GPSLatitudeRef: "N", GPSLatitude: `48/1 8/1 ${SECONDS.join("/")}`, GPSLongitudeRef: "E" },
};

/** Returns the secrets in these bytes. */
export function secretsIn(bytes: Buffer): string[] {
  const fraction = (write: "writeUInt32LE" | "writeUInt32BE") => {
    const both = Buffer.alloc(8);
    for (const [index, part] of SECONDS.entries()) both[write](part, index * 4);
    return both;
  };
  const secrets: [string, string | Buffer][] = [
    ["maker", "Secret maker"],
    ["serial number", "Secret serial 4711"],
    ["time", "2026:02:03 04:05:06"],
    ["XMP", "Secret packet"],
    ["place", fraction("writeUInt32LE")],
    ["place", fraction("writeUInt32BE")],
  ];
  return [...new Set(secrets.filter(([, bytesOf]) => bytes.includes(bytesOf)).map(([name]) => name))];
}

/** Colors that compress badly, so that the data of a JPEG contains all codes. */
function pixels(seed: number, channels: 3 | 4): Sharp {
  const bytes = Buffer.alloc(WIDTH * HEIGHT * channels);
  let state = seed;
  for (let at = 0; at < bytes.length; at++) {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    bytes[at] = state >>> 16;
  }
  return sharp(bytes, { raw: { width: WIDTH, height: HEIGHT, channels } });
}

async function animation(): Promise<Sharp> {
  const frames = await Promise.all([1, 2, 3].map((seed) => pixels(seed, 4).png().toBuffer()));
  return sharp(frames, { join: { animated: true } });
}

function withSecrets(picture: Sharp, orientation?: number): Sharp {
  const turned = orientation === undefined ? picture : picture.withMetadata({ orientation });
  return turned.withExif(EXIF).withXmp(XMP).withIccProfile("p3");
}

/** Returns a PNG with uncompressed XMP, which sharp would compress. */
function withPacket(png: Buffer): Buffer {
  const packet = pngChunk("iTXt", Buffer.from(`XML:com.adobe.xmp\0\0\0\0\0${XMP}`));
  const at = pngHeader(1, 1).length;
  return Buffer.concat([png.subarray(0, at), packet, png.subarray(at)]);
}

const FORMATS: Record<string, (picture: Sharp) => Sharp> = {
  "baseline.jpg": (picture) => picture.jpeg({ quality: 100 }),
  "progressive.jpg": (picture) => picture.jpeg({ progressive: true }),
  "grey.jpg": (picture) => picture.greyscale().jpeg(),
  "plain.png": (picture) => picture.png(),
  "interlaced.png": (picture) => picture.png({ progressive: true }),
  "palette.png": (picture) => picture.png({ palette: true }),
  "lossy.webp": (picture) => picture.webp(),
  "lossless.webp": (picture) => picture.webp({ lossless: true }),
};

/** Returns pictures of all formats and orientations, with secrets. A GIF has no orientation. */
export async function picturesWithSecrets(): Promise<(Picture & { orientation: number })[]> {
  const made = Object.entries(FORMATS).flatMap(([name, format]) =>
    [undefined, 1, 2, 3, 4, 5, 6, 7, 8].map(async (orientation) => {
      const channels = name.endsWith(".jpg") ? 3 : 4;
      const made = await format(withSecrets(pixels(7, channels), orientation)).toBuffer();
      const bytes = name.endsWith(".png") ? withPacket(made) : made;
      return { name: `${orientation ?? "no"}-${name}`, bytes, orientation: orientation ?? 1 };
    }),
  );
  const animated = await withSecrets(await animation(), 6)
    .webp()
    .toBuffer();
  return [...(await Promise.all(made)), { name: "animated.webp", bytes: animated, orientation: 6 }];
}

/** Returns the same without metadata. */
export async function plainPictures(): Promise<Picture[]> {
  const made = Object.entries(FORMATS).map(async ([name, format]) => ({
    name,
    bytes: await format(pixels(7, name.endsWith(".jpg") ? 3 : 4)).toBuffer(),
  }));
  const moving = await animation();
  return [
    ...(await Promise.all(made)),
    { name: "still.gif", bytes: await pixels(7, 4).gif().toBuffer() },
    { name: "animated.gif", bytes: await moving.clone().gif({ loop: 3 }).toBuffer() },
    { name: "animated.webp", bytes: await moving.clone().webp().toBuffer() },
  ];
}

/** Decodes all frames of a picture, without applying its orientation. */
export async function decoded(
  bytes: Buffer,
): Promise<{ pixels: Buffer; orientation: number; icc: Buffer | undefined }> {
  const picture = sharp(bytes, { animated: true, failOn: "none" });
  const { orientation = 1, icc } = await picture.metadata();
  return { pixels: await picture.clone().raw().toBuffer(), orientation, icc };
}

/** Returns the size that sharp reads. */
export async function sizeBySharp(bytes: Buffer): Promise<PictureSize> {
  const { autoOrient } = await sharp(bytes, { failOn: "none", unlimited: true }).metadata();
  return { width: autoOrient.width, height: autoOrient.height };
}
