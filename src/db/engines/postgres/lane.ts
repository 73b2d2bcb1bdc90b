import { BulkRow } from "../../bulk.ts";
import type { Write } from "../../write.ts";
import { isConflict, isLockTimeout, postgresError } from "./errors.ts";
import { type BulkWrite, Contended, type Transactions } from "./transactions.ts";

/** Writes in one transaction. */
const MAX_WRITES = 100;
/** How often writes are tried together before each is done alone. */
const MAX_TRIES = 2;

interface Waiting extends BulkWrite {
  begin: () => Write<unknown>;
  resolve: (done: BulkWrite["done"] | "contended") => void;
  reject: (error: unknown) => void;
}

/**
 * Commits writes whose first step is the row of a bulk: while one transaction is under way, those that come wait, and are then
 * done together in the next. One per node, because two would conflict with each other.
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
   * Resolves once the write is done and durable; with undefined if it has to be done alone, and with "contended" if that should
   * be behind its lock, because another node does so: then nothing was done.
   */
  async add(begin: () => Write<unknown>, lock: string | undefined): Promise<BulkWrite["done"] | "contended"> {
    const first = firstOf(begin);
    if (!first) return undefined;
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ...first, lock, begin, resolve, reject });
      if (!this.#isRunning) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.length > 0) await this.#commit(this.#waiting.splice(0, MAX_WRITES));
    this.#isRunning = false;
  }

  async #commit(writes: readonly Waiting[], tries = 1): Promise<void> {
    const settle = () => {
      for (const { resolve, done } of writes) resolve(done);
    };
    const settleAll = (as: "contended" | undefined) => {
      for (const { resolve } of writes) resolve(as);
    };
    const fail = (error: unknown) => {
      for (const { reject } of writes) reject(error);
    };
    try {
      const lost = await this.#transactions.runBulk(writes);
      // Not awaited: meanwhile others are committed.
      if (lost) void this.#transactions.findOutcome(lost).then(settle, fail);
      else settle();
    } catch (error) {
      if (error instanceof Contended) return settleAll("contended");
      const isBlocked = isConflict(error) || isLockTimeout(error);
      if (isBlocked && tries < MAX_TRIES) {
        for (const write of writes) Object.assign(write, firstOf(write.begin), { done: undefined });
        return this.#commit(writes, tries + 1);
      }
      const known = postgresError(error);
      // An error of one of them, or of the bulk: alone each gets its own.
      if (isBlocked || known === error) settleAll(undefined);
      else fail(known);
    }
  }
}

/** Begins the write, and returns its row if its first step is one. */
function firstOf(begin: () => Write<unknown>): Pick<BulkWrite, "steps" | "row"> | undefined {
  const steps = begin();
  const step = steps.next();
  const row = step.done ? undefined : step.value[0];
  return row instanceof BulkRow ? { steps, row } : undefined;
}
