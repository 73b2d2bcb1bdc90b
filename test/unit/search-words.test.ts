import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { hasTerms, toEntries, toLookups, toTerms } from "../../src/util/words.ts";
import { holds } from "../support/property.ts";

const ENTRIES: [text: string, entries: string[]][] = [
  ["The cat, the DOG", ["the", "cat", "dog"]],
  ["don't e-mail 555-0100", ["don", "t", "e", "mail", "555", "0100"]],
  ["Ｆｕｌｌ ﬁne ²", ["full", "fine", "2"]],
  ["Café, naïve, ΚΑΛΗΜΈΡΑ", ["cafe", "naive", "καλημερα"]],
  ["Ёлка й", ["ёлка", "й"]],
  ["كِتَاب שָׁלוֹם", ["كتاب", "שלום"]],
  ["नमस्ते दुनिया", ["नमस्ते", "दुनिया"]],
  ["東京都", ["東京", "京都", "都"]],
  ["ラーメン", ["ラー", "ーメ", "メン", "ン"]],
  ["안녕", ["안녕", "녕"]],
  ["iPhone手机2", ["iphone", "手机", "机", "2"]],
  ["great👍🏽 ©", ["great", "👍", "©"]],
  ["?! …", []],
  ["", []],
];

for (const [text, entries] of ENTRIES) {
  test(`the entries of ${JSON.stringify(text)}`, () =>
    assert.deepEqual(toEntries(text).sort(), [...entries].sort()));
}

const HITS: [query: string, text: string, isHit: boolean][] = [
  ["cat", "The cat sat", true],
  ["ca", "The cat sat", true],
  ["ca sat", "The cat sat", false],
  ["sat ca", "The cat sat", true],
  ["at", "The cat sat", false],
  ["cafe", "At the Café", true],
  ["CAFÉ", "at the cafe", true],
  ["京", "東京都", true],
  ["都", "東京都", true],
  ["東都", "東京都", false],
  ["東京", "京都と東", false],
  ["ไทย", "ภาษาไทยง่าย", true],
  ["👍", "yes 👍🏿", true],
  ["手机 iph", "iPhone手机", true],
];

for (const [query, text, isHit] of HITS) {
  test(`${JSON.stringify(query)} ${isHit ? "finds" : "does not find"} ${JSON.stringify(text)}`, () =>
    assert.equal(hasTerms(text, toTerms(query)), isHit));
}

test("a text that has the terms has an entry for each lookup", () => {
  const letters = fc.constantFrom(..."abAB é京都東ラー한글ไทй👍1 -");
  const text = fc.string({ unit: letters, maxLength: 20 });
  return holds(
    fc.property(text, text, text, (before, query, after) => {
      const entries = toEntries(before + query + after);
      const terms = toTerms(query);
      if (!hasTerms(before + query + after, terms)) return;
      for (const { entry, isPrefix } of terms.flatMap(toLookups))
        assert.ok(
          entries.some((each) => (isPrefix ? each.startsWith(entry) : each === entry)),
          entry,
        );
    }),
  );
});

test("entries are words that the index of neither engine parts", () =>
  holds(
    fc.property(fc.string({ unit: "grapheme" }), (text) => {
      for (const entry of toEntries(text)) assert.match(entry, /^[a-z0-9\u0080-\u{10ffff}]+$/u);
    }),
  ));
