// The process that decodes untrusted pictures, started by `process.ts`. Reads pictures from standard input and writes
// previews to standard output.
import sharp from "sharp";
import { rgbaToThumbHash } from "thumbhash";
import { ExactReader, formatAnswer, MAX_RATIO, parseRequest, REQUEST_BYTES, type Request } from "./frames.ts";

/**
 * The formats that browsers show and phones send. The other decoders are less tested and had most of the
 * vulnerabilities.
 */
const LOADERS = ["VipsForeignLoadJpeg", "VipsForeignLoadPng", "VipsForeignLoadWebp", "VipsForeignLoadNsgif"];
const QUALITY = 75;
/** Side of the largest picture that ThumbHash accepts, in pixels. */
const PLACEHOLDER_SIDE = 100;
const MIB = 1024 * 1024;

const READING = {
  failOn: "truncated",
  sequentialRead: true,
  autoOrient: true,
  pages: 1,
} as const;

interface Made {
  webp: Uint8Array;
  placeholder: Uint8Array;
}

const NOTHING: Made = { webp: new Uint8Array(0), placeholder: new Uint8Array(0) };

/** Metadata is dropped, and colours become sRGB, unless sharp is asked to keep them. */
async function make(picture: Uint8Array, { width, maxPixels }: Request): Promise<Made> {
  const reading = { ...READING, limitInputPixels: maxPixels };
  const webp = await sharp(picture, reading)
    .resize({ width, height: width * MAX_RATIO, fit: "inside", withoutEnlargement: true })
    .webp({ quality: QUALITY })
    .toBuffer();
  const { data, info } = await sharp(webp, reading)
    .resize({ width: PLACEHOLDER_SIDE, height: PLACEHOLDER_SIDE, fit: "inside", withoutEnlargement: true })
    .ensureAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  const hash = rgbaToThumbHash(info.width, info.height, data);
  return { webp, placeholder: Buffer.from(Buffer.from(hash).toString("base64")) };
}

function answer({ webp, placeholder }: Made): void {
  const { user, system } = process.cpuUsage();
  const head = formatAnswer({
    webpSize: webp.length,
    placeholderSize: placeholder.length,
    memory: Math.round(process.memoryUsage.rss() / MIB),
    cpuSeconds: Math.round((user + system) / 1e6),
  });
  for (const part of [head, webp, placeholder]) process.stdout.write(part);
}

async function serve(): Promise<void> {
  const input = new ExactReader(process.stdin);
  // Signals that the process has started.
  answer(NOTHING);
  for (;;) {
    const head = await input.read(REQUEST_BYTES);
    if (!head) return;
    const request = parseRequest(head);
    const picture = await input.read(request.size);
    if (!picture) return;
    answer(await make(picture, request).catch(() => NOTHING));
  }
}

sharp.block({ operation: ["VipsForeignLoad"] });
sharp.unblock({ operation: LOADERS });
sharp.concurrency(1);
sharp.cache(false);
await serve();
