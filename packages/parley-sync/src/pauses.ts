import { isSignedOut, retryAfterOf } from "./failures.ts";
import type { Platform } from "./platform.ts";

const FIRST_MS = 500;
const LONGEST_MS = 30_000;

/** Waits between attempts. */
export class Pauses {
  readonly #platform: Platform;
  /** Ends each running pause. True if the server said how long it is. */
  readonly #ends = new Map<() => void, boolean>();

  constructor(platform: Platform) {
    this.#platform = platform;
  }

  /** Waits before the next attempt, longer after more failures, which count from 1. */
  wait(error: unknown, failures: number): Promise<void> {
    const after = retryAfterOf(error);
    const grown = isSignedOut(error) ? LONGEST_MS : Math.min(LONGEST_MS, FIRST_MS * 2 ** (failures - 1));
    const ms = (after === undefined ? grown : after * 1000) * (1 + this.#platform.random() / 2);
    return new Promise((resolve) => {
      const end = () => {
        cancel();
        this.#ends.delete(end);
        resolve();
      };
      const cancel = this.#platform.after(ms, end);
      this.#ends.set(end, after !== undefined);
    });
  }

  /** Ends the pauses: the server may be back. Those that it asked for stay. */
  wake(): void {
    for (const [end, isFixed] of [...this.#ends]) if (!isFixed) end();
  }

  /** Ends all pauses. Call it after those who wait are stopped. */
  stop(): void {
    for (const end of [...this.#ends.keys()]) end();
  }
}
