// Generates damage to bytes in transit.
import fc from "fast-check";

type Damage =
  | { kind: "cut"; at: number }
  | { kind: "insert"; at: number; bytes: Buffer }
  | { kind: "remove" | "repeat"; at: number; length: number };

/** Texts that often break parsers. */
const STUMBLES = [
  ..."\0|\r|\n|\r\n|\r\n\r\n|\n\n|\t| |:|;|,|=|\"|\\|%|%00|%zz|--|\xff|\u202e|\ud83d\ude00|{|}|[|]|'|null".split(
    "|",
  ),
  ...[
    "\r\n0\r\n\r\n",
    "\r\n--b",
    "--b--",
    "A".repeat(9000),
    "\r\nX: y",
    "\x0b",
    "\x1b",
    "\x7f",
    "é",
    "\ufeff",
  ],
];

export const stumbles: fc.Arbitrary<Buffer> = fc.oneof(
  fc.constantFrom(...STUMBLES).map((text) => Buffer.from(text)),
  fc.uint8Array({ minLength: 1, maxLength: 8 }).map((bytes) => Buffer.from(bytes)),
);

const at = fc.nat(2 ** 20);
const length = fc.nat(60);

/** One to three damages. */
export const damages: fc.Arbitrary<Damage[]> = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant("cut" as const), at }),
    fc.record({ kind: fc.constant("insert" as const), at, bytes: stumbles }),
    fc.record({ kind: fc.constantFrom("remove" as const, "repeat" as const), at, length }),
  ),
  { minLength: 1, maxLength: 3 },
);

export function damage(bytes: Buffer, all: readonly Damage[]): Buffer {
  return all.reduce((hurt, each) => {
    const place = each.at % (hurt.length + 1);
    const [before, behind] = [hurt.subarray(0, place), hurt.subarray(place)];
    if (each.kind === "cut") return before;
    if (each.kind === "insert") return Buffer.concat([before, each.bytes, behind]);
    if (each.kind === "remove") return Buffer.concat([before, behind.subarray(each.length)]);
    return Buffer.concat([before, behind.subarray(0, each.length), behind]);
  }, bytes);
}

/** Generates a value once in `of` times, and undefined otherwise. */
export function seldom<T>(arbitrary: fc.Arbitrary<T>, of: number): fc.Arbitrary<T | undefined> {
  return fc.oneof({ weight: of - 1, arbitrary: fc.constant(undefined) }, arbitrary);
}

/** Generates one of the texts between the bars. */
export const oneOf = (list: string): fc.Arbitrary<string> => fc.constantFrom(...list.split("|"));

/** Generates texts: graphemes, texts that break parsers, lone surrogates, long ones. */
export const texts: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: fc.string({ unit: "grapheme", maxLength: 40 }) },
  { weight: 2, arbitrary: fc.string({ unit: fc.constantFrom(...STUMBLES, "a", "1"), maxLength: 6 }) },
  fc.string({ unit: fc.nat(0xffff).map((code) => String.fromCharCode(code)), maxLength: 5 }),
  fc
    .tuple(
      fc.constantFrom("a", "é", "😀", "1", "/", "%"),
      fc.constantFrom(63, 64, 65, 127, 128, 129, 255, 256, 2049),
    )
    .map(([unit, count]) => unit.repeat(count)),
);
