// Marks the words of a search in a text. The server decides what is found; this shows why, and filters the shown
// results until its answer arrives.

/** Letters that search replaces by others, because people write and search both. */
const LETTERS = new Map([
  ..."ıi ßss đd ðd łl øo ħh æae œoe þth ςσ ёе ىي یي کك ةه ەه ँं".split(" ").map(toPair),
  ..."’' ʼ' ʻ' ׳' ״' \u200c' ‐- ־-".split(" ").map(toPair),
]);
const ASCII = /^[\0-\x7f]*$/;
/** A word, which may have parts joined by hyphens or apostrophes, or a symbol. */
const WORD = /[\p{L}\p{N}][\p{L}\p{M}\p{N}]*(?:['"-][\p{L}\p{N}][\p{L}\p{M}\p{N}]*)*|\p{RI}\p{RI}|\p{So}/gu;
/** A script without spaces: any part of a run matches. */
const RUN =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Bopomofo}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]+/gu;
/** Optional marks, which people also leave out. */
const ACCENTS = /([\p{scx=Latin}\p{scx=Greek}\p{scx=Arabic}\p{scx=Hebrew}])\p{Mn}+/gu;
/** Thousands of combining marks in a row take long to normalize. */
const MANY_MARKS = /(\p{M}{16})\p{M}+/gu;
/** Symbols that NFKC expands to several letters. Each is a word. */
const SYMBOLS = /[℀℁℅℆№℠℡™℻\u3371-\u337a\u3380-\u33df\u33ff]/g;
const INVISIBLE = /(?!\u200c)[\p{Cf}\p{VS}\u0640\u093c]/gu;

/** UTF-16 units of an excerpt: before the first match, and in all. */
const BEFORE = 40;
const LENGTH = 200;

const characters = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** A part of a text: from one offset up to another. */
type Range = [start: number, end: number];

/** A part of an excerpt. */
export interface Part {
  text: string;
  isMatch: boolean;
}

/** Reports whether the query has anything to search for. */
export function isSearchable(q: string): boolean {
  return q.search(WORD) >= 0;
}

/** Reports whether the text has all words of the query, the last one as a prefix. */
export function hasMatch(text: string, q: string): boolean {
  const found = findByTerm(text, q);
  return found.length > 0 && found.every((ranges) => ranges.length > 0);
}

/** Returns the text around the first match, cut between words if there are spaces, and never within a character. */
export function toExcerpt(text: string, q: string): Part[] {
  const matches = merge(findByTerm(text, q).flat());
  const [start, end] = toExtent(text, matches[0]?.[0] ?? 0);
  const parts: Part[] = [];
  const add = (from: number, to: number, isMatch: boolean) => {
    if (from < to) parts.push({ text: text.slice(from, to), isMatch });
  };
  let at = start;
  for (const [from, to] of matches) {
    if (from >= end) break;
    add(at, from, false);
    at = Math.min(to, end);
    add(from, at, true);
  }
  add(at, end, false);
  if (start > 0) parts.unshift({ text: "…", isMatch: false });
  if (end < text.length) parts.push({ text: "…", isMatch: false });
  return parts;
}

function toExtent(text: string, first: number): Range {
  const segments = characters.segment(text);
  const toEdge = (at: number) => segments.containing(at)?.index ?? text.length;
  if (first <= BEFORE) return [0, toEdge(LENGTH)];
  const space = text.slice(first - BEFORE, first).search(/\s/);
  const start = space < 0 ? toEdge(first - BEFORE) : first - BEFORE + space + 1;
  return [start, toEdge(start + LENGTH)];
}

/** Returns the matches of each word of the query. */
function findByTerm(text: string, q: string): Range[][] {
  const { folded, places } = fold(text);
  const words = [...split(folded)];
  // In a query, a hyphen is a space and an apostrophe is ignored.
  const terms = [...split(fold(q).folded.replaceAll("-", " "))].map(({ text, isRun }) => ({
    text: text.replace(/['"]/g, ""),
    isRun,
  }));
  return terms.map((term, index) => {
    const isPrefix = index === terms.length - 1;
    return words
      .flatMap((word) => findIn(word, term, isPrefix))
      .map(([from, to]): Range => {
        return [places[from]![0], places[to]![1]];
      });
  });
}

/** Returns the first and last unit of each match in the folded text. */
function findIn(word: Word, term: { text: string; isRun: boolean }, isPrefix: boolean): Range[] {
  if (word.isRun !== term.isRun) return [];
  if (word.isRun) {
    return findAll(word.text, term.text).map((at) => [word.at + at, word.at + at + term.text.length - 1]);
  }
  return toVariants(word)
    .filter(({ text }) => (isPrefix ? text.startsWith(term.text) : text === term.text))
    .map(({ units }) => [units[0]!, units[term.text.length - 1]!]);
}

/** A word without its joints, and the units of the folded text that it covers. */
interface Variant {
  text: string;
  units: number[];
}

/** Returns `it`, `s`, `its`, `me` and `itsme` for `it's-me`. */
function toVariants(word: Word): Variant[] {
  const all: Variant[] = [];
  for (const joint of [/['"-]/, /-/, /$^/]) {
    let variant: Variant = { text: "", units: [] };
    all.push(variant);
    for (const [at, unit] of word.text.split("").entries()) {
      if (joint.test(unit)) {
        variant = { text: "", units: [] };
        all.push(variant);
      } else if (!/['"-]/.test(unit)) {
        variant.text += unit;
        variant.units.push(word.at + at);
      }
    }
  }
  return all;
}

function findAll(text: string, part: string): number[] {
  const offsets = [];
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + 1)) offsets.push(at);
  return offsets;
}

/**
 * Folds a text for comparison. Also returns, for each unit of the result, the character of the original that it comes
 * from.
 */
function fold(text: string): { folded: string; places: Range[] } {
  let folded = "";
  const places: Range[] = [];
  const all = ASCII.test(text)
    ? [...text].map((segment, index) => ({ segment, index }))
    : characters.segment(text);
  for (const { segment, index } of all) {
    const apart = segment.replace(MANY_MARKS, "$1").replace(SYMBOLS, " $& ");
    const lower = apart.normalize("NFKC").toLowerCase();
    const plain = lower.normalize("NFD").replace(ACCENTS, "$1").replace(INVISIBLE, "").normalize("NFKC");
    const part = [...plain].map((letter) => LETTERS.get(letter) ?? letter).join("");
    folded += part;
    for (let unit = 0; unit < part.length; unit++) places.push([index, index + segment.length]);
  }
  return { folded, places };
}

/** A part of a folded text. */
interface Word {
  text: string;
  at: number;
  isRun: boolean;
}

/** Yields the words, symbols and runs of a folded text with their offsets. */
function* split(folded: string): Generator<Word> {
  for (const { 0: word, index } of folded.matchAll(WORD)) {
    let end = 0;
    for (const { 0: run, index: offset } of word.matchAll(RUN)) {
      if (offset > end) yield { text: word.slice(end, offset), at: index + end, isRun: false };
      yield { text: run, at: index + offset, isRun: true };
      end = offset + run.length;
    }
    if (end < word.length) yield { text: word.slice(end), at: index + end, isRun: false };
  }
}

function toPair(text: string): readonly [letter: string, replacement: string] {
  const [letter = "", ...replacement] = text;
  return [letter, replacement.join("")];
}

function merge(ranges: Range[]): Range[] {
  const merged: Range[] = [];
  for (const [from, to] of ranges.toSorted((a, b) => a[0] - b[0])) {
    const last = merged.at(-1);
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else merged.push([from, to]);
  }
  return merged;
}
