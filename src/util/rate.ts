import type { Clock } from "./clock.ts";

/** One use, in units that a clock of milliseconds refills in whole numbers. */
const ONE = 1000;
/** Keys in each of the two generations kept in memory. */
const MAX_KEYS = 10_000;

/**
 * Limits the uses of each key: a sustained rate per second and a burst (GCRA). One number per key is the time at which
 * the key is fully refilled. Refilled keys are dropped, and the least recently used ones if there are too many.
 */
export class Rate {
  readonly #perSecond: number;
  readonly #burst: number;
  readonly #clock: Clock;
  readonly #start: number;
  #recent = new Map<string, number>();
  #older = new Map<string, number>();
  #turnedAt = 0;

  constructor(perSecond: number, burst: number, clock: Clock) {
    this.#perSecond = perSecond;
    this.#burst = burst * ONE;
    this.#clock = clock;
    this.#start = clock();
  }

  /** Returns what the key has used after this many further uses. Pass the result to the methods below and to `note`. */
  next(key: string, uses = 1): number {
    const until = this.#recent.get(key) ?? this.#older.get(key) ?? Number.NEGATIVE_INFINITY;
    const used = until - this.#now();
    // More than was ever noted means that the clock was set back.
    return (used > 0 && used <= this.#maxUsed ? used : 0) + uses * ONE;
  }

  /** `used` may exceed the burst by at most another burst: a debt. */
  note(key: string, used: number): void {
    const now = this.#now();
    if (this.#recent.size >= MAX_KEYS || Math.abs(now - this.#turnedAt) >= this.#maxUsed) {
      [this.#older, this.#recent] = [this.#recent, this.#older];
      this.#recent.clear();
      this.#turnedAt = now;
    }
    this.#recent.set(key, now + Math.min(used, this.#maxUsed));
  }

  isTooMuch(used: number): boolean {
    return used > this.#burst;
  }

  /** Returns the number of uses left. */
  left(used: number): number {
    return Math.max(0, Math.floor((this.#burst - used) / ONE));
  }

  /** Seconds until fully refilled; a debt counts as an empty burst, because clients know only the window. */
  secondsUntilWhole(used: number): number {
    return Math.ceil(Math.min(used, this.#burst) / ONE / this.#perSecond);
  }

  /** Seconds until a refused use would be allowed. */
  secondsUntilFree(used: number): number {
    return Math.ceil((used - this.#burst) / ONE / this.#perSecond);
  }

  get #maxUsed(): number {
    return 2 * this.#burst;
  }

  #now(): number {
    return (this.#clock() - this.#start) * this.#perSecond;
  }
}
