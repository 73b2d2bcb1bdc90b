import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  cleanFilename,
  codePoints,
  isCleanText,
  phoneDigits,
  searchKey,
  usernameKey,
} from "../../src/util/text.ts";
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

test("two usernames that look alike but are other letters stay different", () => {
  assert.notEqual(usernameKey("ada"), usernameKey("аda"));
  assert.notEqual(usernameKey("ada"), usernameKey("adá"));
});

const wide = (text: string) =>
  text.replace(/[!-~]/g, (each) => String.fromCodePoint(each.codePointAt(0)! + 0xfee0));

test("usernames that differ in case, width or composition are the same", () => {
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

test("the key of a key is the key, for every character", () => {
  const changed: string[] = [];
  for (let code = 0; code <= 0x10ffff; code++) {
    if (code >= 0xd800 && code <= 0xdfff) continue;
    const key = usernameKey(String.fromCodePoint(code));
    if (usernameKey(key) !== key) changed.push(code.toString(16));
  }
  assert.deepEqual(changed, []);
});

test("the key of a key is the key, for names in any script", () =>
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
  [["山田　太郎", "Łódź"], " 山田 太郎 łódź"],
  [["a\u200bb", "c+d 😀"], " a b c+d 😀"],
];

for (const [names, key] of SEARCHED) {
  test(`the names ${JSON.stringify(names)} are searched as ${JSON.stringify(key)}`, () =>
    assert.equal(searchKey(...names), key));
}

const PHONES: [typed: string, digits: string][] = [
  ["+1 (555) 010-0100", "15550100100"],
  ["0049/30.123 45", "00493012345"],
  ["１２３", "123"],
  ["tel:911;ext=2", "9112"],
  ["٣٤٥", ""],
  ["", ""],
];

for (const [typed, digits] of PHONES) {
  test(`the phone number ${JSON.stringify(typed)} is searched as ${JSON.stringify(digits)}`, () =>
    assert.equal(phoneDigits(typed), digits));
}

test("a length is counted in code points", () => {
  assert.equal(codePoints(""), 0);
  assert.equal(codePoints("abc"), 3);
  assert.equal(codePoints("é"), 1);
  assert.equal(codePoints("e\u0301"), 2);
  assert.equal(codePoints("😀"), 1);
  assert.equal(codePoints("👩‍👩‍👧"), 5);
  assert.equal(codePoints("🇪🇺"), 2);
});

test("text is clean without control characters and lone surrogates, whatever else it holds", () => {
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

test("text with a control character of C0, DEL or C1 is not clean, wherever it stands", () => {
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

test("a harmless file name is kept as it is", () => {
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

test("each bidi control is taken out of a file name", () => {
  for (const control of BIDI) {
    assert.equal(cleanFilename(`${control}evil${control}gpj.exe${control}`), "evilgpj.exe");
  }
});

test("a file name of bidi controls alone is none", () => assert.equal(cleanFilename(BIDI.join("")), null));

test("a file name that is a dot or two once bidi controls are out is none", () => {
  for (const control of BIDI) {
    assert.equal(cleanFilename(`.${control}`), null);
    assert.equal(cleanFilename(`.${control}.`), null);
  }
});

test("a file name is no path, no dot or two, not empty and has no control characters", () => {
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

test("a file name has at most 255 bytes of UTF-8, counted without bidi controls", () => {
  for (const name of ["x".repeat(255), `x${"é".repeat(127)}`, "語".repeat(85), `xyz${"😀".repeat(63)}`]) {
    assert.equal(Buffer.byteLength(name), 255);
    assert.equal(cleanFilename(name), name);
    assert.equal(cleanFilename(`${name}\u202e`), name);
    assert.equal(cleanFilename(`${name}x`), null);
  }
});

test("a clean file name is one that can be cleaned again without a change", () => {
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
