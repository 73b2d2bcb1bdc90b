import { fold, latinDigits, WORD_RULE } from "./words.ts";

const ASCII = /^[\0-\x7f]*$/;

/** Returns the form in which usernames are compared. Computed here, so that it is the same on every engine. */
export function usernameKey(username: string): string {
  // Normalizing does not change ASCII, and is the slowest step.
  if (ASCII.test(username)) return username.toLowerCase();
  return username.normalize("NFKC").toLowerCase().normalize("NFKC");
}

/** Everything but the dotless i, which case folding keeps apart although its upper case is I. */
const FOLDED = /[^\u0131]+/g;

/**
 * Returns the form in which the username of a new user differs from those of all others: `usernameKey` after full case
 * folding (Unicode, section 3.13), which makes "straße" equal to "STRASSE" and "σ" to a final "ς".
 */
export function foldedKey(username: string): string {
  if (ASCII.test(username)) return username.toLowerCase();
  const fold = (part: string) => part.toLowerCase().toUpperCase().toLowerCase();
  return username.normalize("NFKC").replace(FOLDED, fold).normalize("NFKC");
}

const BETWEEN_WORDS = /[\p{P}\p{Z}\p{C}]+/u;

/**
 * The version of `searchKey` and `phoneDigits`, whose results contacts are stored with. Change the number when you
 * change them, in a release whose migration stops earlier nodes: those would store contacts by the old rule.
 */
export const NAME_RULE = `1, words ${WORD_RULE}`;

/** Returns the words of a name, folded like those of a message. Punctuation and spaces separate words. */
export function searchWords(text: string): string[] {
  return fold(text)
    .split(BETWEEN_WORDS)
    .filter((word) => word !== "");
}

/** Returns the form in which names are searched: a space before each word. */
export function searchKey(...names: (string | null)[]): string {
  let key = "";
  for (const name of names) for (const word of searchWords(name ?? "")) key += ` ${word}`;
  return key;
}

/** Scripts that put no spaces between words or parts of names. */
const UNSPACED = String.raw`[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Bopomofo}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]`;
const STARTS_UNSPACED = new RegExp(`^${UNSPACED}`, "u");

/**
 * Returns what a search key must contain to match this word of a query: the beginning of a word, or, in scripts
 * without spaces, any part of one.
 */
export function searchPart(word: string): string {
  return STARTS_UNSPACED.test(word) ? word : ` ${word}`;
}

/** In file names, words also begin between letters, digits and symbols. */
const RUNS = new RegExp(
  `${UNSPACED}+|[[\\p{L}\\p{M}]--${UNSPACED}]+|[\\p{N}--${UNSPACED}]+|[^\\p{L}\\p{M}\\p{N} ]`,
  "gv",
);

/** Reports whether a filename has all words of a query. */
export function hasWords(filename: string, words: readonly string[]): boolean {
  const key = searchKey(filename);
  if (!words.every((word) => key.includes(word))) return false;
  const begins = Array.from(key.matchAll(RUNS), ({ index }) => index);
  return words.every(
    (word) => STARTS_UNSPACED.test(word) || begins.some((index) => key.startsWith(word, index)),
  );
}

/** The prefix of an international number: + or 00. */
const INTERNATIONAL_PREFIX = /^(?:\+|00(?=[1-9]\d{7}))/;
/** The national zero that people write in international numbers. */
const OPTIONAL_ZERO = "(0)";

/** Returns the digits of a number. Those of an international number begin with the country code. */
function readNumber(phoneNumber: string): { digits: string; isInternational: boolean } {
  const latin = latinDigits(ASCII.test(phoneNumber) ? phoneNumber : phoneNumber.normalize("NFKC"));
  const dialled = latin.replace(OPTIONAL_ZERO, "").replace(/[^0-9+]/g, "");
  const isInternational = INTERNATIONAL_PREFIX.test(dialled);
  const digits = isInternational ? dialled.replace(INTERNATIONAL_PREFIX, "") : latin;
  return { digits: digits.replace(/[^0-9]/g, ""), isInternational };
}

/** Returns the form in which phone numbers are compared: digits 0 to 9 only, the same after + and 00. */
export function phoneDigits(phoneNumber: string): string {
  return readNumber(phoneNumber).digits;
}

const PHONE_PART = /^[0-9\p{Z}\p{Cf}\p{Pd}+()./]+$/u;
const COUNTRY_CODE = /^(?:[17]|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|\d{3})(?=\d{6})/;
/** National trunk prefixes other than 0, by country code. */
const TRUNK_PREFIXES: Readonly<Record<string, string>> = { 7: "8", 36: "06" };

/**
 * Returns what to look for in the stored digits, where a space precedes each number. Returns nothing unless the query
 * can be a part of a phone number, of at least three digits. A leading space in a query is a + that was not
 * URL-encoded.
 */
export function searchDigits(text: string): string[] {
  const typed = latinDigits(text.normalize("NFKC")).replace(/^ (?=\d)/, "+");
  const { digits, isInternational } = readNumber(typed);
  if (digits.length < 3 || !PHONE_PART.test(typed)) return [];
  // Zeros before a whole number are a prefix that the international form does not have.
  if (!isInternational) return [digits.replace(/^0+(?=[0-9]{6})/, "")];
  const code = COUNTRY_CODE.exec(digits)?.[0];
  if (code === undefined) return [digits];
  const national = digits.slice(code.length);
  return [digits, ` ${TRUNK_PREFIXES[code] ?? "0"}${national}`, ` ${national}`];
}

/**
 * Returns the length of a text in UTF-16 units after NFKC, which turns one letter into up to 18: the cost of
 * comparing it.
 */
export function foldedLength(text: string): number {
  return ASCII.test(text) ? text.length : text.normalize("NFKC").length;
}

export function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

const CONTROL = /\p{Cc}/u;

/** Matches NUL, other control characters and lone surrogates, which the engines treat differently. */
export function isCleanText(text: string): boolean {
  return text.isWellFormed() && !CONTROL.test(text);
}

const CONTROL_IN_LINES = /[^\P{Cc}\n\t]/u;

/** Like `isCleanText`, for text of several lines, which may have line feeds and tabs. */
export function isCleanLines(text: string): boolean {
  return text.isWellFormed() && !CONTROL_IN_LINES.test(text);
}

const VISIBLE = /[^\p{White_Space}\p{Default_Ignorable_Code_Point}\p{Cf}\u2800]/u;

/** Reports whether the text has a visible character. */
export function isVisible(text: string): boolean {
  return VISIBLE.test(text);
}

const BIDI_CONTROLS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const MAX_FILENAME_BYTES = 255;

/** Describes a valid filename, for messages. */
export const FILENAME_ACCEPTS =
  '1 to 255 bytes of UTF-8 without "/", "\\" or control characters, and not "." or ".."';

/** Returns the name without bidi controls, which can disguise an extension; null if it is not a valid filename. */
export function cleanFilename(name: string): string | null {
  const clean = name.replace(BIDI_CONTROLS, "");
  const valid =
    isCleanText(clean) &&
    clean !== "" &&
    clean !== "." &&
    clean !== ".." &&
    !/[/\\]/.test(clean) &&
    Buffer.byteLength(clean) <= MAX_FILENAME_BYTES;
  return valid ? clean : null;
}

/** Removes tokens in the form of `makeToken` from a text that others read. */
export function hideTokens(text: string): string {
  return text.replace(/parley_[\w-]{43}/g, "parley_…");
}
