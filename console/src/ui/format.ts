// Formats sizes, times and names.

const UNITS = ["kB", "MB", "GB", "TB"];
const WHOLE = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 });
const TENTHS = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });

/** Formats a size as phones and desktops do: 1 MB is a million bytes. */
export function formatSize(bytes: number): string {
  if (bytes < 1000) return counted(bytes, "byte", "bytes");
  let value = bytes / 1000;
  let unit = 0;
  for (; value >= 999.5 && unit < UNITS.length - 1; unit++) value /= 1000;
  return `${(value < 9.95 ? TENTHS : WHOLE).format(value)} ${UNITS[unit]}`;
}

/** Formats an estimated duration: "2 minutes". */
export function formatEstimate(seconds: number): string {
  if (seconds < 10) return "a few seconds";
  if (seconds < 55) return `${Math.ceil(seconds / 10) * 10} seconds`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return counted(Math.max(1, minutes), "minute", "minutes");
  return counted(Math.round(minutes / 60), "hour", "hours");
}

/** Formats a duration as players do: "0:05", "12:30", "1:02:03". */
export function formatDuration(seconds: number): string {
  const whole = Math.round(seconds);
  const padded = (value: number) => String(value).padStart(2, "0");
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  const start = hours > 0 ? `${hours}:${padded(minutes)}` : minutes;
  return `${start}:${padded(whole % 60)}`;
}

const DAY = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const DATE = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });
const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "numeric", minute: "2-digit" });
const DAY_NAME = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long" });
const DAY_NAME_YEAR = new Intl.DateTimeFormat(undefined, { dateStyle: "full" });
const WEEKDAY = new Intl.DateTimeFormat(undefined, { weekday: "long" });
const AGO = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const FULL = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "short" });

/** Formats a time: today's as the time of day, otherwise "Yesterday", the day of the week, or the date. */
export function formatTime(seconds: number): string {
  const at = new Date(seconds * 1000);
  const days = countDays(at);
  if (days === 0) return CLOCK.format(at);
  if (days === 1) return "Yesterday";
  if (days > 1 && days < 7) return WEEKDAY.format(at);
  return (at.getFullYear() === new Date().getFullYear() ? DAY : DATE).format(at);
}

/** Returns how many midnights lie between a time and now; negative for the future. */
function countDays(at: Date): number {
  const toMidnight = (day: Date) => new Date(day.getFullYear(), day.getMonth(), day.getDate()).getTime();
  // A day may be an hour longer or shorter.
  return Math.round((toMidnight(new Date()) - toMidnight(at)) / 86_400_000);
}

/** Formats a time in the past as part of a sentence: "5 minutes ago", "yesterday", or the date. */
export function formatAgo(seconds: number): string {
  const minutes = Math.max(1, Math.round((Date.now() / 1000 - seconds) / 60));
  if (minutes < 60) return AGO.format(-minutes, "minute");
  const days = countDays(new Date(seconds * 1000));
  if (days <= 0) return AGO.format(-Math.round(minutes / 60), "hour");
  return days < 7 ? AGO.format(-days, "day") : formatDate(seconds);
}

export function formatDate(seconds: number): string {
  return DATE.format(new Date(seconds * 1000));
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
  const days = countDays(at);
  if (days === 0) return "Today";
  if (days === 1) return "Yesterday";
  return (at.getFullYear() === new Date().getFullYear() ? DAY_NAME : DAY_NAME_YEAR).format(at);
}

export function formatFullTime(seconds: number): string {
  return FULL.format(new Date(seconds * 1000));
}

/** Returns one or two initials of a name. */
export function initials(name: string): string {
  const words = name.split(/[\s._-]+/u).filter(Boolean);
  const letters = words.length > 1 ? [words[0]!, words.at(-1)!] : words;
  return letters.map((word) => [...[...word][0]!.toLocaleUpperCase()][0]).join("") || "?";
}

/** Returns one of sixteen hues in degrees, the same each time for a seed. */
export function toHue(seed: string): number {
  let hash = 0x811c9dc5;
  for (const char of seed) hash = Math.imul(hash ^ char.codePointAt(0)!, 0x01000193);
  // Ids of users created one after the other differ in few characters, so mix the bits.
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash >>> 16) % 16) * 22.5;
}

export function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`;
}
