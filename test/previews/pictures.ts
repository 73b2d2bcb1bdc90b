// Pictures, good and bad, and the parts that make previews of them.

import type { TestContext } from "node:test";
import { crc32, deflateSync } from "node:zlib";
import sharp, { type Sharp } from "sharp";
import { childCommand, findSharp } from "../../src/previews/command.ts";
import { type Life, PreviewMaker } from "../../src/previews/maker.ts";

/** Red on the left, blue on the right. */
export function twoColours(width: number, height: number): Sharp {
  const half = Math.floor(width / 2);
  const blue = { create: { width: width - half, height, channels: 3, background: "blue" } } as const;
  return sharp({ create: { width, height, channels: 3, background: "red" } }).composite([
    { input: blue, left: half, top: 0 },
  ]);
}

/** As a camera takes them: nothing in them is alike. */
export function noise(width: number, height: number): Sharp {
  const gaussian = { type: "gaussian", mean: 128, sigma: 40 } as const;
  return sharp({ create: { width, height, channels: 3, background: "white", noise: gaussian } });
}

/** A PNG of one grey, of 1 or 8 bits a pixel; `interlaced` decodes slower. */
export function greyPng(width: number, height: number, { bits = 8, interlaced = false } = {}): Buffer {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([bits, 0, 0, 0, interlaced ? 1 : 0], 8);
  const row = Math.ceil((width * bits) / 8) + 1;
  // Seven passes have as many pixels, and up to two bytes for each row of each.
  const pixels = Buffer.alloc(height * (interlaced ? row + 14 : row));
  return Buffer.concat([
    Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
    chunk("IHDR", head),
    chunk("IDAT", deflateSync(pixels, { level: 1 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data]);
  const frame = Buffer.alloc(8);
  frame.writeUInt32BE(data.length, 0);
  frame.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
}

/** The same JPEG with other dimensions in its header. */
export function claiming(jpeg: Buffer, width: number, height: number): Buffer {
  const changed = Buffer.from(jpeg);
  const frame = changed.indexOf(Buffer.from([0xff, 0xc0]));
  changed.writeUInt16BE(height, frame + 5);
  changed.writeUInt16BE(width, frame + 7);
  return changed;
}

export interface TestMaker {
  maker: PreviewMaker;
  /** What the operator is told. */
  failures: unknown[];
}

/** Its process has time, because others go first. */
export function testMaker(t: TestContext, life: Partial<Life> = {}): TestMaker {
  const failures: unknown[] = [];
  const { command } = childCommand(findSharp());
  const maker = new PreviewMaker(command, (error) => failures.push(error), { timeLimitMs: 60_000, ...life });
  t.after(() => maker.close());
  return { maker, failures };
}

export function makeOf(maker: PreviewMaker, picture: Uint8Array, width = 320) {
  return maker.make(async () => picture, picture.length, width);
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
