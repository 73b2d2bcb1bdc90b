import type { Clock } from "../../util/clock.ts";
import { Rate } from "../../util/rate.ts";

const MINUTE_SECONDS = 60;
/** Different limits that are kept in memory. */
const MAX_LIMITS = 1000;

/** Counts the messages that each user sends to others on this node, for each limit apart. */
export class MessageRates {
  readonly #clock: Clock;
  readonly #rates = new Map<number, Rate>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the rate of the users with this limit, in messages per minute. */
  get(limit: number): Rate {
    const rate = this.#rates.get(limit) ?? new Rate(limit / MINUTE_SECONDS, limit, this.#clock);
    // Move it to the end, so that the limit that most users have, the server's, is never evicted.
    this.#rates.delete(limit);
    if (this.#rates.size >= MAX_LIMITS) this.#rates.delete(this.#rates.keys().next().value!);
    this.#rates.set(limit, rate);
    return rate;
  }
}
