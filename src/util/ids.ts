import type { Clock } from "./clock.ts";

export type IdKind =
  | "con"
  | "att"
  | "avt"
  | "msg"
  | "cnv"
  | "grp"
  | "mem"
  | "usr"
  | "tok"
  | "req"
  | "aud"
  | "evt"
  | "whk"
  | "psh"
  | "dlv"
  | "upl";
export type NewId = (kind: IdKind) => string;
/** Fills the bytes from a cryptographic source, like `crypto.randomFillSync`. */
export type Random = (bytes: Uint8Array) => void;

const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
/** All pairs of characters of the alphabet, indexed by their ten bits. */
const PAIRS = Array.from({ length: 1024 }, (_, bits) => ALPHABET[bits >> 5]! + ALPHABET[bits & 31]!);
const COUNTER_END = 2 ** 26;
/** Random bytes used for one id. */
const RANDOM_BYTES = 10;

function base32(value: number, length: number): string {
  let text = "";
  for (let rest = value, i = 0; i < length; i++) {
    text = ALPHABET[rest % 32] + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}

/**
 * Creates a generator of TypeIDs (`con_` and 26 characters of base 32 that hold a UUIDv7), strictly increasing per
 * generator. The 26 bits after the time, split around the UUID's variant, are a counter that restarts at a random value
 * each millisecond (RFC 9562, section 6.2, method 1). If it overflows, or the clock steps back, the time of the last id
 * is kept.
 */
export function createIds(clock: Clock, random: Random): NewId {
  const pool = new Uint8Array(RANDOM_BYTES * 256);
  let used = pool.length;
  let last = -1;
  let counter = 0;
  let time = "";

  function nextRandom(): number {
    if (used === pool.length) {
      random(pool);
      used = 0;
    }
    used += RANDOM_BYTES;
    return used - RANDOM_BYTES;
  }

  return (kind) => {
    const now = clock();
    if (now > last || ++counter === COUNTER_END) {
      last = Math.max(now, last + 1);
      time = base32(last, 10);
      // Starting in the lower half leaves room for more ids in the same millisecond.
      const at = nextRandom();
      counter = pool[at]! | (pool[at + 1]! << 8) | (pool[at + 2]! << 16) | ((pool[at + 3]! & 1) << 24);
    }
    const at = nextRandom();
    // Version 7, 12 bits of counter, variant 2, 14 bits of counter: 32 bits, of which 30 fill six characters.
    const head = 0x70000000 + (counter >>> 14) * 0x10000 + 0x8000 + (counter & 0x3fff);
    const six = head >>> 2;
    const front = PAIRS[six >>> 20]! + PAIRS[(six >>> 10) & 1023]! + PAIRS[six & 1023]!;
    const seventh = ALPHABET[(head & 3) * 8 + (pool[at]! & 7)]! + ALPHABET[pool[at + 1]! & 31]!;
    let tail = "";
    for (let i = at + 2; i < at + RANDOM_BYTES; i += 2)
      tail += PAIRS[(pool[i]! & 31) * 32 + (pool[i + 1]! & 31)]!;
    return `${kind}_${time}${front}${seventh}${tail}`;
  };
}

/** Returns an id of 128 random bits, which nobody can guess. Unlike other ids it has no time. */
export function secretId(kind: IdKind, random: Random): string {
  const bytes = new Uint8Array(26);
  random(bytes);
  const digits = Array.from(bytes, (byte, at) => ALPHABET[byte & (at === 0 ? 7 : 31)]);
  return `${kind}_${digits.join("")}`;
}

/**
 * Returns a bound that sorts before every id of this kind created at this time (milliseconds) or later, and after all
 * older ones. It looks like an id, but is not one.
 */
export function idBound(kind: IdKind, time: number): string {
  return `${kind}_${base32(Math.max(0, time), 10)}${"0".repeat(16)}`;
}

/** Returns the id with this time (milliseconds) and these 74 bits after it, split around version and variant. */
export function idOfBits(kind: IdKind, time: number, bits: bigint): string {
  const uuid =
    (BigInt(time) << 80n) | (7n << 76n) | ((bits >> 62n) << 64n) | (2n << 62n) | (bits & (2n ** 62n - 1n));
  let text = "";
  for (let rest = uuid, i = 0; i < 26; i++) {
    text = ALPHABET[Number(rest & 31n)] + text;
    rest >>= 5n;
  }
  return `${kind}_${text}`;
}

/** Returns the bits of an id created by `idOfBits`. */
export function bitsOfId(id: string): bigint {
  let uuid = 0n;
  for (const digit of id.slice(4)) uuid = uuid * 32n + BigInt(ALPHABET.indexOf(digit));
  return (((uuid >> 64n) & 4095n) << 62n) | (uuid & (2n ** 62n - 1n));
}

/** Returns the time (milliseconds) of an id. */
export function timeOfId(id: string): number {
  let time = 0;
  for (const digit of id.slice(4, 14)) time = time * 32 + ALPHABET.indexOf(digit);
  return time;
}

/** Returns the id if it is greater than the last one of its kind, otherwise the next one after that. */
export function laterId(id: string, last: string): string {
  if (id > last) return id;
  const next = bitsOfId(last) + 1n;
  // After the last of the 2^74 ids of a millisecond comes the first of the next.
  return next < 2n ** 74n
    ? idOfBits(last.slice(0, 3) as IdKind, timeOfId(last), next)
    : idOfBits(last.slice(0, 3) as IdKind, timeOfId(last) + 1, 0n);
}

const SUFFIX_PATTERN = "[0-7][0-9a-hjkmnp-tv-z]{25}";
/** The form of an id without its kind. */
export const SUFFIX = new RegExp(`^${SUFFIX_PATTERN}$`);

/** Returns the form of an id of this kind as a regular expression. */
export function idPattern(kind: IdKind): string {
  return `^${kind}_${SUFFIX_PATTERN}$`;
}

/** Reports whether the text has the form of an id of this kind, not whether the resource exists. */
export function isId(kind: IdKind, text: string): boolean {
  return text.length === 30 && text.startsWith(`${kind}_`) && SUFFIX.test(text.slice(4));
}
