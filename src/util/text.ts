const ASCII = /^[\0-\x7f]*$/;

/** Form by which usernames are compared. Computed here, so that it is the same on every engine. */
export function usernameKey(username: string): string {
  // Normalizing leaves ASCII as it is, and costs more than all else here.
  if (ASCII.test(username)) return username.toLowerCase();
  return username.normalize("NFKC").toLowerCase().normalize("NFKC");
}

const BETWEEN_WORDS = /[\p{P}\p{Z}\p{C}]+/u;

/**
 * Form in which a contact is searched by the beginning of a word: each word of its names behind a space. Words are
 * what punctuation and spaces leave.
 */
export function searchKey(...names: (string | null)[]): string {
  let key = "";
  for (const name of names) {
    for (const word of usernameKey(name ?? "").split(BETWEEN_WORDS)) if (word !== "") key += ` ${word}`;
  }
  return key;
}

/** Form by which phone numbers are searched: the digits 0 to 9 alone. */
export function phoneDigits(phoneNumber: string): string {
  return (ASCII.test(phoneNumber) ? phoneNumber : phoneNumber.normalize("NFKC")).replace(/[^0-9]/g, "");
}

export function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

const CONTROL = /\p{Cc}/u;

/** NUL, other control characters and lone surrogates are refused at the edge: engines disagree on them. */
export function isCleanText(text: string): boolean {
  return text.isWellFormed() && !CONTROL.test(text);
}

const BIDI_CONTROLS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const MAX_FILENAME_BYTES = 255;

/** What a file name must be, for messages. */
export const FILENAME_ACCEPTS =
  '1 to 255 bytes of UTF-8 without "/", "\\" or control characters, and not "." or ".."';

/** The name without bidi controls, which can disguise an extension; null where it is no valid file name. */
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

/** The last part of a path of either kind, as some clients send one for a file's name. */
export function lastPathPart(path: string): string {
  return path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1);
}

/** Tokens, as `makeToken` makes them, are left out: for text that others read, too. */
export function hideTokens(text: string): string {
  return text.replace(/parley_[\w-]{43}/g, "parley_…");
}
