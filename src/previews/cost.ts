import { MAX_RATIO } from "./frames.ts";

/** A picture with more pixels has no preview. */
export const MAX_PIXELS = 100_000_000;
/** One pixel of a preview, which is encoded, takes as long as so many pixels of its picture, which are decoded. */
const ENCODED_PIXEL = 8;
/** So does a byte: a decoder also unpacks texts beside the pixels. */
const BYTE = 2;
/** A preview that costs no more takes a tenth of a second at most, whatever its picture is. */
export const CHEAP = 3_500_000;

/** In pixels. */
export interface Size {
  width: number;
  height: number;
}

/** Returns the cost of a preview of this width, in pixels that are decoded. */
export function costOf({ shape, size }: { shape: Size | null; size: number }, width: number): number {
  const { width: w, height: h } = shape ?? { width: MAX_PIXELS, height: 1 };
  const scale = Math.min(1, width / w, (width * MAX_RATIO) / h);
  return Math.ceil(w * h + ENCODED_PIXEL * w * h * scale ** 2 + BYTE * size);
}
