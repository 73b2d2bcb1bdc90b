import { MAX_PIXELS } from "../util/sizes.ts";
import { MAX_RATIO } from "./frames.ts";

/** Encoding a pixel of the preview takes as long as decoding this many pixels of the picture. */
const ENCODED_PIXEL = 8;
/** A byte of the file costs this many pixels: decoders also unpack text chunks. */
const BYTE = 2;
/** A preview of at most this cost takes at most a tenth of a second, whatever the picture. */
export const CHEAP = 3_500_000;

/** In pixels. */
export interface Size {
  width: number;
  height: number;
}

/** Returns the cost of a preview of this width, in decoded pixels. */
export function toCost({ shape, size }: { shape: Size | null; size: number }, width: number): number {
  const { width: w, height: h } = shape ?? { width: MAX_PIXELS, height: 1 };
  const scale = Math.min(1, width / w, (width * MAX_RATIO) / h);
  return Math.ceil(w * h + ENCODED_PIXEL * w * h * scale ** 2 + BYTE * size);
}
