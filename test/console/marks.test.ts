// Marks match what the server compares, and never cut a character.
import assert from "node:assert/strict";
import { test } from "node:test";
import { hasMatch, isSearchable, toExcerpt } from "../../console/src/search/marks.ts";

/** Returns the excerpt as one text, with brackets around marks. */
function mark(text: string, q: string): string {
  return toExcerpt(text, q)
    .map(({ text, isMatch }) => (isMatch ? `[${text}]` : text))
    .join("");
}

test("search marks whole words, and prefixes of the last word", () => {
  for (const [text, q, marked] of [
    ["red fox, redo the fox", "red fox", "[red] [fox], redo the [fox]"],
    ["red fox, redo the fox", "fox red", "[red] [fox], [red]o the [fox]"],
    ["Straße CAFÉ cafe\u0301", "cafe", "Straße [CAFÉ] [cafe\u0301]"],
    ["caffè e caffettiera", "CAFFÈ", "[caffè] e [caffe]ttiera"],
    ["ﬁsh and ｆｉｎｓ", "fi", "[ﬁ]sh and [ｆｉ]ｎｓ"],
    ["ΟΔΟΣ και οδός", "οδος", "[ΟΔΟΣ] και [οδός]"],
    ["мой мои", "мои", "мой [мои]"],
    ["昨日東京都に行った", "京都", "昨日東[京都]に行った"],
    ["東京 and Tokyo東京", "東京", "[東京] and Tokyo[東京]"],
    ["a.b_c-d", "b c d", "a.[b]_[c]-[d]"],
    ["well 👩‍🚀 done", "👩", "well [👩‍🚀] done"],
    ["İstanbul", "istanbul", "[İstanbul]"],
    ["I don't, don’t and dont", "dont", "I [don't], [don’t] and [dont]"],
    ["I don't", "don't", "I [don't]"],
    ["well-known facts", "known facts", "well-[known] [facts]"],
    ["well-known", "well-kn", "[well]-[kn]own"],
    ["l’école", "ecol", "l’[écol]e"],
    ["Straße", "strass", "[Straß]e"],
    ["una co\u00adoperation", "coop", "una [co\u00adop]eration"],
    ["🇩🇪 and 🇫🇷", "🇫🇷", "🇩🇪 and [🇫🇷]"],
    ["Parley™ rocks", "parley ro", "[Parley]™ [ro]cks"],
    ["Дом №7, 5㎏", "7 kg", "Дом №[7], 5[㎏]"],
    ["nothing of it", "else", "nothing of it"],
    ["a <b>bold</b> text", "b", "a <[b]>[b]old</[b]> text"],
  ] as const)
    assert.equal(mark(text, q), marked, `${text}: ${q}`);
});

test("a text matches only if it has all words of the query", () => {
  assert.ok(hasMatch("The red fox", "fox re"));
  assert.ok(!hasMatch("The red fox", "fo red"));
  assert.ok(!hasMatch("The red fox", "red dog"));
  assert.ok(!hasMatch("The red fox", "?!"));
  for (const q of ["", " ", "?!", "—"]) assert.ok(!isSearchable(q), q);
  for (const q of ["a", "1", "é", "京", "👍"]) assert.ok(isSearchable(q), q);
});

test("an excerpt is short, has the first match, and cuts neither words nor characters", () => {
  const far = `${"word ".repeat(2000)}needle ${"more ".repeat(2000)}`;
  assert.match(mark(far, "needle"), /^…(?:word ){7}\[needle\] (?:more )+m?o?r?e?…$/);
  assert.ok(mark(far, "needle").length < 250);
  assert.match(mark(far, "none"), /^(?:word )+…$/);
  // Without spaces it is cut between characters, never within one of several code points.
  const family = "👨‍👩‍👧‍👦";
  const crowd = `${family.repeat(30)}京${family.repeat(30)}`;
  const parts = toExcerpt(crowd, "京");
  assert.deepEqual(
    parts.map(({ isMatch }) => isMatch),
    [false, false, true, false, false],
  );
  for (const part of [parts[1]!, parts[3]!]) assert.equal(part.text.replaceAll(family, ""), "");
  assert.equal(parts[2]!.text, "京");
  // A single endless word fills the excerpt.
  assert.match(mark("x".repeat(10_000), "x"), /^\[x\]x{199}…$/);
  assert.match(mark("x".repeat(10_000), "x".repeat(128)), /^\[x{128}\]x{72}…$/);
});
