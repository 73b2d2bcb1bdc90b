// Reads ZIP archives strictly: the directory must be complete, and each local header must agree with it.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { crc32 } from "node:zlib";

export interface Entry {
  name: string;
  size: number;
  crc32: number;
  /** Offset of the bytes in the archive. */
  start: number;
  /** In seconds. */
  modified: number;
  /** The time for readers that know no other field; here in UTC. */
  dosTime: string;
  hasDescriptor: boolean;
}

/** Reads bytes of an archive that may be too large for memory. */
export type ReadAt = (start: number, length: number) => Buffer;

/** Returns the 64-bit values of those fields that are full, in order. */
function largeValues(extra: Buffer, ...shown: number[]): number[] {
  let at = 0;
  return shown.map((value) => {
    if (value !== 0xffffffff) return value;
    at += 8;
    return Number(extra.readBigUInt64LE(at - 8));
  });
}

function extrasOf(bytes: Buffer): Map<number, Buffer> {
  const found = new Map<number, Buffer>();
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.readUInt16LE(at + 2);
    found.set(bytes.readUInt16LE(at), bytes.subarray(at + 4, at + 4 + length));
    at += 4 + length;
  }
  return found;
}

function dosTimeOf(time: number, date: number): string {
  const two = (value: number) => String(value).padStart(2, "0");
  const day = `${1980 + (date >> 9)}-${two((date >> 5) & 15)}-${two(date & 31)}`;
  return `${day} ${two(time >> 11)}:${two((time >> 5) & 63)}:${two((time & 31) * 2)}`;
}

/** Returns the place of the directory, and its number of entries. */
function directoryOf(read: ReadAt, size: number) {
  const end = read(size - 22, 22);
  assert.equal(end.readUInt32LE(0), 0x06054b50, "no end of the directory");
  const small = { count: end.readUInt16LE(8), length: end.readUInt32LE(12), offset: end.readUInt32LE(16) };
  assert.equal(end.readUInt16LE(10), small.count);
  const isFull = small.count === 0xffff || small.length === 0xffffffff || small.offset === 0xffffffff;
  if (!isFull) {
    assert.equal(small.offset + small.length, size - 22);
    return small;
  }
  const locator = read(size - 42, 20);
  assert.equal(locator.readUInt32LE(0), 0x07064b50);
  const at = Number(locator.readBigUInt64LE(8));
  assert.equal(at, size - 98);
  const large = read(at, 56);
  assert.equal(large.readUInt32LE(0), 0x06064b50);
  const [count, length, offset] = [32, 40, 48].map((place) => Number(large.readBigUInt64LE(place)));
  assert.equal(offset! + length!, at);
  return { count: count!, length: length!, offset: offset! };
}

/** Returns all entries of an archive of this size, which must follow each other without a gap. */
export function readEntries(read: ReadAt, size: number): Entry[] {
  const { count, length, offset } = directoryOf(read, size);
  const directory = read(offset, length);
  const entries: Entry[] = [];
  let next = 0;
  for (let at = 0; at < directory.length; ) {
    const header = directory.subarray(at);
    assert.equal(header.readUInt32LE(0), 0x02014b50);
    const [nameLength, extraLength] = [header.readUInt16LE(28), header.readUInt16LE(30)];
    assert.equal(header.readUInt16LE(32), 0, "a comment");
    const name = header.subarray(46, 46 + nameLength);
    const extras = extrasOf(header.subarray(46 + nameLength, 46 + nameLength + extraLength));
    const [stored, whole, local] = largeValues(
      extras.get(1) ?? Buffer.alloc(0),
      ...[header.readUInt32LE(24), header.readUInt32LE(20), header.readUInt32LE(42)],
    ) as [number, number, number];
    assert.equal(stored, whole);
    assert.equal(local, next, "a gap");
    const needed = header.readUInt16LE(6);
    assert.equal(needed, extras.has(1) ? 45 : 20);
    const entry = { name, needed, crc32: header.readUInt32LE(16), size: whole, header };
    const { start, end, hasDescriptor } = readLocal(read, local, entry);
    next = end;
    entries.push({
      name: new TextDecoder("utf-8", { fatal: true }).decode(name),
      size: whole,
      crc32: entry.crc32,
      start,
      hasDescriptor,
      modified: extras.get(0x5455)!.readUInt32LE(1),
      dosTime: dosTimeOf(header.readUInt16LE(12), header.readUInt16LE(14)),
    });
    at += 46 + nameLength + extraLength;
  }
  assert.equal(next, offset, "a gap before the directory");
  assert.equal(entries.length, count);
  return entries;
}

function readLocal(
  read: ReadAt,
  at: number,
  known: { name: Buffer; crc32: number; size: number; header: Buffer },
) {
  const header = read(at, 30);
  assert.equal(header.readUInt32LE(0), 0x04034b50);
  // Flags, method, time.
  assert.deepEqual(header.subarray(6, 14), known.header.subarray(8, 16));
  assert.equal(header.readUInt16LE(8), 0, "not stored");
  const flags = header.readUInt16LE(6);
  assert.equal(flags & ~8, 0x800, "UTF-8");
  const hasDescriptor = (flags & 8) !== 0;
  const [nameLength, extraLength] = [header.readUInt16LE(26), header.readUInt16LE(28)];
  const rest = read(at + 30, nameLength + extraLength);
  assert.deepEqual(rest.subarray(0, nameLength), known.name);
  const large = extrasOf(rest.subarray(nameLength)).get(1);
  const sizes = largeValues(large ?? Buffer.alloc(0), header.readUInt32LE(22), header.readUInt32LE(18));
  const start = at + 30 + nameLength + extraLength;
  const end = start + known.size;
  if (!hasDescriptor) {
    assert.deepEqual([header.readUInt32LE(14), ...sizes], [known.crc32, known.size, known.size]);
    return { start, end, hasDescriptor };
  }
  assert.deepEqual([header.readUInt32LE(14), ...sizes], [0, 0, 0]);
  const wide = large !== undefined;
  const descriptor = read(end, wide ? 24 : 16);
  const size = (place: number) =>
    wide ? Number(descriptor.readBigUInt64LE(8 + 8 * place)) : descriptor.readUInt32LE(8 + 4 * place);
  assert.equal(descriptor.readUInt32LE(0), 0x08074b50);
  assert.deepEqual([descriptor.readUInt32LE(4), size(0), size(1)], [known.crc32, known.size, known.size]);
  return { start, end: end + descriptor.length, hasDescriptor };
}

/** Returns the files of an archive, and verifies their checksums. */
export function unzip(bytes: Buffer): (Entry & { bytes: Buffer })[] {
  return readEntries((start, length) => bytes.subarray(start, start + length), bytes.length).map((entry) => {
    const content = bytes.subarray(entry.start, entry.start + entry.size);
    assert.equal(crc32(content), entry.crc32, entry.name);
    return { ...entry, bytes: content };
  });
}

const SCRIPT = `
import json, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as archive:
    wanted = sys.argv[2:]
    bad = None if wanted else archive.testzip()
    small = {name: archive.read(name).decode() for name in wanted}
    print(json.dumps({"bad": bad, "names": archive.namelist(), "small": small}))
`;

/** The `skip` of tests that read archives by another program. */
export const noPython: string | false =
  spawnSync("python3", ["-c", ""]).status === 0 ? false : "python3 is not installed";

/**
 * Returns what Python reads of an archive: its names, whether its bytes are intact, and the contents of the named
 * files.
 */
export function readByPython(path: string, ...names: string[]) {
  const { stdout, stderr, status } = spawnSync("python3", ["-c", SCRIPT, path, ...names], {
    encoding: "utf8",
  });
  assert.equal(status, 0, stderr);
  return JSON.parse(stdout) as { bad: string | null; names: string[]; small: Record<string, string> };
}
