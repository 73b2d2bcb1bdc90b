import { type Parser, take } from "./picture-parser.ts";

/** The format of a picture, and the bytes by which it was detected. */
export interface PictureFormat {
  name: "JPEG" | "PNG" | "GIF" | "WebP";
  signature: Buffer;
}

/** Takes the signature of a picture, at most 12 bytes. Returns null if the file is not a picture of these formats. */
export function* takeSignature(): Parser<PictureFormat | null> {
  const first = yield take(2);
  if (first.readUInt16BE() === 0xffd8) return { name: "JPEG", signature: first };
  const six = Buffer.concat([first, yield take(4)]);
  const text = six.toString("latin1");
  if (text === "GIF87a" || text === "GIF89a") return { name: "GIF", signature: six };
  if (text === "\x89PNG\r\n") {
    const signature = Buffer.concat([six, yield take(2)]);
    return signature.toString("latin1", 6) === "\x1a\n" ? { name: "PNG", signature } : null;
  }
  if (!text.startsWith("RIFF")) return null;
  const signature = Buffer.concat([six, yield take(6)]);
  return signature.toString("latin1", 8) === "WEBP" ? { name: "WebP", signature } : null;
}

/** The codes of JPEG markers. */
export const JPEG = {
  EOI: 0xd9,
  SOS: 0xda,
  APP0: 0xe0,
  APP1: 0xe1,
  APP2: 0xe2,
  APP14: 0xee,
  APP15: 0xef,
  COM: 0xfe,
};

/** Takes a JPEG marker with the fill bytes before it, and returns its code; 0 if there is none. */
export function* takeMarker(): Parser<number> {
  if ((yield take(1))[0] !== 0xff) return 0;
  return yield* takeMarkerCode();
}

/** Takes the rest of a marker after its first byte, and returns its code. */
export function* takeMarkerCode(): Parser<number> {
  for (;;) {
    const code = (yield take(1))[0]!;
    if (code !== 0xff) return code;
  }
}

/** Reports whether this marker begins a segment with a length, unlike the start and end of the picture, restarts and reserved ones. */
export function isSegment(code: number): boolean {
  return (code >= 0xc0 && code < 0xd0) || (code >= JPEG.SOS && code <= JPEG.APP15) || code === JPEG.COM;
}
