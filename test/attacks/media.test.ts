// Files that hang media detectors or exhaust their memory: the server inspects only the first 4 KiB, and decodes
// nothing.
import assert from "node:assert/strict";
import { test } from "node:test";
import { detectType, SNIFF_BYTES } from "../../src/core/files/media-types.ts";
import { upload } from "../support/app.ts";
import { commandLine, tokenOf } from "../support/command.ts";
import { blackPng } from "../support/picture-bytes.ts";
import { inMib, noProc, residentBytes } from "../support/usage.ts";

/** More than two for each of the smallest parts, which have 24 bytes. */
const MAX_READS = 512;

const hex = (text: string) => Buffer.from(text.replaceAll(" ", ""), "hex");
const sized = (bytes: number) => {
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(bytes));
  return size;
};

const ASF = hex("3026b275 8e66cf11 a6d900aa 0062ce6c");
/** The bytes after the ASF magic number are those that parsers skip. */
const ASF_HEAD = Buffer.concat([ASF, Buffer.alloc(14)]);
const STREAM = hex("9107dcb7 b7a9cf11 8ee600c0 0c205365");

function filled(head: Buffer, repeated: Buffer, bytes = SNIFF_BYTES): Buffer {
  return Buffer.concat([head, Buffer.alloc(Math.max(0, bytes - head.length), repeated)]);
}

/** Containers with empty, endless or backward-pointing parts, on which a parser could loop forever. */
const CIRCLES: Record<string, Buffer> = {
  "ASF with an object of no size, as in CVE-2026-31808": filled(
    Buffer.concat([ASF_HEAD, Buffer.alloc(16), sized(0)]),
    Buffer.alloc(1),
  ),
  "ASF of objects of no size": filled(ASF_HEAD, Buffer.concat([Buffer.alloc(16), sized(0)])),
  "ASF of objects without content": filled(ASF_HEAD, Buffer.concat([Buffer.alloc(16, 1), sized(24)])),
  "ASF of objects one byte short of their head": filled(
    ASF_HEAD,
    Buffer.concat([Buffer.alloc(16, 1), sized(23)]),
  ),
  "ASF of streams of no known kind": filled(
    ASF_HEAD,
    Buffer.concat([STREAM, sized(24), Buffer.alloc(16, 1)]),
  ),
  "ASF with an object without an end": filled(
    ASF_HEAD,
    Buffer.concat([Buffer.alloc(16, 1), Buffer.alloc(8, 0xff)]),
  ),
  "Matroska of elements of no size, as in CVE-2022-36313": filled(hex("1a45dfa3 ff"), hex("4282 80")),
  "Matroska of elements within each other": filled(hex("1a45dfa3 80"), hex("1a45dfa3 80")),
  "ZIP of entries of no size": filled(hex("504b0304"), hex("504b0304").subarray(0, 4)),
  "ZIP of an entry of a name without an end": filled(
    hex("504b0304 1400 0000 0000 00000000 00000000 ffffffff ffffffff ffff ffff"),
    Buffer.from("a"),
  ),
  "PNG of chunks of no size": filled(hex("89504e47 0d0a1a0a"), hex("00000000 74455874 00000000")),
  "PNG of a chunk that goes back": filled(hex("89504e47 0d0a1a0a"), hex("ffffffff 74455874")),
  "TIFF whose directory is itself": filled(hex("49492a00 04000000 ffff"), hex("00000000 08000000")),
  "MP3 of tags of no size": filled(Buffer.from("ID3"), Buffer.from("ID3\u0004\0\0\0\0\0\0")),
  "gzip within gzip": filled(hex("1f8b0800 00000000 0003"), hex("1f8b0800 00000000 0003")),
  "Ogg of pages of nothing": filled(Buffer.from("OggS"), Buffer.from("OggS\0\0\0\0")),
};

/** Counts how often the detector reads from it, and stops a detector that never ends. */
class CountedBytes extends Uint8Array {
  static readonly [Symbol.species] = Uint8Array;
  reads = 0;

  override subarray(start?: number, end?: number): Uint8Array<ArrayBuffer> {
    this.reads++;
    assert.ok(this.reads <= MAX_READS, `more than ${MAX_READS} reads`);
    return super.subarray(start, end);
  }
}

test("the type of a hostile file is detected in few reads of its first bytes", async (t) => {
  let most = { reads: 0, name: "" };
  for (const [name, head] of Object.entries(CIRCLES)) {
    const bytes = new CountedBytes(head);
    assert.match(await detectType(bytes, undefined, "a"), /^[a-z]+\/[a-z0-9.+-]+$/);
    if (bytes.reads > most.reads) most = { reads: bytes.reads, name };
  }
  assert.ok(most.reads > 0);
  t.diagnostic(`${Object.keys(CIRCLES).length} files; at most ${most.reads} reads, of ${most.name}`);
});

/** A "lottapixel" image: a JPEG of a few bytes that claims 64,250 by 64,250 pixels. */
const JPEG = Buffer.concat([
  hex("ffd8 ffe0 0010 4a46494600 0101 00 0001 0001 00 00"),
  hex("ffc0 000b 08 fafa fafa 01 01 11 00"),
  hex("ffda 0008 01 01 00 00 3f 00 00 ffd9"),
]);
/** Returns a GIF of 65,535 by 65,535 pixels with this many frames. */
const GIF = Buffer.concat([
  hex("474946383961 ffff ffff 80 00 00 000000 ffffff"),
  Buffer.alloc(1000 * 15, hex("2c 0000 0000 ffff ffff 00 02 02 4c01 00")),
  hex("3b"),
]);

const MAX_GROWTH_BYTES = 200 * 1024 * 1024;

test("decompression bombs are stored unchanged and never decoded", {
  skip: noProc,
}, async (t) => {
  const command = await commandLine(t);
  const server = await command.serve();
  const pid = server.process.pid!;
  const user = { id: "", token: "", headers: { authorization: `Bearer ${tokenOf(server)}` } };
  await upload(command.url, user, new File(["x"], "a.txt"));
  const before = residentBytes(pid);
  let peak = before;
  const watch = setInterval(() => {
    peak = Math.max(peak, residentBytes(pid));
  }, 5);
  for (const [type, bytes] of [
    ["image/png", blackPng(20_000, 20_000)],
    ["image/jpeg", JPEG],
    ["image/gif", GIF],
  ] as const) {
    for (let i = 0; i < 10; i++) {
      const made = await upload(command.url, user, new File([new Uint8Array(bytes)], "bomb", { type }));
      assert.equal(made.status, 201);
      const { file_type, file_url } = (await made.json()) as { file_type: string; file_url: string };
      assert.equal(file_type, type);
      assert.ok(Buffer.from(await (await fetch(file_url)).arrayBuffer()).equals(bytes));
    }
  }
  clearInterval(watch);
  peak = Math.max(peak, residentBytes(pid));
  t.diagnostic(`RSS ${inMib(before)} before, at most ${inMib(peak)}`);
  assert.ok(peak - before < MAX_GROWTH_BYTES);
});
