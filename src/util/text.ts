const ASCII = /^[\0-\x7f]*$/;

/** Returns the form by which usernames are compared. Computed here, so that it is the same on every engine. */
export function usernameKey(username: string): string {
  // Normalizing does not change ASCII, and costs more than everything else here.
  if (ASCII.test(username)) return username.toLowerCase();
  return username.normalize("NFKC").toLowerCase().normalize("NFKC");
}

const BETWEEN_WORDS = /[\p{P}\p{Z}\p{C}]+/u;

/**
 * Returns the form in which a contact is searched by word prefix: each word of its names after a space. Punctuation and
 * spaces separate words.
 */
export function searchKey(...names: (string | null)[]): string {
  let key = "";
  for (const name of names) {
    for (const word of usernameKey(name ?? "").split(BETWEEN_WORDS)) if (word !== "") key += ` ${word}`;
  }
  return key;
}

/** Returns the form by which phone numbers are searched: only the digits 0 to 9. */
export function phoneDigits(phoneNumber: string): string {
  return (ASCII.test(phoneNumber) ? phoneNumber : phoneNumber.normalize("NFKC")).replace(/[^0-9]/g, "");
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

/** The same for text of several lines, which may have line feeds and tabs. */
export function isCleanLines(text: string): boolean {
  return text.isWellFormed() && !CONTROL_IN_LINES.test(text);
}

const BIDI_CONTROLS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const MAX_FILENAME_BYTES = 255;

/** Describes a valid file name, for messages. */
export const FILENAME_ACCEPTS =
  '1 to 255 bytes of UTF-8 without "/", "\\" or control characters, and not "." or ".."';

/** Returns the name without bidi controls, which can disguise an extension; null if it is not a valid file name. */
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

/** Removes tokens of the form of `makeToken`, for text that others read. */
export function hideTokens(text: string): string {
  return text.replace(/parley_[\w-]{43}/g, "parley_…");
}
