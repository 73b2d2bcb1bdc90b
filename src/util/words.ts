/** What a search finds: the words of a text, in the form in which texts and queries are compared. */
interface Words {
  /** Words that spaces or punctuation separate, and symbols such as emoji. */
  words: Set<string>;
  /** Runs of a script that is written without spaces: any part of one is found. */
  runs: string[];
}

/** A condition of a query. */
export interface Term {
  text: string;
  /** `run`: a part of a run. */
  kind: "word" | "prefix" | "run";
}

const ASCII = /^[\0-\x7f]*$/;
const ASCII_WORD = /[a-z0-9]+/g;
const WORD = /[\p{L}\p{M}\p{N}]+|\p{So}/gu;
const RUN =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Bopomofo}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]+/gu;
/** Marks without which people also write, and search: accents of Latin and Greek, vowels of Arabic and Hebrew. */
const MARKS = /([\p{scx=Latin}\p{scx=Greek}\p{scx=Arabic}\p{scx=Hebrew}])\p{Mn}+/gu;

/** Characters of a word in the index. PostgreSQL takes no entry of more than 2,704 bytes. */
const MAX_ENTRY = 64;

/** Returns the text as it is compared: by NFKC, in lower case, without optional marks. */
function fold(text: string): string {
  const lower = text.normalize("NFKC").toLowerCase();
  return lower.normalize("NFD").replace(MARKS, "$1").normalize("NFKC");
}

/** Yields the words and runs of a text in their order. */
function* split(text: string): Generator<{ text: string; isRun: boolean }> {
  if (ASCII.test(text)) {
    for (const [word] of text.toLowerCase().matchAll(ASCII_WORD)) yield { text: word, isRun: false };
    return;
  }
  for (const [word] of fold(text).matchAll(WORD)) {
    let end = 0;
    for (const { 0: run, index } of word.matchAll(RUN)) {
      if (index > end) yield { text: word.slice(end, index), isRun: false };
      yield { text: run, isRun: true };
      end = index + run.length;
    }
    if (end < word.length) yield { text: word.slice(end), isRun: false };
  }
}

function toWords(text: string): Words {
  const found: Words = { words: new Set(), runs: [] };
  for (const { text: part, isRun } of split(text)) {
    if (isRun) found.runs.push(part);
    else found.words.add(part);
  }
  return found;
}

/** Returns what a text must have to be found: all words, the last one as a prefix. Equal terms are one. */
export function toTerms(query: string): Term[] {
  const parts = [...split(query)];
  const terms = new Map<string, Term>();
  for (const [i, { text, isRun }] of parts.entries()) {
    const kind = isRun ? "run" : i === parts.length - 1 && !/^\p{So}$/u.test(text) ? "prefix" : "word";
    terms.set(`${kind} ${text}`, { text, kind });
  }
  return [...terms.values()];
}

/** Reports whether the text has all that the query wants. */
export function hasTerms(text: string, terms: readonly Term[]): boolean {
  const { words, runs } = toWords(text);
  return terms.every((term) => {
    if (term.kind === "run") return runs.some((run) => run.includes(term.text));
    if (words.has(term.text)) return true;
    return term.kind === "prefix" && words.values().some((word) => word.startsWith(term.text));
  });
}

/**
 * Returns the entries of a text in the index: its words, and of a run all pairs of neighbouring characters and the last
 * character, so that each character begins an entry.
 */
export function toEntries(text: string): string[] {
  const { words, runs } = toWords(text);
  for (const run of runs) {
    const characters = [...run];
    for (const [i, character] of characters.entries()) words.add(character + (characters[i + 1] ?? ""));
  }
  return [...new Set(words.values().map(toEntry))];
}

function toEntry(word: string): string {
  return word.length <= MAX_ENTRY ? word : [...word].slice(0, MAX_ENTRY).join("");
}

/** What is looked up in the index: an entry, or all entries that begin so. */
export interface Lookup {
  entry: string;
  isPrefix: boolean;
}

/**
 * Returns lookups, each of which finds every text that has the term, and possibly others. None for a single letter, with which
 * too many words begin.
 */
export function toLookups({ text, kind }: Term): Lookup[] {
  const characters = [...text];
  if (kind === "prefix" && characters.length === 1) return [];
  if (kind !== "run") return [{ entry: toEntry(text), isPrefix: kind === "prefix" }];
  if (characters.length === 1) return [{ entry: text, isPrefix: true }];
  return characters.slice(1).map((character, i) => ({ entry: characters[i]! + character, isPrefix: false }));
}
