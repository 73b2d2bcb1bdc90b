/** What file systems take at most. */
const MAX_NAME_BYTES = 255;
/** Room for a space and a number in parentheses. */
const NUMBER_BYTES = 8;
/** What is longer is no extension, but part of the name. */
const MAX_EXTENSION_BYTES = 32;

/** Characters that Windows forbids in names, and those that end lines. */
const UNSAFE = /[\p{Cc}\u2028\u2029<>:"/\\|?*]/gu;
/** Windows drops them. */
const UNSAFE_END = /[. ]+$/;
/** Devices of Windows, whatever their extension. */
const DEVICE = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$) *(?=\.|$)/i;

/** Returns names that every file system takes, in the same order, each once: a.txt, a (2).txt. */
export function safeUniqueNames(filenames: readonly string[]): string[] {
  const taken = new Set<string>();
  /** The last number of each name. */
  const numbers = new Map<string, number>();
  return filenames.map((filename) => {
    let name = safeName(filename);
    const { stem, extension } = split(name);
    const short = cut(stem, MAX_NAME_BYTES - NUMBER_BYTES - Buffer.byteLength(extension));
    const key = keyOf(short + extension);
    let number = numbers.get(key) ?? 1;
    while (taken.has(keyOf(name))) name = `${short} (${++number})${extension}`;
    numbers.set(key, number);
    taken.add(keyOf(name));
    return name;
  });
}

function safeName(filename: string): string {
  const safe = filename.replace(UNSAFE, "_").replace(DEVICE, "$&_") || "_";
  const { stem, extension } = split(safe);
  const name = cut(stem, MAX_NAME_BYTES - Buffer.byteLength(extension)) + extension;
  return name.replace(UNSAFE_END, (end) => "_".repeat(end.length));
}

/** The form in which file systems compare names that ignore case and normalize. */
function keyOf(name: string): string {
  return name.normalize("NFC").toUpperCase();
}

function split(name: string): { stem: string; extension: string } {
  const dot = name.lastIndexOf(".");
  const extension = name.slice(dot);
  if (dot <= 0 || Buffer.byteLength(extension) > MAX_EXTENSION_BYTES) return { stem: name, extension: "" };
  return { stem: name.slice(0, dot), extension };
}

/** Returns as many whole characters of the text as have at most so many bytes. */
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
