const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"] as const;

/** "100 MiB" for 104,857,600: the largest unit that keeps the number whole. */
export function exactSize(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value > 0 && value % 1024 === 0 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${value} ${UNITS[unit]}`;
}

/** "1.5 MiB": as exact as people need it. */
export function roundedSize(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 999.95 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${UNITS[unit]}`;
}

/** Bytes of "100MiB", "5 GB", "1024"; null where it is no size. KB, MB… count in thousands, KiB, MiB… in 1,024s. */
export function parseSize(text: string): number | null {
  const match = /^(\d{1,15}) ?(?:([KMGT])(i)?)?B?$/i.exec(text.trim());
  if (!match) return null;
  const exponent = match[2] === undefined ? 0 : "KMGT".indexOf(match[2].toUpperCase()) + 1;
  const bytes = Number(match[1]) * (match[3] === undefined ? 1000 : 1024) ** exponent;
  return Number.isSafeInteger(bytes) ? bytes : null;
}

/** A whole number of things; undefined for what is none. */
export function parseCount(text: string): number | undefined {
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}
