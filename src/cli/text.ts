// Characters that control a terminal, or change the order in which it shows the text around them.
const UNSAFE = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

const hex = (character: string) => character.charCodeAt(0).toString(16);

/** Escapes the characters of another user's text that could control a terminal. */
export function harmless(text: string): string {
  return text.replace(UNSAFE, (character) => `\\u{${hex(character)}}`);
}

/** Formats a value as one line of JSON, escaped like `harmless`. */
export function jsonLine(value: unknown): string {
  return JSON.stringify(value).replace(UNSAFE, (character) => `\\u${hex(character).padStart(4, "0")}`);
}

/** Formats Unix seconds as ISO 8601. */
export function isoTime(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace(".000Z", "Z");
}

/** Formats a count with its noun: "1 file", "2 files". */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
