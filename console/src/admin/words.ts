// Formats figures, times and states as people read them.
import { counted, formatFullTime } from "../ui/format.ts";

const SECONDS = new Intl.DateTimeFormat(undefined, { hour: "numeric", minute: "2-digit", second: "2-digit" });

export function formatClockWithSeconds(seconds: number): string {
  return SECONDS.format(new Date(seconds * 1000));
}

/** Formats a time that may be seconds away: today's as the time of day, others with the date. */
export function formatSoon(seconds: number): string {
  const isToday = new Date(seconds * 1000).toDateString() === new Date().toDateString();
  return isToday ? formatClockWithSeconds(seconds) : formatFullTime(seconds);
}

/** Formats a rate per second, without rounding small rates to zero. */
export function formatRate(perSecond: number): string {
  return `${formatNumber(perSecond)} /s`;
}

export function formatNumber(value: number): string {
  const digits = value === 0 || value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return value.toLocaleString(undefined, { maximumFractionDigits: digits });
}

export function formatLatency(seconds: number): string {
  if (seconds < 1) return `${formatNumber(seconds * 1000)} ms`;
  return `${formatNumber(seconds)} s`;
}

const STEPS = [
  [86_400, "day", "days"],
  [3600, "hour", "hours"],
  [60, "minute", "minutes"],
] as const;

/** Formats a duration by its two largest units, such as "2 days 3 hours". */
export function formatUptime(seconds: number): string {
  const at = STEPS.findIndex(([size]) => seconds >= size);
  if (at < 0) return "less than a minute";
  const [size, one, many] = STEPS[at]!;
  const whole = Math.floor(seconds / size);
  const next = STEPS[at + 1];
  const rest = next ? Math.floor((seconds - whole * size) / next[0]) : 0;
  return [counted(whole, one, many), ...(next && rest > 0 ? [counted(rest, next[1], next[2])] : [])].join(
    " ",
  );
}
