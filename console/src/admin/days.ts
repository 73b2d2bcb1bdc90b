/** Returns the day of a date in UTC, in the format of date fields. */
export function toDay(date: Date): string {
  return date.toISOString().slice(0, "2026-03-09".length);
}
