// The format of a message's text, as in other messengers: code, bold, italic, strike, quotes, links and mentions. The
// result names a few elements and is never HTML. The text is read in one pass.

type Style = "strong" | "em" | "s";

/** A part of a text, without the characters that mark it. The kinds are elements of HTML, except `mention`. */
export type TextPart =
  | string
  | { kind: Style | "blockquote"; parts: TextPart[] }
  | { kind: "code" | "pre" | "mention"; text: string }
  | Link;

export interface Link {
  kind: "a";
  text: string;
  href: string;
  /** Where the link leads, if the text does not begin with it; otherwise empty. */
  host: string;
}

/** Characters that may begin or end a style. */
interface StyleMark {
  mark: string;
  kind: Style;
  opens: boolean;
  closes: boolean;
  /** Which end it is, once the other one is found. */
  end?: "first" | "last";
}

/** A part, and where the text continues after it. */
interface Found {
  part: TextPart | StyleMark;
  start: number;
  end: number;
}

const FENCE = "```";
const QUOTE = "> ";
const STYLES: Readonly<Record<string, Style>> = {
  "*": "strong",
  "**": "strong",
  _: "em",
  "~": "s",
  "~~": "s",
};
const WORD = /[\p{L}\p{N}]/u;
const SPACE = /\s/;
const ADDRESS = /https?:\/\/|www\./iy;
/**
 * Ends an address: spaces, quotes, the punctuation of languages that write no spaces, and characters that are invisible
 * or reorder others, such as U+202E.
 */
const AFTER_ADDRESS = /[\s\p{C}\p{Default_Ignorable_Code_Point}<>"`“”„«»。，、；：！？「」『』【】《》]/u;
const AFTER_HOST = /^[/\\?#:]?$/;
const PUNCTUATION = /[.,:;!?'’*_~]/;
const LOCAL = /[\w.+-]/;
const DOMAIN = /[\w.-]/;
/** Letters that continue a mail address, though the address as linked cannot contain them. */
const LETTER_BEFORE = /[\p{L}\p{M}\p{N}]$/u;
const LETTER_AFTER = /^[\p{L}\p{M}\p{N}]/u;
/** The longest local part and domain, in characters. */
const MAX_LOCAL = 64;
const MAX_DOMAIN = 253;
/** A number with its country code. */
const PHONE = /\+[1-9](?:[ ()./-]{0,2}\d){7,14}(?![\p{L}\p{N}])/uy;
const EMOJI = /^(?:\p{Emoji_Presentation}|\p{Extended_Pictographic}|[\d#*]\uFE0F?\u20E3)/u;
/** More code units than one emoji has. */
const MAX_EMOJI = 40;

/** `names`: the usernames that the message mentions. */
export function parseText(text: string, names: readonly string[] = []): TextPart[] {
  const parts: TextPart[] = [];
  const known = names.map((name) => name.toLowerCase()).sort((a, b) => b.length - a.length);
  let at = 0;
  const takeLine = (from: number, into: TextPart[]) => {
    const end = text.indexOf("\n", from);
    const line = end < 0 ? text.slice(from) : text.slice(from, end);
    parseLine(line, known, into);
    at = from + line.length + 1;
  };
  while (at < text.length) {
    const fence = findFence(text, at);
    if (fence) {
      parts.push(fence.part);
      at = fence.end;
      continue;
    }
    if (!text.startsWith(QUOTE, at)) {
      takeLine(at, parts);
      if (at <= text.length) parts.push("\n");
      continue;
    }
    const quoted: TextPart[] = [];
    takeLine(at + QUOTE.length, quoted);
    while (text.startsWith(QUOTE, at)) {
      quoted.push("\n");
      takeLine(at + QUOTE.length, quoted);
    }
    parts.push({ kind: "blockquote", parts: quoted });
  }
  return parts;
}

/** Finds code between fences. The line ends beside the fences are part of these. */
function findFence(text: string, at: number): { part: TextPart; end: number } | undefined {
  const end = text.startsWith(FENCE, at) ? text.indexOf(FENCE, at + FENCE.length) : -1;
  const code = text.slice(at + FENCE.length, Math.max(at, end)).replace(/^\n|\n$/g, "");
  if (code === "") return undefined;
  const after = end + FENCE.length;
  return { part: { kind: "pre", text: code }, end: text[after] === "\n" ? after + 1 : after };
}

function parseLine(line: string, names: readonly string[], into: TextPart[]): void {
  const found: (TextPart | StyleMark)[] = [];
  let plain = 0;
  for (let at = 0; at < line.length; ) {
    const next = findPart(line, at, plain, names);
    if (typeof next === "number") at = next;
    else {
      if (plain < next.start) found.push(line.slice(plain, next.start));
      found.push(next.part);
      at = plain = next.end;
    }
  }
  if (plain < line.length) found.push(line.slice(plain));
  pair(found);
  let list = into;
  const outer: TextPart[][] = [];
  for (const each of found) {
    if (!isMark(each)) list.push(each);
    else if (each.end === "first") {
      const parts: TextPart[] = [];
      list.push({ kind: each.kind, parts });
      outer.push(list);
      list = parts;
    } else if (each.end === "last") list = outer.pop()!;
    else list.push(each.mark);
  }
}

function isMark(part: TextPart | StyleMark): part is StyleMark {
  return typeof part === "object" && "mark" in part;
}

/** Finds both ends of each style. At most one mark of a kind is open, so styles are never nested deeply. */
function pair(found: (TextPart | StyleMark)[]): void {
  const open: { mark: StyleMark; at: number }[] = [];
  for (const [at, mark] of found.entries()) {
    if (!isMark(mark)) continue;
    const before = open.findIndex((each) => each.mark.mark === mark.mark);
    if (mark.closes && before >= 0 && open[before]!.at < at - 1) {
      open[before]!.mark.end = "first";
      mark.end = "last";
      open.length = before;
    } else if (mark.opens) {
      if (before >= 0) open.splice(before, 1);
      open.push({ mark, at });
    }
  }
}

/** Returns the part that begins at an offset, or the next offset to look at. `plain`: the end of the last part. */
function findPart(line: string, at: number, plain: number, names: readonly string[]): Found | number {
  const char = line[at]!;
  if (char === "`") return findCode(line, at);
  if (STYLES[char]) return findMark(line, at, char);
  if (char === "@") return findMention(line, at, names) ?? findMail(line, at, plain) ?? at + 1;
  if (WORD.test(line[at - 1] ?? " ")) return at + 1;
  if (char === "+") return findPhone(line, at) ?? at + 1;
  return findAddress(line, at);
}

function findCode(line: string, at: number): Found | number {
  const mark = line.startsWith(FENCE, at) ? FENCE : "`";
  const start = at + mark.length;
  const end = line.indexOf(mark, start);
  if (end <= start) return start;
  return { part: { kind: "code", text: line.slice(start, end) }, start: at, end: end + mark.length };
}

function findMark(line: string, at: number, char: string): Found | number {
  let end = at;
  while (line[end] === char) end++;
  const mark = line.slice(at, end);
  const kind = STYLES[mark];
  const before = line[at - 1] ?? " ";
  const after = line[end] ?? " ";
  const opens = !WORD.test(before) && !SPACE.test(after);
  const closes = !SPACE.test(before) && !WORD.test(after);
  return kind && (opens || closes) ? { part: { mark, kind, opens, closes }, start: at, end } : end;
}

function findMention(line: string, at: number, names: readonly string[]): Found | undefined {
  if (WORD.test(line[at - 1] ?? " ")) return undefined;
  const toEnd = (name: string) => at + 1 + name.length;
  const name = names.find(
    (each) => line.slice(at + 1, toEnd(each)).toLowerCase() === each && !WORD.test(line[toEnd(each)] ?? " "),
  );
  if (name === undefined) return undefined;
  const end = toEnd(name);
  return { part: { kind: "mention", text: line.slice(at, end) }, start: at, end };
}

/** Finds the mail address around an @. */
function findMail(line: string, at: number, plain: number): Found | undefined {
  let start = at;
  while (start > plain && at - start < MAX_LOCAL && LOCAL.test(line[start - 1]!)) start--;
  let end = at + 1;
  while (end < line.length && end - at < MAX_DOMAIN && DOMAIN.test(line[end]!)) end++;
  if (LETTER_BEFORE.test(line.slice(Math.max(0, start - 2), start))) return undefined;
  if (LETTER_AFTER.test(line.slice(end, end + 2))) return undefined;
  while (/[._-]/.test(line[end - 1]!)) end--;
  const labels = line.slice(at + 1, end).split(".");
  if (start === at || labels.length < 2 || labels.includes("")) return undefined;
  const text = line.slice(start, end);
  return { part: { kind: "a", text, href: `mailto:${text}`, host: "" }, start, end };
}

function findPhone(line: string, at: number): Found | undefined {
  PHONE.lastIndex = at;
  const text = PHONE.exec(line)?.[0];
  if (!text) return undefined;
  const href = `tel:+${text.replace(/\D/g, "")}`;
  return { part: { kind: "a", text, href, host: "" }, start: at, end: at + text.length };
}

function findAddress(line: string, at: number): Found | number {
  ADDRESS.lastIndex = at;
  const scheme = ADDRESS.exec(line)?.[0];
  if (!scheme) return at + 1;
  let end = at + scheme.length;
  // A bracket that was opened before the address ends it.
  for (let depth = 0; end < line.length && !AFTER_ADDRESS.test(line[end]!); end++) {
    if ("([".includes(line[end]!)) depth++;
    else if (")]".includes(line[end]!) && depth-- === 0) break;
  }
  let last = end;
  while (PUNCTUATION.test(line[last - 1]!)) last--;
  const link = toLink(line.slice(at, last), scheme);
  return link ? { part: link, start: at, end: last } : end;
}

/** Returns undefined if it is no address. */
function toLink(text: string, scheme: string): Link | undefined {
  const isShort = !scheme.includes("/");
  const address = isShort ? `https://${text}` : text;
  if (text.length <= scheme.length || !URL.canParse(address)) return undefined;
  const { href, hostname, username, password } = new URL(address);
  const shown = (isShort ? text : text.slice(scheme.length)).toLowerCase();
  const isShown =
    username === "" &&
    password === "" &&
    shown.startsWith(hostname) &&
    AFTER_HOST.test(shown.charAt(hostname.length));
  return { kind: "a", text, href, host: isShown ? "" : hostname };
}

/** Whether a text is one emoji. */
export function isEmoji(text: string): boolean {
  const one = text.trim();
  if (one.length > MAX_EMOJI || !EMOJI.test(one)) return false;
  return new Intl.Segmenter().segment(one).containing(0)!.segment === one;
}
