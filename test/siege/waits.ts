/** The limits of waiting times during an attack, compared with those without one. */
const MOST_TIMES = 2;
const MOST_MORE_MS = 100;

/** Returns the 99th percentile by nearest rank, in the unit of the times. */
export function p99(times: readonly number[]): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.ceil(sorted.length * 0.99) - 1]!;
}

/** Reports whether a waiting time during an attack is acceptable, in milliseconds. */
export function isBearable(beside: number, alone: number): boolean {
  return beside <= Math.max(MOST_TIMES * alone, alone + MOST_MORE_MS);
}
