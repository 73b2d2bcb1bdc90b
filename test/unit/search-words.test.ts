import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { hasTerms, toEntries, toLookups, toTerms } from "../../src/util/words.ts";
import { holds } from "../support/property.ts";

const ENTRIES: [text: string, entries: string[]][] = [
  ["The cat, the DOG", ["the", "cat", "dog"]],
  ["don't e-mail 555-0100", ["don", "t", "dont", "e", "mail", "email", "555", "0100", "5550100"]],
  ["l’après-midi בית־ספר", ["l", "apres", "lapres", "midi", "lapresmidi", "בית", "ספר", "ביתספר"]],
  ["’tis rock’n’roll's", ["tis", "rock", "n", "roll", "s", "rocknrolls"]],
  ["Ｆｕｌｌ ﬁne ²", ["full", "fine", "2"]],
  [
    "Parley™, дом №7, 5㎏, Ⓜetro, ㍿日本",
    ["parley", "tm", "дом", "no", "7", "5", "kg", "metro", "株式", "式会", "会社", "社日", "日本", "本"],
  ],
  ["Café, naïve, ΚΑΛΗΜΈΡΑ", ["cafe", "naive", "καλημερα"]],
  ["Ёлка й п’ять пʼять", ["елка", "й", "п", "ять", "пять"]],
  [
    "İstanbul ISPARTA ısı Đường Łódź Straße STRASSE Ærø",
    ["istanbul", "isparta", "isi", "duong", "lodz", "strasse", "aero"],
  ],
  ["Ὀδυσσεύς ΟΔΥΣΣΕΥΣ", ["οδυσσευσ"]],
  ["كِتَاب שָׁלוֹם", ["كتاب", "שלום"]],
  ["أحمد إلى مدرسة ســـلام ٢٠٢٦", ["احمد", "الي", "مدرسه", "سلام", "2026"]],
  ["می‌روم کی", ["مي", "روم", "ميروم", "كي"]],
  ['צה״ל צה"ל', ["צה", "ל", "צהל"]],
  ["नमस्ते दुनिया", ["नमस्ते", "दुनिया"]],
  ["ज़रूर हाँ १२ क्\u200dष", ["जरूर", "हां", "12", "क्ष"]],
  ["ไป\u200bไหน ๑๐", ["ไป", "ปไ", "ไห", "หน", "น", "10"]],
  ["東京都", ["東京", "京都", "都"]],
  ["ラーメン", ["ラー", "ーメ", "メン", "ン"]],
  ["안녕", ["안녕", "녕"]],
  ["iPhone手机2", ["iphone", "手机", "机", "2"]],
  ["great👍🏽 ©", ["great", "👍", "©"]],
  ["❤️ ❤ 🇩🇪🇫🇷 👩‍🚀", ["❤", "🇩🇪", "🇫🇷", "👩", "🚀"]],
  ["it's手机's", ["it", "s", "its", "手机", "机"]],
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
  ["email", "an e-mail", true],
  ["e-mail", "an e mail", true],
  ["l'après-mi", "cet l’après-midi", true],
  ["dont", "I don't", true],
  ["don't", "I dont know", true],
  ["don't", "Don took it", false],
  ["ecole", "à l’école", true],
  ["l'éc", "à l’école", true],
  ["duong", "Đường", true],
  ["οδος", "ΟΔΟΣΤΡΩΜΑ", true],
  ["🇩🇪", "🇩🇰 🇪🇸", false],
  ["❤️", "❤", true],
  ["手'机", "手 机", true],
  ["parley rocks", "Parley™ rocks", true],
  ["№7", "дом № 7", true],
];

for (const [query, text, isHit] of HITS) {
  test(`${JSON.stringify(query)} ${isHit ? "finds" : "does not find"} ${JSON.stringify(text)}`, () =>
    assert.equal(hasTerms(text, toTerms(query)), isHit));
}

test("a text that matches has an entry for each lookup", () => {
  const letters = fc.constantFrom(..."abAB é京都東ラー한글ไทй👍1 -'ßıςْ٣🇩");
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

test("texts that are slow to normalize are cut off", () => {
  assert.ok(toEntries(Array.from({ length: 10_000 }, (_, i) => `ﷺ${i}`).join("")).length < 5000);
  assert.ok(hasTerms(`a${"\u0301\u0327".repeat(5000)} b`, toTerms("a b")));
  assert.equal(toTerms(`ก${"\u0e49".repeat(100)}`)[0]!.text.length, 17);
});

test("entries are words that the index of neither engine splits", () =>
  holds(
    fc.property(fc.string({ unit: "grapheme" }), (text) => {
      for (const entry of toEntries(text)) assert.match(entry, /^[a-z0-9\u0080-\u{10ffff}]+$/u);
    }),
  ));
