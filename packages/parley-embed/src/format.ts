// Times, sizes, initials and colours. Times are in seconds, as those of the API.

const toDate = (seconds: number) => new Date(seconds * 1000);

/** Returns how many midnights lie between a time and now. */
function countDays(seconds: number): number {
  const toMidnight = (day: Date) => new Date(day.getFullYear(), day.getMonth(), day.getDate()).getTime();
  // A day may be an hour longer or shorter.
  return Math.round((toMidnight(new Date()) - toMidnight(toDate(seconds))) / 86_400_000);
}

export function isSameDay(seconds: number, other: number): boolean {
  return toDate(seconds).toDateString() === toDate(other).toDateString();
}

const CLOCK = { hour: "numeric", minute: "2-digit" } as const;

/** Formats times and sizes for a locale. */
export class Format {
  readonly #locale: string;

  constructor(locale: string) {
    this.#locale = locale;
  }

  #toText(seconds: number, options: Intl.DateTimeFormatOptions): string {
    return new Intl.DateTimeFormat(this.#locale, options).format(toDate(seconds));
  }

  #toRelative(days: number): string {
    const text = new Intl.RelativeTimeFormat(this.#locale, { numeric: "auto" }).format(-days, "day");
    return text[0]!.toLocaleUpperCase(this.#locale) + text.slice(1);
  }

  clock(seconds: number): string {
    return this.#toText(seconds, CLOCK);
  }

  full(seconds: number): string {
    return this.#toText(seconds, { dateStyle: "full", timeStyle: "short" });
  }

  /** Formats a day: "Today", "Yesterday", or its date. */
  day(seconds: number): string {
    const days = countDays(seconds);
    if (days === 0 || days === 1) return this.#toRelative(days);
    return this.#toText(seconds, {
      weekday: "long",
      day: "numeric",
      month: "long",
      ...this.#toYear(seconds),
    });
  }

  /** Formats a time in a list: that of today as the time of day, others as a day. */
  short(seconds: number): string {
    const days = countDays(seconds);
    if (days <= 0) return this.clock(seconds);
    if (days === 1) return this.#toRelative(1);
    if (days < 7) return this.#toText(seconds, { weekday: "short" });
    return this.#toText(seconds, { day: "numeric", month: "short", ...this.#toYear(seconds) });
  }

  #toYear(seconds: number): Intl.DateTimeFormatOptions {
    return toDate(seconds).getFullYear() === new Date().getFullYear() ? {} : { year: "numeric" };
  }

  /** Formats a number of bytes: 1 MB is a million. */
  size(bytes: number): string {
    const unit = Math.min(3, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
    return new Intl.NumberFormat(this.#locale, {
      style: "unit",
      unit: ["byte", "kilobyte", "megabyte", "gigabyte"][unit],
      // The short form of "bytes" has no plural.
      unitDisplay: unit === 0 ? "long" : "short",
      maximumSignificantDigits: 2,
    }).format(bytes / 1000 ** unit);
  }
}

/** Returns one or two initials of a name. */
export function toInitials(name: string): string {
  const words = name.split(/[\s._-]+/u).filter(Boolean);
  const letters = words.length > 1 ? [words[0]!, words.at(-1)!] : words;
  return letters.map((word) => [...word][0]!.toLocaleUpperCase()).join("") || "?";
}

/** Returns one of sixteen hues in degrees, the same each time for a name. */
export function toHue(name: string): number {
  let hash = 0x811c9dc5;
  for (const char of name) hash = Math.imul(hash ^ char.codePointAt(0)!, 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return ((hash >>> 16) % 16) * 22.5;
}
