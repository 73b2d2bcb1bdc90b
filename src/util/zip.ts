// ZIP archives without compression (PKWARE APPNOTE 6.3.10), streamed with a length known in advance.
import { crc32 } from "node:zlib";

/** A file of an archive. */
export interface ZipEntry {
  /** Unique in the archive. */
  name: string;
  size: number;
  /** Null if unknown: it then follows the bytes. */
  crc32: number | null;
  /** Milliseconds. */
  modified: number;
}

type Bytes = Uint8Array | AsyncIterable<Uint8Array>;

const LOCAL_HEADER = 0x04034b50;
const DESCRIPTOR = 0x08074b50;
const CENTRAL_HEADER = 0x02014b50;
const END = 0x06054b50;
const END_64 = 0x06064b50;
const LOCATOR_64 = 0x07064b50;
const EXTRA_64 = 0x0001;
const EXTRA_TIME = 0x5455;

const VERSION = 20;
const VERSION_64 = 45;
/** The origin of the attributes below: Unix. */
const UNIX = 3 << 8;
const REGULAR_FILE = 0o100644;
const HAS_DESCRIPTOR = 1 << 3;
const UTF8_NAMES = 1 << 11;
/** Compression method: none. */
const STORED = 0;

/** Values from here on go into the 64-bit fields. */
const MAX_16 = 0xffff;
const MAX_32 = 0xffffffff;

/**
 * Returns the size of the archive by adding up what the functions below write: actually writing it takes 20 times as
 * long.
 */
export function zipSize(entries: readonly ZipEntry[]): number {
  let offset = 0;
  let directory = 0;
  for (const { name, size, crc32 } of entries) {
    const isLarge = size >= MAX_32;
    const isFar = offset >= MAX_32;
    const nameAndTime = Buffer.byteLength(name) + 9;
    directory += 46 + nameAndTime + (isLarge || isFar ? 4 : 0) + (isLarge ? 16 : 0) + (isFar ? 8 : 0);
    offset += 30 + nameAndTime + (isLarge ? 20 : 0) + size;
    if (crc32 === null) offset += isLarge ? 24 : 16;
  }
  return offset + directory + end(entries.length, directory, offset).length;
}

/**
 * Yields the archive. `open` returns the bytes of an entry; each chunk is valid until the next is requested. A given
 * CRC-32 is trusted. Throws if an entry does not have the announced bytes.
 */
export async function* zipChunks<E extends ZipEntry>(
  entries: readonly E[],
  open: (entry: E) => Promise<Bytes>,
): AsyncGenerator<Uint8Array> {
  const directory: Buffer[] = [];
  let offset = 0;
  for (const entry of entries) {
    const header = localHeader(entry);
    yield header;
    let left = entry.size;
    let sum = 0;
    const bytes = await open(entry);
    for await (const chunk of bytes instanceof Uint8Array ? [bytes] : bytes) {
      left -= chunk.length;
      if (left < 0) break;
      if (entry.crc32 === null) sum = crc32(chunk, sum);
      yield chunk;
    }
    if (left !== 0) throw new Error(`${entry.name} in an archive does not have ${entry.size} bytes.`);
    const tail = descriptor(entry, sum);
    if (tail.length > 0) yield tail;
    directory.push(centralHeader(entry, sum, offset));
    offset += header.length + entry.size + tail.length;
  }
  const central = join(...directory);
  yield join(central, end(entries.length, central.length, offset));
}

function localHeader(entry: ZipEntry): Buffer {
  const { size, crc32 } = entry;
  const isLarge = size >= MAX_32;
  const known = crc32 === null ? 0 : size;
  const shown = u32(isLarge ? MAX_32 : known);
  const name = Buffer.from(entry.name);
  const extras = join(...(isLarge ? extra(EXTRA_64, u64(known), u64(known)) : []), ...timeExtra(entry));
  return join(
    u32(LOCAL_HEADER),
    ...common(entry, isLarge, crc32 ?? 0),
    ...[shown, shown, u16(name.length), u16(extras.length)],
    ...[name, extras],
  );
}

/**
 * Follows the bytes of an entry whose CRC-32 was not known in advance. The signature is optional, but some readers
 * require it.
 */
function descriptor({ size, crc32 }: ZipEntry, sum: number): Buffer {
  if (crc32 !== null) return join();
  const length = size >= MAX_32 ? u64(size) : u32(size);
  return join(u32(DESCRIPTOR), u32(sum), length, length);
}

function centralHeader(entry: ZipEntry, sum: number, offset: number): Buffer {
  const { size } = entry;
  const large = [
    ...(size >= MAX_32 ? [u64(size), u64(size)] : []),
    ...(offset >= MAX_32 ? [u64(offset)] : []),
  ];
  const isLarge = large.length > 0;
  const shown = u32(Math.min(size, MAX_32));
  const name = Buffer.from(entry.name);
  const extras = join(...(isLarge ? extra(EXTRA_64, ...large) : []), ...timeExtra(entry));
  return join(
    u32(CENTRAL_HEADER),
    u16(UNIX | (isLarge ? VERSION_64 : VERSION)),
    ...common(entry, isLarge, entry.crc32 ?? sum),
    ...[shown, shown, u16(name.length), u16(extras.length)],
    // Comment length, disk number, internal and external attributes.
    ...[u16(0), u16(0), u16(0), u32(REGULAR_FILE * 0x10000), u32(Math.min(offset, MAX_32))],
    ...[name, extras],
  );
}

/** The fields that both headers share: from the needed version to the CRC-32. */
function common({ crc32, modified }: ZipEntry, isLarge: boolean, sum: number): Part[] {
  const flags = UTF8_NAMES | (crc32 === null ? HAS_DESCRIPTOR : 0);
  return [u16(isLarge ? VERSION_64 : VERSION), u16(flags), u16(STORED), ...dosTime(modified), u32(sum)];
}

/** The end of the central directory, which begins at `offset`. */
function end(count: number, size: number, offset: number): Buffer {
  const isLarge = count >= MAX_16 || size >= MAX_32 || offset >= MAX_32;
  const large = [
    ...[u32(END_64), u64(44), u16(UNIX | VERSION_64), u16(VERSION_64), u32(0), u32(0)],
    ...[u64(count), u64(count), u64(size), u64(offset)],
    ...[u32(LOCATOR_64), u32(0), u64(offset + size), u32(1)],
  ];
  const shown = u16(Math.min(count, MAX_16));
  return join(
    ...(isLarge ? large : []),
    ...[u32(END), u16(0), u16(0), shown, shown, u32(Math.min(size, MAX_32)), u32(Math.min(offset, MAX_32))],
    u16(0),
  );
}

/**
 * The time in seconds and UTC. The DOS time is local, has steps of two seconds, and is for readers without this
 * field.
 */
function timeExtra({ modified }: ZipEntry): Part[] {
  const seconds = Math.min(Math.max(0, Math.floor(modified / 1000)), MAX_32);
  return extra(EXTRA_TIME, [1, 1], u32(seconds));
}

const FIRST_DOS_TIME = Date.UTC(1980, 0, 1);
const LAST_DOS_TIME = Date.UTC(2107, 11, 31, 23, 59, 58);

function dosTime(modified: number): Part[] {
  const date = new Date(Math.min(Math.max(FIRST_DOS_TIME, modified), LAST_DOS_TIME));
  const time = (date.getUTCHours() << 11) | (date.getUTCMinutes() << 5) | (date.getUTCSeconds() >> 1);
  const day = ((date.getUTCFullYear() - 1980) << 9) | ((date.getUTCMonth() + 1) << 5) | date.getUTCDate();
  return [u16(time), u16(day)];
}

/** A little-endian number of this many bytes. */
type Field = readonly [size: 1 | 2 | 4 | 8, value: number];
type Part = Field | Uint8Array;

const u16 = (value: number): Field => [2, value];
const u32 = (value: number): Field => [4, value];
const u64 = (value: number): Field => [8, value];

function extra(id: number, ...values: Field[]): Part[] {
  const length = values.reduce((sum, [size]) => sum + size, 0);
  return [u16(id), u16(length), ...values];
}

function join(...parts: readonly Part[]): Buffer {
  const lengthOf = (part: Part) => (part instanceof Uint8Array ? part.length : part[0]);
  const bytes = Buffer.allocUnsafe(parts.reduce((sum, part) => sum + lengthOf(part), 0));
  let at = 0;
  for (const part of parts) {
    if (part instanceof Uint8Array) bytes.set(part, at);
    else if (part[0] === 8) bytes.writeBigUInt64LE(BigInt(part[1]), at);
    else bytes.writeUIntLE(part[1], at, part[0]);
    at += lengthOf(part);
  }
  return bytes;
}
