import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { exactSize, parseSize, roundedSize } from "../../src/util/sizes.ts";
import { holds } from "../support/property.ts";

const SIZES: [text: string, bytes: number][] = [
  ["0", 0],
  ["0GiB", 0],
  ["1", 1],
  ["1B", 1],
  ["1048576", 1_048_576],
  ["1k", 1000],
  ["1KB", 1000],
  ["1Ki", 1024],
  ["1KiB", 1024],
  ["100MiB", 104_857_600],
  ["100 MiB", 104_857_600],
  ["100mib", 104_857_600],
  ["  100MiB\t", 104_857_600],
  ["5 GB", 5_000_000_000],
  ["5G", 5_000_000_000],
  ["2GiB", 2_147_483_648],
  ["3TB", 3_000_000_000_000],
  ["1TiB", 1_099_511_627_776],
  ["007", 7],
  ["999999999999999", 999_999_999_999_999],
  ["8191TiB", 8191 * 2 ** 40],
  ["9007TB", 9_007_000_000_000_000],
];

for (const [text, bytes] of SIZES) {
  test(`the size ${JSON.stringify(text)} is ${bytes} bytes`, () => assert.equal(parseSize(text), bytes));
}

const NONSENSE = [
  "",
  " ",
  "B",
  "MiB",
  "-1",
  "+1",
  "1.5GB",
  "1,000",
  "1e3",
  "0x10",
  "1  KB",
  "1 MiB B",
  "1iB",
  "1bytes",
];

for (const text of [
  ...NONSENSE,
  "1KK",
  "1PB",
  "1 000",
  "１MB",
  "٣MB",
  "1MiB;2",
  "MiB1",
  "1\nMB",
  "Infinity",
  "NaN",
]) {
  test(`${JSON.stringify(text)} is not a size`, () => assert.equal(parseSize(text), null));
}

test("a size beyond safe integers is refused", () => {
  for (const text of ["8192TiB", "9008TB", "999999999999999KB", "9".repeat(16), "9".repeat(400)]) {
    assert.equal(parseSize(text), null, text);
  }
});

const FORMATTED: [bytes: number, text: string][] = [
  [0, "0 B"],
  [1, "1 B"],
  [1023, "1023 B"],
  [1024, "1 KiB"],
  [1025, "1025 B"],
  [1536, "1536 B"],
  [2048, "2 KiB"],
  [104_857_600, "100 MiB"],
  [1_000_000, "1000000 B"],
  [5 * 2 ** 30, "5 GiB"],
  [2 ** 40, "1 TiB"],
  [2 ** 50, "1024 TiB"],
];

for (const [bytes, text] of FORMATTED) {
  test(`${bytes} bytes are shown as ${text}`, () => assert.equal(exactSize(bytes), text));
}

test("a formatted size parses to the same size", () =>
  holds(
    fc.property(fc.nat(2 ** 20), fc.integer({ min: 0, max: 29 }), (factor, shift) => {
      const bytes = factor * 2 ** shift;
      assert.equal(parseSize(exactSize(bytes)), bytes);
    }),
  ));

test("a size is a number and a unit in any case, with or without a space", () =>
  holds(
    fc.property(
      fc.nat(4095),
      fc.constantFrom("", " "),
      fc.constantFrom<[unit: string, bytes: number]>(
        ["", 1],
        ["k", 1e3],
        ["m", 1e6],
        ["g", 1e9],
        ["t", 1e12],
        ["ki", 2 ** 10],
        ["mi", 2 ** 20],
        ["gi", 2 ** 30],
        ["ti", 2 ** 40],
      ),
      fc.constantFrom("", "b"),
      fc.boolean(),
      (count, space, [unit, bytes], b, upper) => {
        const text = `${count}${space}${unit}${b}`;
        const accepted = unit === "" && b === "" && space === "" ? text : text.trim();
        assert.equal(parseSize(upper ? accepted.toUpperCase() : accepted), count * bytes);
      },
    ),
  ));

test("sizes are formatted with a unit", () => {
  for (const [bytes, text] of [
    [0, "0 B"],
    [999, "999 B"],
    [1000, "1.0 KiB"],
    [1536, "1.5 KiB"],
    [1_023_948, "999.9 KiB"],
    [1_023_950, "1.0 MiB"],
    [3 * 2 ** 40, "3.0 TiB"],
  ] as const)
    assert.equal(roundedSize(bytes), text);
});
