import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  cleanFilename,
  codePoints,
  hasWords,
  isCleanText,
  phoneDigits,
  searchDigits,
  searchKey,
  searchPart,
  searchWords,
  usernameKey,
} from "../../src/util/text.ts";
import { latinDigits } from "../../src/util/words.ts";
import { holds } from "../support/property.ts";

const KEYS: [username: string, key: string][] = [
  ["ada", "ada"],
  ["Ada Lovelace", "ada lovelace"],
  ["ÅSE", "åse"],
  ["A\u030aSE", "åse"],
  ["\u212bse", "åse"],
  ["\u212aelvin", "kelvin"],
  ["ＡＤＡ　１", "ada 1"],
  ["ﬁona", "fiona"],
  ["ΝΊΚΟΣ", "νίκος"],
  ["Юлия", "юлия"],
  ["ﾊﾝｶｸ", "ハンカク"],
  ["각", "각"],
  ["\u1100\u1161\u11a8", "각"],
  ["𝓐𝓭𝓪", "ada"],
  ["№1", "no1"],
  ["H\u0331", "\u1e96"],
];

for (const [username, key] of KEYS) {
  test(`the username ${username} is compared as ${key}`, () => assert.equal(usernameKey(username), key));
}

test("usernames of lookalike letters stay different", () => {
  assert.notEqual(usernameKey("ada"), usernameKey("аda"));
  assert.notEqual(usernameKey("ada"), usernameKey("adá"));
});

const wide = (text: string) =>
  text.replace(/[!-~]/g, (each) => String.fromCodePoint(each.codePointAt(0)! + 0xfee0));

test("usernames that differ only in case, width or composition are equal", () => {
  const letters = fc.constantFrom(..."abcdefghijklmnopqrstuvwxyz0123456789._- éüøñçåжяю");
  return holds(
    fc.property(fc.string({ unit: letters, maxLength: 40 }), (name) => {
      const key = usernameKey(name);
      const variants = [
        name.toUpperCase(),
        name.normalize("NFD"),
        wide(name),
        wide(name.toUpperCase()).normalize("NFD"),
      ];
      for (const variant of variants) assert.equal(usernameKey(variant), key);
    }),
  );
});

test("usernameKey is idempotent for every character", () => {
  const changed: string[] = [];
  for (let code = 0; code <= 0x10ffff; code++) {
    if (code >= 0xd800 && code <= 0xdfff) continue;
    const key = usernameKey(String.fromCodePoint(code));
    if (usernameKey(key) !== key) changed.push(code.toString(16));
  }
  assert.deepEqual(changed, []);
});

test("usernameKey is idempotent for names in any script", () =>
  holds(
    fc.property(fc.string({ unit: "grapheme" }), (name) => {
      assert.equal(usernameKey(usernameKey(name)), usernameKey(name));
    }),
  ));

const SEARCHED: [names: (string | null)[], key: string][] = [
  [["ada"], " ada"],
  [["ada", "Ada Lovelace"], " ada ada lovelace"],
  [["ada", null], " ada"],
  [["", null, " - "], ""],
  [[" Jean-Luc  O'Neil "], " jean luc o neil"],
  [["ada.lovelace@work", "Ａｄａ"], " ada lovelace work ada"],
  [["山田　太郎", "Łódź"], " 山田 太郎 lodz"],
  [["a\u200bb", "c+d 😀"], " ab c+d 😀"],
  [["José Straße", "Ёлка ٣"], " jose strasse елка 3"],
];

for (const [names, key] of SEARCHED) {
  test(`the names ${JSON.stringify(names)} have the search key ${JSON.stringify(key)}`, () =>
    assert.equal(searchKey(...names), key));
}

const PHONES: [typed: string, digits: string][] = [
  ["+1 (555) 010-0100", "15550100100"],
  ["0049/30.123 45", "493012345"],
  ["+49 (0)30 12345", "493012345"],
  ["(0)30 12345", "03012345"],
  ["0030 123", "0030123"],
  ["\u202a+1 555\u202c", "1555"],
  ["１２３", "123"],
  ["tel:911;ext=2", "9112"],
  ["٣٤٥", "345"],
  ["+۹۸ ۲۱ ۱۲۳", "9821123"],
  ["+৮৮০ ১৭১", "880171"],
  ["०९८७६", "09876"],
  ["𝟘𝟙𝟚𝟛𝟜", "01234"],
  ["", ""],
];

for (const [typed, digits] of PHONES) {
  test(`the phone number ${JSON.stringify(typed)} has the digits ${JSON.stringify(digits)}`, () =>
    assert.equal(phoneDigits(typed), digits));
}

/** In each script a prefix of a word and a part inside it; scripts without spaces match both. */
const SCRIPTS: [script: string, name: string, begins: string, inside: string, isUnspaced: boolean][] = [
  ["Latin", "Ångström", "ång", "ström", false],
  ["Greek", "Νίκος", "ΝΊ", "κος", false],
  ["Cyrillic", "Юлия", "юл", "лия", false],
  ["Hebrew", "שלומית", "שלו", "מית", false],
  ["Arabic", "عبدالله", "عبد", "الله", false],
  ["Devanagari", "प्रियंका", "प्रि", "यंका", false],
  ["Armenian", "Արամազդ", "արա", "մազդ", false],
  ["Georgian", "თამარი", "თამ", "მარი", false],
  ["Han", "李小美", "李小", "美", true],
  ["Hiragana", "さくらこ", "さく", "らこ", true],
  ["Katakana", "タナカー", "ﾀﾅ", "カー", true],
  ["Hangul", "김민수", "김", "민수", true],
  ["Bopomofo", "ㄅㄆㄇㄈ", "ㄅㄆ", "ㄇㄈ", true],
  ["Thai", "สมชาย", "สม", "ชาย", true],
  ["Lao", "ສົມພອນ", "ສົມ", "ພອນ", true],
  ["Khmer", "សុខា", "សុ", "ខា", true],
  ["Myanmar", "အောင်ဆန်း", "အောင်", "ဆန်း", true],
];

for (const [script, name, begins, inside, isUnspaced] of SCRIPTS) {
  test(`a search finds names in ${script} by prefix${isUnspaced ? " and inside" : " only"}`, () => {
    const isFound = (q: string) => searchWords(q).every((word) => searchKey(name).includes(searchPart(word)));
    const isFileFound = (q: string) => hasWords(`${name}.pdf`, searchWords(q));
    for (const found of [isFound, isFileFound]) {
      assert.equal(found(begins), true);
      assert.equal(found(name), true);
      assert.equal(found(inside), isUnspaced);
      assert.equal(found(`${begins}x`), false);
    }
  });
}

const FILES: [filename: string, found: string[], missed: string[]][] = [
  [
    "Report_2024-final.pdf",
    ["report 2024", "FINAL rep", "pdf", ".pdf", "report_2024-final.pdf", "2", "2024 2024", "*.pdf"],
    ["port", "024", "report 2025", "df", "reports"],
  ],
  [
    "invoice17.pdf",
    ["invoice 17", "17", "1", "invoice17", "inv", "17 inv"],
    ["7", "voice", "invoice 7", "17inv"],
  ],
  ["IMG20240131_235959.JPG", ["img", "2024", "img2024", "2359", "jpg"], ["0131", "mg"]],
  ["MeetingNotes.docx", ["meeting", "meetingnotes"], ["notes"]],
  [
    "東京tower2024報告.pdf",
    ["東京", "京", "tower", "2024", "報告", "報告 東京", "告.pdf"],
    ["ower", "024", "告 x"],
  ],
  ["🎉party+cake(1).png", ["party", "cake", "🎉", "🎉party", "+cake", "1"], ["arty", "🎊"]],
  ["Zu\u0308rich ﬁnal.txt", ["zürich", "zu\u0308r", "final", "ＦＩＮＡＬ"], ["rich"]],
  ["c++.h", ["c++", "c", "+", "h"], ["c+++"]],
  ["...", ["..."], ["a"]],
  ["आप手机pro.pdf", ["pro", "手机", "आप pro"], ["ro"]],
  ["1๑2.pdf", ["1", "112", "๑๑"], ["2"]],
];

for (const [filename, found, missed] of FILES) {
  test(`the file ${filename} is found by prefixes of its words`, () => {
    for (const q of found) assert.equal(hasWords(filename, searchWords(q)), true, q);
    for (const q of missed) assert.equal(hasWords(filename, searchWords(q)), false, q);
  });
}

const DIALLED: [typed: string, ...digits: string[]][] = [
  ["555", "555"],
  ["0100", "0100"],
  ["55"],
  ["+49 (171) 555-0100", "491715550100", " 01715550100", " 1715550100"],
  ["+49 171 55", "4917155"],
  ["0171/555.0100", "1715550100"],
  ["0049 171 5550100", "491715550100", " 01715550100", " 1715550100"],
  [" 49 171 5550100", "491715550100", " 01715550100", " 1715550100"],
  ["+7 912 3456789", "79123456789", " 89123456789", " 9123456789"],
  ["+36 1 2345678", "3612345678", " 0612345678", " 12345678"],
  ["+353 1 2345678", "35312345678", " 012345678", " 12345678"],
  ["000000", "000000"],
  ["555\u2011010\u20130", "5550100"],
  ["\u202a+1 555\u00a00100\u202c", "15550100", " 05550100", " 5550100"],
  ["５５５", "555"],
  ["٥٥٥", "555"],
  ["555a"],
  ["ada 555"],
  ["555,010"],
  [""],
];

for (const [typed, ...digits] of DIALLED) {
  test(`the query ${JSON.stringify(typed)} has the digits ${JSON.stringify(digits)}`, () =>
    assert.deepEqual(searchDigits(typed), digits));
}

test("an international number and its national form find each other", () => {
  const isFound = (stored: string, q: string) =>
    searchDigits(q).some((digits) => ` ${phoneDigits(stored)}`.includes(digits));
  for (const international of ["+49 171 5550100", "0049 171 5550100", "+49 (0)171 5550100"]) {
    for (const other of ["+49 171 5550100", "0049 171 5550100", "0171 5550100"]) {
      assert.ok(isFound(international, other), `${other} finds ${international}`);
      assert.ok(isFound(other, international), `${international} finds ${other}`);
    }
    assert.ok(!isFound("+43 171 5550100", international), "another country's");
  }
});

test("decimal digits of every script equal 0 to 9", () => {
  for (let code = 0; code < 0x110000; code++) {
    const digit = String.fromCodePoint(code);
    if (!/\p{Nd}/u.test(digit)) continue;
    assert.match(latinDigits(digit), /^[0-9]$/);
    const next = String.fromCodePoint(code + 1);
    if (latinDigits(digit) !== "9") assert.equal(latinDigits(next), String(Number(latinDigits(digit)) + 1));
  }
});

test("length is counted in code points", () => {
  assert.equal(codePoints(""), 0);
  assert.equal(codePoints("abc"), 3);
  assert.equal(codePoints("é"), 1);
  assert.equal(codePoints("e\u0301"), 2);
  assert.equal(codePoints("😀"), 1);
  assert.equal(codePoints("👩‍👩‍👧"), 5);
  assert.equal(codePoints("🇪🇺"), 2);
});

test("text without control characters and lone surrogates is clean", () => {
  for (const text of [
    "",
    "plain",
    "naïve",
    "日本語",
    "😀👩‍👩‍👧🇪🇺",
    "\u00a0",
    "\u202e",
    "\u2028",
    "\ufeff",
    "\uffff",
  ]) {
    assert.ok(isCleanText(text), JSON.stringify(text));
  }
});

test("text with a control character of C0, DEL or C1 is not clean", () => {
  for (let code = 0; code < 0x100; code++) {
    const isControl = code < 0x20 || (code >= 0x7f && code < 0xa0);
    const character = String.fromCharCode(code);
    for (const text of [character, `a${character}`, `${character}b`, `a${character}b`]) {
      assert.equal(isCleanText(text), !isControl, `code ${code}`);
    }
  }
});

test("text with a lone surrogate is not clean", () => {
  for (const text of ["\ud83d", "\ude00", "a\ud83db", "\ude00\ud83d", "\ud83d\ud83d\ude00"]) {
    assert.equal(isCleanText(text), false, JSON.stringify(text));
  }
});

test("a harmless filename stays unchanged", () => {
  const names = [
    "a",
    "a.txt",
    " a ",
    "...",
    ".hidden",
    "con.txt",
    "日本語.pdf",
    "😀",
    "a:b*c?",
    "%2e%2e",
    "a\u2028b",
  ];
  for (const name of names) assert.equal(cleanFilename(name), name);
});

const BIDI = [..."\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"];

test("each bidi control is removed from a filename", () => {
  for (const control of BIDI) {
    assert.equal(cleanFilename(`${control}evil${control}gpj.exe${control}`), "evilgpj.exe");
  }
});

test("a filename of bidi controls only is invalid", () => assert.equal(cleanFilename(BIDI.join("")), null));

test("a filename that is a dot or two without its bidi controls is invalid", () => {
  for (const control of BIDI) {
    assert.equal(cleanFilename(`.${control}`), null);
    assert.equal(cleanFilename(`.${control}.`), null);
  }
});

test("a filename is not a path, a dot or two, or empty, and has no control characters", () => {
  for (const name of [
    "",
    ".",
    "..",
    "/",
    "\\",
    "a/b",
    "a\\b",
    "/a",
    "a\\",
    "a\0",
    "a\nb",
    "\u0085",
    "\ud800",
  ]) {
    assert.equal(cleanFilename(name), null, JSON.stringify(name));
  }
});

test("a filename has at most 255 bytes of UTF-8 without its bidi controls", () => {
  for (const name of ["x".repeat(255), `x${"é".repeat(127)}`, "語".repeat(85), `xyz${"😀".repeat(63)}`]) {
    assert.equal(Buffer.byteLength(name), 255);
    assert.equal(cleanFilename(name), name);
    assert.equal(cleanFilename(`${name}\u202e`), name);
    assert.equal(cleanFilename(`${name}x`), null);
  }
});

test("cleaning a filename is idempotent", () => {
  const unit = fc.oneof(
    fc.constantFrom(...BIDI, "/", "\\", ".", "\0", "\ud800", "é", "😀", "a"),
    fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
  );
  return holds(
    fc.property(fc.array(unit, { maxLength: 100 }), (units) => {
      const clean = cleanFilename(units.join(""));
      if (clean === null) return;
      assert.equal(cleanFilename(clean), clean);
      assert.equal(clean, units.filter((each) => !BIDI.includes(each)).join(""));
      assert.ok(clean.isWellFormed() && Buffer.byteLength(clean) <= 255 && !/[/\\\p{Cc}]/u.test(clean));
    }),
  );
});
