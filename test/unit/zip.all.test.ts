import assert from "node:assert/strict";
import { closeSync, ftruncateSync, openSync, readSync, writeSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { crc32 } from "node:zlib";
import fc from "fast-check";
import { type ZipEntry, zipChunks, zipSize } from "../../src/util/zip.ts";
import { holds } from "../support/property.ts";
import { noPython, readByPython, readEntries, unzip } from "../support/zip.ts";

const GIB = 2 ** 30;
const NOON = Date.UTC(2026, 4, 1, 12, 0, 7, 500);

interface File extends ZipEntry {
  chunks: Uint8Array[];
}

async function* passing(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  // Chunks are valid only until the next is requested.
  const buffer = Buffer.alloc(Math.max(0, ...chunks.map(({ length }) => length)));
  for (const chunk of chunks) {
    buffer.fill(0xee).set(chunk);
    yield buffer.subarray(0, chunk.length);
  }
}

async function written(files: readonly File[]): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of zipChunks(files, async (file) => passing(file.chunks)))
    chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}

function toFile(name: string, chunks: Uint8Array[], { known = true, modified = NOON } = {}): File {
  const bytes = Buffer.concat(chunks);
  return { name, size: bytes.length, crc32: known ? crc32(bytes) : null, modified, chunks };
}

const files = fc.uniqueArray(
  fc
    .record({
      name: fc.string({ unit: "grapheme", minLength: 1, maxLength: 40 }),
      chunks: fc.array(fc.uint8Array({ maxLength: 50 }), { maxLength: 4 }),
      known: fc.boolean(),
      modified: fc.integer({ min: 0, max: 2 ** 32 * 1000 - 1 }),
    })
    .map(({ name, chunks, ...more }) => toFile(name, chunks, more)),
  { selector: ({ name }) => name, maxLength: 8 },
);

test("an archive has its files in order with their times, and the announced size", () =>
  holds(
    fc.asyncProperty(files, async (made) => {
      const bytes = await written(made);
      assert.equal(bytes.length, zipSize(made));
      const read = unzip(bytes);
      assert.deepEqual(
        read.map(({ name, bytes, modified, hasDescriptor }) => [name, bytes, modified, hasDescriptor]),
        made.map(({ name, chunks, modified, crc32 }) => [
          ...[name, Buffer.concat(chunks), Math.floor(modified / 1000), crc32 === null],
        ]),
      );
    }),
  ));

test("the DOS time is UTC in steps of two seconds, within its range", async () => {
  const times: [modified: number, dosTime: string][] = [
    [NOON, "2026-05-01 12:00:06"],
    [0, "1980-01-01 00:00:00"],
    [Date.UTC(2200, 0, 1), "2107-12-31 23:59:58"],
  ];
  const made = times.map(([modified], i) => toFile(String(i), [], { modified }));
  assert.deepEqual(
    unzip(await written(made)).map(({ dosTime }) => dosTime),
    times.map(([, dosTime]) => dosTime),
  );
});

test("an entry with fewer or more bytes than its size fails the archive", async () => {
  for (const known of [true, false]) {
    const file = toFile("a", [Buffer.from("12"), Buffer.from("34")], { known });
    for (const size of [3, 5])
      await assert.rejects(written([{ ...file, size }]), /a in an archive does not have \d bytes/);
    const broken = zipChunks([file], async () => {
      throw new Error("gone");
    });
    await assert.rejects(Array.fromAsync(broken), /gone/);
  }
});

test("the open file is closed when the reader stops reading the archive", async () => {
  let isClosed = false;
  async function* endless() {
    try {
      for (;;) yield Buffer.alloc(10);
    } finally {
      isClosed = true;
    }
  }
  const file = { name: "a", size: 1000, crc32: 0, modified: 0 };
  let chunks = 0;
  for await (const _ of zipChunks([file], async () => endless())) if (++chunks === 3) break;
  assert.ok(isClosed);
});

test("65,535 files need the 64-bit end of the directory", async () => {
  for (const count of [65_534, 65_535, 65_536]) {
    const made = Array.from({ length: count }, (_, i) => ({
      name: `${i}`,
      size: 0,
      crc32: 0,
      modified: NOON,
    }));
    const chunks = await Array.fromAsync(zipChunks(made, async () => Buffer.alloc(0)));
    const bytes = Buffer.concat(chunks);
    assert.equal(bytes.length, zipSize(made));
    assert.equal(
      readEntries((start, length) => bytes.subarray(start, start + length), bytes.length).length,
      count,
    );
    assert.equal(bytes.includes(Buffer.from([0x50, 0x4b, 6, 6])), count >= 65_535);
  }
});

/** Yields a file of zeros: chunks cost nothing, and a sparse file stores them. */
async function* zeros(size: number): AsyncGenerator<Uint8Array> {
  const chunk = Buffer.alloc(64 * 1024 * 1024);
  for (let left = size; left > 0; left -= chunk.length) yield chunk.subarray(0, Math.min(left, chunk.length));
}

const LARGEST_32 = 0xffffffff;

for (const known of [true, false]) {
  const how = known ? "a known checksum" : "a checksum that follows";
  test(`files of more than 4 GiB and files after them, with ${how}`, async (t) => {
    const folder = await mkdtemp(join(tmpdir(), "parley-zip-"));
    t.after(() => rm(folder, { recursive: true }));
    const path = join(folder, "large.zip");
    const made = [
      { name: "first.txt", size: 5, crc32: crc32("first"), modified: NOON },
      { name: "below", size: LARGEST_32 - 1, crc32: 0, modified: NOON },
      { name: "limit", size: LARGEST_32, crc32: 0, modified: NOON },
      { name: "large", size: 4 * GIB + 1, crc32: known ? 0 : null, modified: NOON },
      { name: "last.txt", size: 4, crc32: crc32("last"), modified: NOON },
    ];
    const file = openSync(path, "w+");
    let at = 0;
    const open = async ({ name, size }: ZipEntry) =>
      name.endsWith(".txt") ? Buffer.from(name.slice(0, -4)) : zeros(size);
    for await (const chunk of zipChunks(made, open)) {
      if (chunk.length < 1000) writeSync(file, chunk, 0, chunk.length, at);
      at += chunk.length;
    }
    ftruncateSync(file, at);
    assert.equal(at, zipSize(made));
    const read = (start: number, length: number) => {
      const bytes = Buffer.alloc(length);
      readSync(file, bytes, 0, length, start);
      return bytes;
    };
    const entries = readEntries(read, at);
    closeSync(file);
    assert.deepEqual(
      entries.map(({ name, size }) => [name, size]),
      made.map(({ name, size }) => [name, size]),
    );
    if (noPython) return t.diagnostic(noPython);
    const { names, small } = readByPython(path, "first.txt", "last.txt");
    assert.deepEqual(
      names,
      made.map(({ name }) => name),
    );
    assert.deepEqual(small, { "first.txt": "first", "last.txt": "last" });
  });
}

test("Python reads an archive with names of any script", { skip: noPython }, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "parley-zip-"));
  t.after(() => rm(folder, { recursive: true }));
  const names = ["a.txt", "Grüße.txt", "写真 (2).jpg", "🎉", "empty"];
  const made = names.map((name, i) =>
    toFile(name, name === "empty" ? [] : [Buffer.from(name), Buffer.alloc(3000, i)], { known: i !== 1 }),
  );
  const path = join(folder, "small.zip");
  await writeFile(path, await written(made));
  assert.deepEqual(readByPython(path), { bad: null, names, small: {} });
});
