import { ParleyError } from "../../../errors.ts";
import type { BulkRow } from "./bulks/bulk.ts";
import { isConflict, isLockTimeout, postgresError } from "./errors.ts";
import { type BulkWrite, Contended, type Transactions } from "./transactions.ts";

/** The maximum number of writes in one transaction. */
const MAX_WRITES = 100;
/** How often writes are tried together before each runs alone. */
const MAX_TRIES = 2;
/** How long a write waits for earlier ones: as long as for a connection. */
const MAX_WAIT_MS = 5000;

interface Waiting extends BulkWrite {
  /** Milliseconds of a monotonic clock. */
  since: number;
  resolve: (done: BulkWrite["done"] | "contended") => void;
  reject: (error: unknown) => void;
}

/**
 * Commits rows of bulks. While one transaction runs, new rows wait for the next one, which commits them together. A node has only
 * one lane, because two would conflict with each other.
 */
export class Lane {
  readonly #transactions: Transactions;
  readonly #waiting: Waiting[] = [];
  #isRunning = false;

  constructor(transactions: Transactions) {
    this.#transactions = transactions;
  }

  get length(): number {
    return this.#waiting.length;
  }

  /**
   * Resolves once the write is done and durable. Resolves with undefined if the write has to run alone, and with "contended" if it
   * has to do so under its lock, because another node does. In both cases nothing was done.
   */
  add(row: BulkRow, lock: string | undefined): Promise<BulkWrite["done"] | "contended"> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ row, lock, since: performance.now(), resolve, reject });
      if (!this.#isRunning) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.length > 0) {
      this.#refuseOverdue();
      await this.#commit(this.#waiting.splice(0, MAX_WRITES));
    }
    this.#isRunning = false;
  }

  /** Refuses writes that have waited too long. The oldest are first in the queue. */
  #refuseOverdue(): void {
    const oldest = performance.now() - MAX_WAIT_MS;
    const inTime = this.#waiting.findIndex(({ since }) => since >= oldest);
    const overdue = this.#waiting.splice(0, inTime === -1 ? this.#waiting.length : inTime);
    for (const { reject } of overdue) reject(new ParleyError("unavailable"));
  }

  async #commit(writes: readonly Waiting[], tries = 1): Promise<void> {
    if (writes.length === 0) return;
    const settle = () => {
      for (const { resolve, done } of writes) resolve(done);
    };
    const fail = (error: unknown) => {
      for (const { reject } of writes) reject(error);
    };
    try {
      const lost = await this.#transactions.runBulk(writes);
      if (!lost) return settle();
      // The outcome of writes that did nothing is known.
      for (const { resolve, done } of writes) if (!done) resolve(undefined);
      // Do not wait, so that other writes are committed meanwhile.
      void this.#transactions.findOutcome(lost).then(settle, fail);
    } catch (error) {
      const beginAgain = (some: readonly Waiting[]) => {
        for (const write of some) delete write.done;
        return some;
      };
      if (error instanceof Contended) {
        const isContended = ({ lock }: Waiting) => lock !== undefined && error.locks.has(lock);
        for (const { resolve } of writes.filter(isContended)) resolve("contended");
        return this.#commit(beginAgain(writes.filter((write) => !isContended(write))), tries);
      }
      const isBlocked = isConflict(error) || isLockTimeout(error);
      if (isBlocked && tries < MAX_TRIES) return this.#commit(beginAgain(writes), tries + 1);
      const known = postgresError(error);
      // One of the writes, or the bulk, has failed. Running alone, each write gets its own error.
      if (isBlocked || known === error) for (const { resolve } of writes) resolve(undefined);
      else fail(known);
    }
  }
}
