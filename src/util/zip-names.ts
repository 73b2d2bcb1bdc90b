/** The maximum of common file systems. */
const MAX_NAME_BYTES = 255;
/** Room for a space and a number in parentheses. */
const NUMBER_BYTES = 8;
/** A longer suffix counts as part of the name, not as an extension. */
const MAX_EXTENSION_BYTES = 32;

/** Characters that Windows forbids in names, and line separators. */
const UNSAFE = /[\p{Cc}\u2028\u2029<>:"/\\|?*]/gu;
/** Windows drops these at the end of a name. */
const UNSAFE_END = /[. ]+$/;
/** Windows device names, with any extension. */
const DEVICE = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$) *(?=\.|$)/i;

/** Returns names that every file system accepts, in the same order and unique: a.txt, a (2).txt. */
export function safeUniqueNames(filenames: readonly string[]): string[] {
  const taken = new Set<string>();
  /** The last number used for each name. */
  const numbers = new Map<string, number>();
  return filenames.map((filename) => {
    let name = safeName(filename);
    const { stem, extension } = split(name);
    const short = cut(stem, MAX_NAME_BYTES - NUMBER_BYTES - Buffer.byteLength(extension));
    const key = toKey(short + extension);
    let number = numbers.get(key) ?? 1;
    while (taken.has(toKey(name))) name = `${short} (${++number})${extension}`;
    numbers.set(key, number);
    taken.add(toKey(name));
    return name;
  });
}

function safeName(filename: string): string {
  const safe = filename.replace(UNSAFE, "_").replace(DEVICE, "$&_") || "_";
  const { stem, extension } = split(safe);
  const name = cut(stem, MAX_NAME_BYTES - Buffer.byteLength(extension)) + extension;
  return name.replace(UNSAFE_END, (end) => "_".repeat(end.length));
}

/** Returns the form in which file systems compare names that ignore case and normalize. */
function toKey(name: string): string {
  return name.normalize("NFC").toUpperCase();
}

function split(name: string): { stem: string; extension: string } {
  const dot = name.lastIndexOf(".");
  const extension = name.slice(dot);
  if (dot <= 0 || Buffer.byteLength(extension) > MAX_EXTENSION_BYTES) return { stem: name, extension: "" };
  return { stem: name.slice(0, dot), extension };
}

/** Returns the longest prefix of whole characters that fits into this many bytes. */
function cut(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text;
  let left = bytes;
  let end = 0;
  for (const character of text) {
    left -= Buffer.byteLength(character);
    if (left < 0) break;
    end += character.length;
  }
  return text.slice(0, end);
}
