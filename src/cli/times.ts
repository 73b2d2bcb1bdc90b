import { InvalidArgumentError } from "commander";

const TIME = /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d(?::\d\d)?)(Z|[+-]\d\d:\d\d)?)?$/;

/** Parses a date or time of ISO 8601 to seconds; without a zone it is UTC. */
export function parseTime(text: string): number {
  const [, day, clock = "00:00", zone = "Z"] = TIME.exec(text) ?? [];
  const written = Date.parse(`${day}T${clock}Z`);
  const time = Date.parse(`${day}T${clock}${zone}`);
  // JavaScript reads 30 February as 2 March.
  const exists = time >= 0 && new Date(written).toISOString().startsWith(`${day}T${clock}`);
  if (exists) return time / 1000;
  throw new InvalidArgumentError(
    "Use a date or a time that exists, in UTC: 2026-03-09 or 2026-03-09T17:30Z.",
  );
}

const UNITS = { s: 1, m: 60, h: 3600, d: 86_400 } as const;

/** Parses a duration such as "30d", "12h", "5m" or "90s" to milliseconds. */
export function parseDuration(text: string): number {
  const match = /^([1-9]\d{0,5})([smhd])$/.exec(text);
  if (!match) throw new InvalidArgumentError("Use a number and a unit: 90s, 5m, 12h or 30d.");
  return Number(match[1]) * UNITS[match[2] as keyof typeof UNITS] * 1000;
}
