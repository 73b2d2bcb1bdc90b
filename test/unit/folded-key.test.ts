// The form in which the names of new users differ from all others.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { foldedKey, usernameKey } from "../../src/util/text.ts";
import { holds } from "../support/property.ts";

/** Texts that are equal after full case folding (CaseFolding.txt of Unicode, statuses C and F). */
const FOLDED: string[][] = [
  ["Straße", "STRASSE", "straẞe", "ｓｔｒａｓｓｅ"],
  ["ΝΊΚΟΣ", "νίκος", "νίκοσ", "Νίκος"],
  ["ﬁ", "FI", "ﬁ"],
  ["ŉ", "ʼN"],
  ["ǰ", "J\u030c"],
  ["և", "ԵՒ"],
  ["ᾳ", "ᾼ", "ΑΙ", "αι"],
  ["ῷ", "ω\u0342ι"],
  ["ᲀ", "в", "В"],
  ["Ꭰ", "ꭰ"],
  ["İ", "i\u0307", "I\u0307"],
];

test("foldedKey is the same for names that are equal after full case folding", () => {
  for (const [first, ...others] of FOLDED)
    for (const other of others) assert.equal(foldedKey(other), foldedKey(first!), `${first} ${other}`);
  for (const [a, b] of [
    ["ı", "i"],
    ["İ", "i"],
    ["é", "e"],
    ["а", "a"],
  ])
    assert.notEqual(foldedKey(a!), foldedKey(b!));
});

test("foldedKey follows the simple case folding of every character, and usernameKey", () => {
  for (let code = 0; code <= 0x10ffff; code++) {
    if (code >= 0xd800 && code <= 0xdfff) continue;
    const letter = String.fromCodePoint(code);
    assert.equal(foldedKey(usernameKey(letter)), foldedKey(letter), letter);
    for (const other of [letter.toLowerCase(), letter.toUpperCase()]) {
      // With these flags a regular expression compares by simple case folding.
      if (other === letter || !new RegExp(`^${letter}$`, "iu").test(other)) continue;
      assert.equal(foldedKey(other), foldedKey(letter), `${letter} ${other}`);
    }
  }
});

test("names that compare equal have the same folded key", () =>
  holds(
    fc.property(fc.string({ unit: "grapheme" }), (name) => {
      assert.equal(foldedKey(usernameKey(name)), foldedKey(name));
      assert.equal(foldedKey(foldedKey(name)), foldedKey(name));
    }),
  ));
