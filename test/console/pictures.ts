import { png, pngHeader } from "../support/picture-bytes.ts";

/** Returns a PNG. `color` gives red, green and blue from 0 to 255 for positions from 0 to 1. */
export function paint(
  width: number,
  height: number,
  color: (x: number, y: number) => [number, number, number],
): Buffer<ArrayBuffer> {
  const rows = Buffer.alloc(height * (1 + width * 3));
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const at = y * (1 + width * 3) + 1 + x * 3;
      color(x / width, y / height).forEach((value, index) => {
        rows[at + index] = Math.max(0, Math.min(255, Math.round(value)));
      });
    }
  }
  return png(pngHeader(width, height), rows);
}

export const PNG = paint(4, 4, () => [31, 111, 95]);
