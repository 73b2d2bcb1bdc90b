// Characters that drive a terminal, or change the order in which it shows what stands around them.
const UNSAFE = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

const hex = (character: string) => character.charCodeAt(0).toString(16);

/** A text that somebody else wrote, for a terminal: what could drive it is shown, not done. */
export function harmless(text: string): string {
  return text.replace(UNSAFE, (character) => `\\u{${hex(character)}}`);
}

/** A value as one line of JSON, which does nothing to a terminal either. */
export function jsonLine(value: unknown): string {
  return JSON.stringify(value).replace(UNSAFE, (character) => `\\u${hex(character).padStart(4, "0")}`);
}

/** Unix seconds as people read them. */
export function isoTime(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace(".000Z", "Z");
}

/** "1 file", "2 files". */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
