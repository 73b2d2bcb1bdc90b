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

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"] as const;

/** "1.5 MiB". */
export function inBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${UNITS[unit]}`;
}
