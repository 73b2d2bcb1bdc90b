/** What a search matches: the words of a text, folded like those of queries. */
interface Words {
  /** Words between spaces or punctuation, and symbols such as emoji. */
  words: Set<string>;
  /** Runs of a script without spaces: a search matches any part of one. */
  runs: string[];
}

/** A condition of a query. */
export interface Term {
  text: string;
  /** `run`: matches a part of a run. */
  kind: "word" | "prefix" | "run";
}

/**
 * The version of how texts are split. Change the number with this file. Another version of Unicode may split the same
 * text differently.
 */
export const WORD_RULE = `3, Unicode ${process.versions.unicode}`;

/** Letters that search replaces by others, because people write and search both. */
const LETTERS = new Map([
  ..."ıi ßss đd ðd łl øo ħh æae œoe þth".split(" ").map(toPair),
  ..."ςσ ёе ىي یي کك ةه ەه ँं".split(" ").map(toPair),
  // Apostrophes, also as letters, Hebrew abbreviation marks, and the joint of Persian words.
  ...[..."’ʼʻ׳״\u200c"].map((sign) => [sign, "'"] as const),
  ...[..."‐־"].map((sign) => [sign, "-"] as const),
]);
/** Invisible characters, variation selectors, the Arabic tatweel, and the optional dot of Devanagari. */
const IGNORED = /(?!\u200c)[\p{Cf}\p{VS}\u0640\u093c]/gu;
/** Optional marks: accents of Latin and Greek, vowels of Arabic and Hebrew. */
const MARKS = /([\p{scx=Latin}\p{scx=Greek}\p{scx=Arabic}\p{scx=Hebrew}])\p{Mn}+/gu;
/** Symbols that NFKC expands to several letters. Each is a word: otherwise `Parley™` would be `parleytm`. */
const SYMBOLS = /[℀℁℅℆№℠℡™℻\u3371-\u337a\u3380-\u33df\u33ff]/g;
/** Thousands of combining marks in a row take long to normalize. */
const MANY_MARKS = /(\p{M}{16})\p{M}+/gu;
/** UTF-16 units of a normalized text: NFKC turns one letter into up to 18. */
const MAX_LENGTH = 30_000;

const ASCII = /^[\0-\x7f]*$/;
/**
 * Characters that join the parts of a word. A text is found by each part and by all of them together. In a query a
 * hyphen is a space.
 */
const JOINT = /['"-]/;
const JOINTS = /['"-]/g;
const ASCII_WORD = /[a-z0-9]+(?:['"-][a-z0-9]+)*/g;
const WORD = /[\p{L}\p{N}][\p{L}\p{M}\p{N}]*(?:['"-][\p{L}\p{N}][\p{L}\p{M}\p{N}]*)*|\p{RI}\p{RI}|\p{So}/gu;
const RUN =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Bopomofo}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]+/gu;

/** Maximum length of a word in the index. PostgreSQL accepts entries of up to 2,704 bytes. */
const MAX_ENTRY = 64;

function toPair(text: string): readonly [letter: string, replacement: string] {
  const [letter = "", ...replacement] = text;
  return [letter, replacement.join("")];
}

const DIGIT = /\p{Nd}/u;
const DIGITS = /[^\P{Nd}0-9]/gu;

const REPLACED = new RegExp(`[${[...LETTERS.keys()].join("")}]|${DIGITS.source}`, "gu");

/** Returns the text with the decimal digits of all scripts as 0 to 9. */
export function latinDigits(text: string): string {
  return text.replace(DIGITS, toLatin);
}

/** In Unicode, the ten digits of a script are consecutive, from zero. */
function toLatin(digit: string): string {
  const code = digit.codePointAt(0)!;
  let first = code;
  while (DIGIT.test(String.fromCodePoint(first - 1))) first--;
  return String((code - first) % 10);
}

/** Folds a text for comparison: NFKC, lower case, no optional marks, equivalent letters replaced. */
export function fold(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase();
  const apart = text.replace(MANY_MARKS, "$1").replace(SYMBOLS, " $& ");
  const lower = apart.normalize("NFKC").slice(0, MAX_LENGTH).toLowerCase();
  const plain = lower.normalize("NFD").replace(MARKS, "$1").replace(IGNORED, "");
  return plain.normalize("NFKC").replace(REPLACED, (letter) => LETTERS.get(letter) ?? toLatin(letter));
}

/** Returns the words of a folded text in order, with their joints and runs. */
function findWords(folded: string): readonly string[] {
  return folded.match(ASCII.test(folded) ? ASCII_WORD : WORD) ?? [];
}

/** Yields the parts of words, separating runs from other parts. */
function* split(words: Iterable<string>): Generator<{ text: string; isRun: boolean }> {
  for (const word of words) {
    let end = 0;
    for (const { 0: run, index } of word.matchAll(RUN)) {
      if (index > end) yield { text: word.slice(end, index), isRun: false };
      yield { text: run, isRun: true };
      end = index + run.length;
    }
    if (end < word.length) yield { text: word.slice(end), isRun: false };
  }
}

/** The words of `it's-me` are `it`, `s`, `its`, `me` and `itsme`. */
function toWords(folded: string): Words {
  const found: Words = { words: new Set(), runs: [] };
  // Looking for runs takes longest, and a text of many emoji has few different ones: do it once per distinct word.
  for (const { text: part, isRun } of split(new Set(findWords(folded)))) {
    if (isRun) found.runs.push(part);
    else if (!JOINT.test(part)) found.words.add(part);
    else {
      const groups = part.split("-");
      for (const group of groups)
        for (const word of [...group.split(JOINT), without(group)]) found.words.add(word);
      found.words.add(without(part));
    }
  }
  found.words.delete("");
  return found;
}

/** Returns what a text must contain to match: all words, the last one as a prefix. Without duplicates. */
export function toTerms(query: string): Term[] {
  const parts = [...split(findWords(fold(query)))]
    .flatMap(({ text, isRun }) => text.split("-").map((group) => ({ text: without(group), isRun })))
    .filter(({ text }) => text !== "");
  const terms = new Map<string, Term>();
  for (const [i, { text, isRun }] of parts.entries()) {
    const kind = isRun ? "run" : i === parts.length - 1 && !/^\p{So}/u.test(text) ? "prefix" : "word";
    terms.set(`${kind} ${text}`, { text, kind });
  }
  return [...terms.values()];
}

function without(text: string): string {
  return text.replaceAll(JOINTS, "");
}

/** Reports whether a text matches all terms of a query. */
export function hasTerms(text: string, terms: readonly Term[]): boolean {
  const folded = fold(text);
  // Most texts lack a term, and splitting a text takes twenty times as long as this check.
  const joined = without(folded);
  if (!terms.every((term) => joined.includes(term.text))) return false;
  const { words, runs } = toWords(folded);
  return terms.every((term) => {
    if (term.kind === "run") return runs.some((run) => run.includes(term.text));
    if (words.has(term.text)) return true;
    return term.kind === "prefix" && words.values().some((word) => word.startsWith(term.text));
  });
}

/**
 * Returns the index entries of a text: its words, and for a run all pairs of neighbouring characters and the last
 * character, so that each character begins an entry.
 */
export function toEntries(text: string): string[] {
  const { words, runs } = toWords(fold(text));
  for (const run of runs) {
    const characters = [...run];
    for (const [i, character] of characters.entries()) words.add(character + (characters[i + 1] ?? ""));
  }
  return [...new Set(words.values().map(toEntry))];
}

function toEntry(word: string): string {
  return word.length <= MAX_ENTRY ? word : [...word].slice(0, MAX_ENTRY).join("");
}

const SHORTEST_PREFIX = 3;

/** What to look up in the index: one entry, or all entries with a prefix. */
export interface Lookup {
  entry: string;
  isPrefix: boolean;
}

/**
 * Returns lookups, each of which finds every text with the term, and possibly others. Returns none for one or two
 * letters: too many words begin with them, and SQLite reads them all at once.
 */
export function toLookups({ text, kind }: Term): Lookup[] {
  const characters = [...text];
  if (kind === "prefix" && characters.length < SHORTEST_PREFIX) return [];
  if (kind !== "run") return [{ entry: toEntry(text), isPrefix: kind === "prefix" }];
  if (characters.length === 1) return [{ entry: text, isPrefix: true }];
  return characters.slice(1).map((character, i) => ({ entry: characters[i]! + character, isPrefix: false }));
}
