// Valid and invalid pictures, and the parts that make previews of them.
import type { TestContext } from "node:test";
import sharp, { type Sharp } from "sharp";
import { childCommand, findSharp } from "../../src/previews/command.ts";
import { type Life, type Picture, PreviewMaker } from "../../src/previews/maker.ts";

/** Red on the left, blue on the right. */
export function twoColours(width: number, height: number): Sharp {
  const half = Math.floor(width / 2);
  const blue = { create: { width: width - half, height, channels: 3, background: "blue" } } as const;
  return sharp({ create: { width, height, channels: 3, background: "red" } }).composite([
    { input: blue, left: half, top: 0 },
  ]);
}

/** Like a photo: no two parts are equal. */
export function noise(width: number, height: number): Sharp {
  const gaussian = { type: "gaussian", mean: 128, sigma: 40 } as const;
  return sharp({ create: { width, height, channels: 3, background: "white", noise: gaussian } });
}

/** Changes the dimensions in the header of a JPEG. */
export function claiming(jpeg: Buffer, width: number, height: number): Buffer {
  const changed = Buffer.from(jpeg);
  const frame = changed.indexOf(Buffer.from([0xff, 0xc0]));
  changed.writeUInt16BE(height, frame + 5);
  changed.writeUInt16BE(width, frame + 7);
  return changed;
}

export interface TestMaker {
  maker: PreviewMaker;
  /** The failures reported to the operator. */
  failures: unknown[];
}

export function testMaker(t: TestContext, life: Partial<Life> = {}): TestMaker {
  const failures: unknown[] = [];
  const { command } = childCommand(findSharp());
  const maker = new PreviewMaker(command, (error) => failures.push(error), life);
  t.after(() => maker.close());
  return { maker, failures };
}

export function makeOf(maker: PreviewMaker, picture: Uint8Array, width = 320) {
  return maker.make(
    pictureOf(async () => picture, picture.length),
    width,
  );
}

export function pictureOf(read: Picture["read"], size: number, uploaderId = "ann"): Picture {
  return { read, size, uploaderId, cost: 1 };
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Yields the bytes in two halves, and awaits something in between. */
export async function* interrupted(
  bytes: Uint8Array,
  between: () => void | Promise<void>,
): AsyncGenerator<Uint8Array> {
  yield bytes.subarray(0, bytes.length / 2);
  await between();
  yield bytes.subarray(bytes.length / 2);
}

/** Returns a `read` that hangs after the first half, and a promise that resolves then. */
export function endless(bytes: Uint8Array) {
  const { promise: isReading, resolve } = Promise.withResolvers<void>();
  const { promise: forever } = Promise.withResolvers<void>();
  const read = async () =>
    interrupted(bytes, () => {
      resolve();
      return forever;
    });
  return { read, isReading };
}
