// Formats sizes, times and names.

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

export function formatSize(bytes: number): string {
  let value = bytes;
  let unit = 0;
  for (; value >= 999.5 && unit < UNITS.length - 1; unit++) value /= 1024;
  return `${unit > 0 && value < 9.95 ? value.toFixed(1) : Math.round(value)} ${UNITS[unit]}`;
}

const DAY = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const DATE = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });
const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "numeric", minute: "2-digit" });
const DAY_NAME = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long" });
const DAY_NAME_YEAR = new Intl.DateTimeFormat(undefined, { dateStyle: "full" });
const FULL = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "short" });

/** Formats a time: the time of day if it is today, otherwise the date. */
export function formatTime(seconds: number): string {
  const at = new Date(seconds * 1000);
  const now = new Date();
  if (at.toDateString() === now.toDateString()) return CLOCK.format(at);
  return (at.getFullYear() === now.getFullYear() ? DAY : DATE).format(at);
}

export function formatClock(seconds: number): string {
  return CLOCK.format(new Date(seconds * 1000));
}

export function isSameDay(seconds: number, others: number): boolean {
  return new Date(seconds * 1000).toDateString() === new Date(others * 1000).toDateString();
}

/** Formats a day: "Today", "Yesterday", or its date. */
export function formatDay(seconds: number): string {
  const at = new Date(seconds * 1000);
  const now = new Date();
  const yesterday = new Date(now.getFullYear(), now.getMonth(), now.getDate() - 1);
  if (at.toDateString() === now.toDateString()) return "Today";
  if (at.toDateString() === yesterday.toDateString()) return "Yesterday";
  return (at.getFullYear() === now.getFullYear() ? DAY_NAME : DAY_NAME_YEAR).format(at);
}

export function formatFullTime(seconds: number): string {
  return FULL.format(new Date(seconds * 1000));
}

/** Returns one or two letters for a name. The console loads nothing from other servers, so it shows no pictures. */
export function initials(name: string): string {
  const words = name.split(/[\s._-]+/u).filter(Boolean);
  const letters = words.length > 1 ? [words[0]!, words.at(-1)!] : words;
  return letters.map((word) => [...[...word][0]!.toLocaleUpperCase()][0]).join("") || "?";
}

/** Returns one of the hues of the style sheet, always the same for a name. */
export function toHue(name: string): number {
  let sum = 0;
  for (const char of name) sum = (sum * 31 + char.codePointAt(0)!) % 997;
  return sum % 6;
}

export function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`;
}
