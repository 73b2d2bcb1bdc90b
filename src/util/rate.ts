import type { Clock } from "./clock.ts";

/** A use, in the unit of what has been used: a clock of milliseconds gives back whole numbers of it. */
const ONE = 1000;
/** Keys in each of the two generations that are remembered. */
const MAX_KEYS = 10_000;

/**
 * How often each key may be used: so many times a second on the mean, and more at once (GCRA). One number a key says
 * when it has all of it again. Keys that have are forgotten, and so are the ones that were used longest ago where there
 * are too many.
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

  /** What the key has used with one use more: for the questions below, and to be noted. */
  next(key: string): number {
    const until = this.#recent.get(key) ?? this.#older.get(key) ?? Number.NEGATIVE_INFINITY;
    const used = until - this.#now();
    // More was never noted: the clock was set back since.
    return (used > 0 && used <= this.#maxUsed ? used : 0) + ONE;
  }

  /** `used` may be beyond the burst: a debt, of one burst more at most. */
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

  /** How many uses are left. */
  left(used: number): number {
    return Math.max(0, Math.floor((this.#burst - used) / ONE));
  }

  /** Of a debt no more than of a whole burst: clients are told of the window alone. */
  secondsUntilWhole(used: number): number {
    return Math.ceil(Math.min(used, this.#burst) / ONE / this.#perSecond);
  }

  /** Of a use that was too much: until it is not. */
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
