import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { safeUniqueNames } from "../../src/util/zip-names.ts";
import { holds } from "../support/property.ts";

test("a name that file systems accept stays unchanged", () => {
  const names = [
    "a.txt",
    "b",
    ".env",
    "Grüße 写真 🎉.tar.gz",
    "-x",
    "console.log",
    "com10",
    "nullify.txt",
    "a.b c",
  ];
  assert.deepEqual(safeUniqueNames(names), names);
});

test("names with path separators, Windows device names and trailing dots are changed", () => {
  for (const [name, safe] of [
    ["../../etc/passwd", ".._.._etc_passwd"],
    ["..\\..\\x", ".._.._x"],
    ["/root", "_root"],
    ["C:\\x", "C__x"],
    [".", "_"],
    ["..", "__"],
    ["a.", "a_"],
    ["a. . ", "a____"],
    ["", "_"],
    ["a\u0000b\n\r\u001b[2J\u0085.txt", "a_b___[2J_.txt"],
    ["line\u2028s", "line_s"],
    ['<>:"|?*', "_______"],
    ["con", "con_"],
    ["CON.txt", "CON_.txt"],
    ["nul.tar.gz", "nul_.tar.gz"],
    ["Lpt1 .x", "Lpt1 _.x"],
    ["com¹", "com¹_"],
    ["CONIN$", "CONIN$_"],
  ] as const)
    assert.deepEqual(safeUniqueNames([name]), [safe]);
});

test("names that some file system considers equal get numbers", () => {
  for (const [names, unique] of [
    [
      ["a.txt", "a.txt", "a.txt"],
      ["a.txt", "a (2).txt", "a (3).txt"],
    ],
    [
      ["a.txt", "A.TXT"],
      ["a.txt", "A (2).TXT"],
    ],
    [
      ["a (2).txt", "a.txt", "a.txt"],
      ["a (2).txt", "a.txt", "a (3).txt"],
    ],
    [
      ["a.txt", "a.txt", "a (2).txt"],
      ["a.txt", "a (2).txt", "a (2) (2).txt"],
    ],
    [
      ["\u00e4", "a\u0308"],
      ["\u00e4", "a\u0308 (2)"],
    ],
    [
      ["straße", "STRASSE"],
      ["straße", "STRASSE (2)"],
    ],
    [
      ["a:b", "a?b"],
      ["a_b", "a_b (2)"],
    ],
    [
      ["con", "con_"],
      ["con_", "con_ (2)"],
    ],
    [
      [".env", ".env"],
      [".env", ".env (2)"],
    ],
  ] as const)
    assert.deepEqual(safeUniqueNames(names), unique);
});

test("a name is cut to 255 bytes at whole characters and keeps its extension", () => {
  const long = "ä".repeat(125);
  assert.deepEqual(safeUniqueNames([`${long}.txt`, `${long}.txt`]), [
    `${long}.txt`,
    `${"ä".repeat(121)} (2).txt`,
  ]);
  const [first, second] = safeUniqueNames([`con.${"x".repeat(251)}`, `con.${"x".repeat(251)}`]);
  assert.equal(Buffer.byteLength(first!), 255);
  assert.ok(Buffer.byteLength(second!) <= 255 && second!.endsWith(" (2)"));
});

const parts = fc.constantFrom(
  "a",
  "A",
  "ä",
  "a\u0308",
  ".",
  " ",
  "/",
  "\\",
  "con",
  "nul",
  " (2)",
  "\u0000",
  "x".repeat(60),
);
const name = fc.oneof(
  fc.array(parts, { maxLength: 5 }).map((each) => each.join("")),
  fc.string({ unit: "binary", maxLength: 255 }),
);

test("any names result in safe, unique names", () =>
  holds(
    fc.property(fc.array(name, { maxLength: 30 }), (names) => {
      const safe = safeUniqueNames(names);
      assert.equal(safe.length, names.length);
      assert.equal(new Set(safe.map((each) => each.normalize("NFC").toLowerCase())).size, names.length);
      for (const each of safe) {
        assert.match(each, /^[^/\\:*?"<>|\p{Cc}]*[^/\\:*?"<>|\p{Cc}. ]$/u);
        assert.doesNotMatch(each, /^(con|prn|aux|nul|com\d|lpt\d)(\..*)?$/i);
        // Only a name that was already longer may exceed 255 bytes.
        assert.ok(
          Buffer.byteLength(each) <= 255 || names.some((given) => Buffer.byteLength(given) > 255),
          each,
        );
      }
    }),
  ));

test("numbers are counted per name, also for names cut to the same", () => {
  const equal = safeUniqueNames(Array.from({ length: 1000 }, () => "a.txt"));
  assert.equal(equal.at(-1), "a (1000).txt");
  const long = Array.from({ length: 1000 }, (_, i) => `${"x".repeat(250)}${i >> 1}`);
  assert.equal(new Set(safeUniqueNames(long)).size, 1000);
});
