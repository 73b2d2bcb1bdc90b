import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { decodeWords } from "../../src/http/protocol/encoded-words.ts";
import { holds } from "../support/property.ts";

const base64 = (bytes: Buffer | string) => `=?utf-8?B?${Buffer.from(bytes).toString("base64")}?=`;
const quoted = (bytes: Buffer | string) => {
  const hex = Array.from(Buffer.from(bytes), (byte) => `=${byte.toString(16).padStart(2, "0")}`);
  return `=?UTF-8?q?${hex.join("").replaceAll("=20", "_")}?=`;
};

const DECODED: [what: string, text: string, decoded: string][] = [
  ["no word", "a=b?c.txt", "a=b?c.txt"],
  ["a word of .NET with a slash in it", "=?utf-8?B?4oK/5pel5pys6Kqe44Gv44O/?=", "₿日本語はヿ"],
  ["a word in Q", "=?UTF-8?Q?na=C3=AFve_caf=c3=a9=2Etxt?=", "naïve café.txt"],
  ["words after each other", `${base64("日本")} ${quoted("語.txt")}`, "日本語.txt"],
  ["words without a space between", `${base64("a")}${base64("b")}`, "ab"],
  ["a word with a language", "=?utf-8*ja?b?5pel?=", "日"],
  ["a word and what follows it", `${base64("日本")}.txt`, "日本.txt"],
  ["a word with nothing in it", "=?utf-8?q??=a", "a"],
];

for (const [what, text, decoded] of DECODED)
  test(`a name with ${what} is decoded`, () => assert.equal(decodeWords(text), decoded));

const REFUSED = [
  "=?iso-8859-1?Q?caf=E9?=",
  "=?Shift_JIS?B?k/qWew==?=",
  "=?utf-8?X?abc?=",
  "=?utf-8?B?4oK/5pel",
  "=?utf-8?B?4oK/5pe?=",
  "=?utf-8?B?!!!!?=",
  "=?utf-8?B?/w==?=",
  "=?utf-8?Q?=E9?=",
  "=?utf-8?Q?=4?=",
  "=?utf-8?Q?two words?=",
  `${base64("a")} =?utf-8?B?`,
];

for (const text of REFUSED) {
  test(`${text} is refused`, () =>
    assert.throws(() => decodeWords(text), { code: "malformed_body", message: /RFC 2047.*UTF-8/ }));
}

test("a name round-trips through encoded words cut at any byte", () =>
  holds(
    fc.property(
      fc.string({ unit: "grapheme", minLength: 1 }),
      fc.array(fc.nat({ max: 40 }), { maxLength: 4 }),
      fc.boolean(),
      (name, cuts, isQuoted) => {
        const bytes = Buffer.from(name);
        const at = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b), bytes.length];
        const parts = at.slice(1).map((end, index) => bytes.subarray(at[index]!, end));
        assert.equal(decodeWords(parts.map(isQuoted ? quoted : base64).join(" ")), name);
      },
    ),
    1000,
  ));
