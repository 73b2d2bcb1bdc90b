import { ParleyError } from "../../errors.ts";

/** Rows that a search reads in one turn of the event loop before other requests run. */
export const ROWS_PER_TURN = 500;
/** UTF-16 units of texts or names to compare in one turn, or one text. This takes at most about 5 ms for any content. */
export const CHARACTERS_PER_TURN = 10_000;
/** When to retry a search that exceeds the number of searches at once. */
const RETRY_AFTER_SECONDS = "1";

/** The steps that wait for a turn, by user. The first user has the next turn. */
const waiting = new Map<string, (() => void)[]>();
/** Requests that have taken a turn and are not over, by user. */
const running = new Map<string, Set<Turns>>();
/** The latest background read of each user. */
const reads = new Map<string, Promise<unknown>>();
let isScheduled = false;

/**
 * Resolves in a turn of the event loop that no other search uses. So other requests wait for one step of one search, however
 * many searches run. Users take turns, so a user's search waits for at most one step of each other user.
 */
export function nextTurn(userId: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const steps = waiting.get(userId);
  if (steps) steps.push(resolve);
  else waiting.set(userId, [resolve]);
  schedule();
  return promise;
}

function schedule(): void {
  if (isScheduled || waiting.size === 0) return;
  isScheduled = true;
  setImmediate(giveTurn);
}

function giveTurn(): void {
  isScheduled = false;
  const [userId, steps] = waiting.entries().next().value!;
  waiting.delete(userId);
  steps.shift()!();
  // Move the user to the end, after all others.
  if (steps.length > 0) waiting.set(userId, steps);
  schedule();
}

/** The limits for turns of a request. */
interface TurnLimits {
  /** How many requests of the user may take turns at once. */
  searchesPerUser: number;
}

/** The turns of one request. */
export class Turns {
  /** Reports whether the client has gone. */
  readonly isAborted: () => boolean;
  readonly #userId: string;
  readonly #limits: TurnLimits;
  #isCounted = false;
  #isWaiting = false;

  constructor(limits: TurnLimits, userId: string, isAborted: () => boolean) {
    this.#limits = limits;
    this.#userId = userId;
    this.isAborted = isAborted;
  }

  /**
   * Resolves in the next turn. A request that takes turns counts as a search: throws `rate_limited` if its user has as many
   * searches running as the limit allows, and `unavailable` if the client has gone.
   */
  async next(): Promise<void> {
    if (!this.#isCounted) this.#count();
    this.#isWaiting = true;
    await nextTurn(this.#userId);
    this.#isWaiting = false;
    this.demandClient();
  }

  /** Throws `unavailable` if the client has gone. */
  demandClient(): void {
    if (this.isAborted()) throw new ParleyError("unavailable", "The client has closed the connection.");
  }

  /**
   * Runs a background read after those of the user's other searches. So in the shared queue of background reads a search waits for
   * at most one read of each other user.
   */
  async read<T>(read: () => Promise<T>): Promise<T> {
    const result = reads.get(this.#userId)?.then(read, read) ?? read();
    reads.set(this.#userId, result);
    try {
      return await result;
    } finally {
      if (reads.get(this.#userId) === result) reads.delete(this.#userId);
    }
  }

  #count(): void {
    const all = running.get(this.#userId) ?? new Set();
    const { searchesPerUser } = this.#limits;
    let others = 0;
    for (const each of all) if (!each.#isOver()) others++;
    if (others >= searchesPerUser) {
      throw new ParleyError(
        "rate_limited",
        `This user has reached the limit of ${searchesPerUser} searches at once. Retry when one of them has ended.`,
        { header: RETRY_AFTER_SECONDS },
      );
    }
    this.#isCounted = true;
    running.set(this.#userId, all.add(this));
  }

  /** Reports whether the request is over, so that it does nothing in the turn that it waits for. */
  #isOver(): boolean {
    return this.#isWaiting && this.isAborted();
  }

  end(): void {
    const all = running.get(this.#userId);
    if (this.#isCounted && all?.delete(this) && all.size === 0) running.delete(this.#userId);
  }
}
