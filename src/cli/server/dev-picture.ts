import { crc32, deflateSync } from "node:zlib";

const SKY = [
  [38, 42, 97],
  [226, 108, 88],
  [255, 205, 120],
] as const;
const SUN = [255, 241, 190] as const;
const SEA = [24, 38, 74] as const;

/** Draws a sunset over the sea, as a PNG (PNG Specification, section 5). */
export function drawSunset(width: number, height: number): Uint8Array<ArrayBuffer> {
  // A row begins with the type of its filter: none.
  const rows = Buffer.alloc(height * (1 + width * 3));
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++)
      rows.set(colourAt(x / height, y / height, width / height), y * (1 + width * 3) + 1 + x * 3);
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  // 8 bits of red, green and blue.
  header.set([8, 2], 8);
  const parts = [chunk("IHDR", header), chunk("IDAT", deflateSync(rows)), chunk("IEND", Buffer.alloc(0))];
  return new Uint8Array(Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), ...parts]));
}

/** Returns the colour at a place, measured in heights of the picture. */
function colourAt(x: number, y: number, width: number): readonly number[] {
  const horizon = 0.68;
  if (y > horizon) return SEA;
  if (Math.hypot(x - width / 2, y - 0.55) < 0.12) return SUN;
  const place = (y / horizon) * (SKY.length - 1);
  const index = Math.min(Math.floor(place), SKY.length - 2);
  const [above, below] = [SKY[index]!, SKY[index + 1]!];
  return above.map((value, i) => value + (below[i]! - value) * (place - index));
}

function chunk(type: string, data: Buffer): Buffer {
  const content = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const framed = Buffer.alloc(content.length + 8);
  framed.writeUInt32BE(data.length, 0);
  framed.set(content, 4);
  framed.writeUInt32BE(crc32(content), content.length + 4);
  return framed;
}
