/** A picture with more pixels has no preview, and is refused as the picture of a user. */
export const MAX_PIXELS = 100_000_000;

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"] as const;

/** Formats 104,857,600 as "100 MiB", in the largest unit that keeps the number whole. */
export function exactSize(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value > 0 && value % 1024 === 0 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${value} ${UNITS[unit]}`;
}

/** Formats a size for people, such as "1.5 MiB". */
export function roundedSize(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 999.95 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${UNITS[unit]}`;
}

/**
 * Parses "100MiB", "5 GB" or "1024" to bytes; null if it is not a size. KB and MB count in thousands, KiB and MiB in
 * 1,024s.
 */
export function parseSize(text: string): number | null {
  const match = /^(\d{1,15}) ?(?:([KMGT])(i)?)?B?$/i.exec(text.trim());
  if (!match) return null;
  const exponent = match[2] === undefined ? 0 : "KMGT".indexOf(match[2].toUpperCase()) + 1;
  const bytes = Number(match[1]) * (match[3] === undefined ? 1000 : 1024) ** exponent;
  return Number.isSafeInteger(bytes) ? bytes : null;
}

/** Parses a whole number; undefined if it is not one. */
export function parseCount(text: string): number | undefined {
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}
