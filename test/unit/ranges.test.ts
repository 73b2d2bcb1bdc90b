import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type ByteRange, parseRange } from "../../src/http/protocol/ranges.ts";
import { holds } from "../support/property.ts";

const HUGE = "9".repeat(400);

// The first nine are the examples of RFC 9110, section 14.1.2, for a representation of 10,000 bytes.
const EXAMPLES: [header: string, size: number, range: [number, number] | "unsatisfiable" | undefined][] = [
  ["bytes=0-499", 10_000, [0, 499]],
  ["bytes=500-999", 10_000, [500, 999]],
  ["bytes=-500", 10_000, [9500, 9999]],
  ["bytes=9500-", 10_000, [9500, 9999]],
  ["bytes=0-0", 10_000, [0, 0]],
  ["bytes=0-0,-1", 10_000, undefined],
  ["bytes= 0-0, -1", 10_000, undefined],
  ["bytes=500-600,601-999", 10_000, undefined],
  ["bytes=500-700,601-999", 10_000, undefined],
  ["bytes=-1", 10_000, [9999, 9999]],
  ["bytes=0-", 10_000, [0, 9999]],
  ["bytes=0-9999", 10_000, [0, 9999]],
  ["bytes=0-10000", 10_000, [0, 9999]],
  ["bytes=9999-9999", 10_000, [9999, 9999]],
  ["bytes=9999-20000", 10_000, [9999, 9999]],
  ["bytes=-10000", 10_000, [0, 9999]],
  ["bytes=-10001", 10_000, [0, 9999]],
  ["bytes=007-008", 10_000, [7, 8]],
  ["BYTES=0-1", 10_000, [0, 1]],
  ["bytes= 0-1\t", 10_000, [0, 1]],
  ["bytes=10000-", 10_000, "unsatisfiable"],
  ["bytes=10000-10001", 10_000, "unsatisfiable"],
  ["bytes=-0", 10_000, "unsatisfiable"],
  ["bytes=0-", 0, "unsatisfiable"],
  ["bytes=0-0", 0, "unsatisfiable"],
  ["bytes=-1", 0, "unsatisfiable"],
  ["bytes=5-4", 10_000, undefined],
  ["bytes=20000-10000", 10_000, undefined],
  ["bytes=-", 10_000, undefined],
  ["bytes=", 10_000, undefined],
  ["bytes", 10_000, undefined],
  ["", 10_000, undefined],
  ["0-499", 10_000, undefined],
  ["items=0-499", 10_000, undefined],
  ["xbytes=0-499", 10_000, undefined],
  ["bytes =0-499", 10_000, undefined],
  ["bytes=0 - 499", 10_000, undefined],
  ["bytes=0-499,", 10_000, undefined],
  ["bytes=0-499-", 10_000, undefined],
  ["bytes=0--1", 10_000, undefined],
  ["bytes=+0-1", 10_000, undefined],
  ["bytes=0.5-1", 10_000, undefined],
  ["bytes=0x0-0x1", 10_000, undefined],
  ["bytes=1e2-", 10_000, undefined],
  ["bytes=٣-٤", 10_000, undefined],
  ["bytes=0-1\n", 10_000, undefined],
  [`bytes=0-${HUGE}`, 10_000, [0, 9999]],
  [`bytes=-${HUGE}`, 10_000, [0, 9999]],
  [`bytes=${HUGE}-`, 10_000, "unsatisfiable"],
  [`bytes=${HUGE}-${HUGE}`, 10_000, "unsatisfiable"],
  [`bytes=${HUGE}-1`, 10_000, undefined],
];

for (const [header, size, range] of EXAMPLES) {
  const outcome = Array.isArray(range) ? `is bytes ${range.join(" to ")}` : `is ${range ?? "ignored"}`;
  test(`the range ${JSON.stringify(header.replace(HUGE, "99…9"))} of ${size} bytes ${outcome}`, () => {
    assert.deepEqual(
      parseRange(header, size),
      Array.isArray(range) ? { start: range[0], end: range[1] } : range,
    );
  });
}

const sizes = fc.oneof(fc.nat(20), fc.nat(), fc.constant(Number.MAX_SAFE_INTEGER));
const position = fc.oneof(
  fc.nat(25).map(BigInt),
  fc.nat().map(BigInt),
  fc.bigInt({ min: 0n, max: 2n ** 80n }),
);
const pieces = fc.constantFrom(
  "bytes",
  "BYTES",
  "=",
  "-",
  ",",
  " ",
  "\t",
  "0",
  "1",
  "9",
  "42",
  HUGE,
  "x",
  "é",
);
const headers = fc.oneof(
  fc.array(pieces, { maxLength: 8 }).map((each) => each.join("")),
  fc.array(pieces, { maxLength: 6 }).map((each) => `bytes=${each.join("")}`),
  fc.string({ unit: "binary" }),
);

test("any range lies inside the file", () =>
  holds(
    fc.property(headers, sizes, (header, size) => {
      const range = parseRange(header, size);
      if (range === undefined || range === "unsatisfiable") return;
      assert.ok(Number.isSafeInteger(range.start) && Number.isSafeInteger(range.end));
      assert.ok(0 <= range.start && range.start <= range.end && range.end < size);
    }),
    2000,
  ));

/** Returns the bytes of a range by comparing each position, as RFC 9110 describes. */
function model(first: bigint | null, last: bigint | null, size: number): ByteRange | "unsatisfiable" {
  const end = BigInt(size) - 1n;
  const from = first ?? (last! > BigInt(size) ? 0n : BigInt(size) - last!);
  const to = first === null || last === null || last > end ? end : last;
  return from > to ? "unsatisfiable" : { start: Number(from), end: Number(to) };
}

test("a valid range selects the bytes that RFC 9110 says, also beyond safe integers", () =>
  holds(
    fc.property(fc.option(position), fc.option(position), sizes, (one, two, size) => {
      fc.pre(one !== null || two !== null);
      const [first, last] = one !== null && two !== null && two < one ? [two, one] : [one, two];
      assert.deepEqual(parseRange(`bytes=${first ?? ""}-${last ?? ""}`, size), model(first, last, size));
    }),
    2000,
  ));
