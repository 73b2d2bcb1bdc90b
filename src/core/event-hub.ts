import type { Limits } from "../config.ts";
import type { Database } from "../db/database.ts";
import { lastPosition, recipientsBehind } from "../db/events.ts";
import { ParleyError } from "../errors.ts";

/** What the hub needs of the core. */
interface Ground {
  db: Database;
  limits: Limits;
}

/** Somebody who waits for the events of one user. */
export interface Listener {
  userId: string;
  /** There may be new events. */
  wake(): void;
  /** Resolves to false once the token that it listens with is not valid any more. Never rejects. */
  isAllowed(): Promise<boolean>;
  /** No more is to come. */
  end(): void;
}

/** Positions that are looked at in one turn. */
const AT_ONCE = 1000;
/** Tokens that are looked at together. */
const CHECKED_AT_ONCE = 50;
/** How often tokens are looked at that may have expired. */
const LOOK_AGAIN_MS = 1000;

/** Knows who listens on this node, and wakes those who have got events, whichever node or process made them. */
export class EventHub {
  readonly #listeners = new Map<string, Set<Listener>>();
  #position: number | undefined;
  #revocations: number | null = null;
  #lookedAt = 0;
  /** Another number each time that tokens are to be looked at again. */
  #round = 0;
  /** In which round each was last allowed. */
  readonly #allowed = new WeakMap<Listener, number>();
  #checking: Promise<void> | undefined;
  #closed = false;

  /** Throws `too_many_streams`, or `unavailable` where the server is about to stop. */
  async add(core: Ground, listener: Listener): Promise<void> {
    if (this.#closed) throw new ParleyError("unavailable");
    const others = this.#listeners.get(listener.userId);
    if (others && others.size >= core.limits.eventListenersPerUser) throw new ParleyError("too_many_streams");
    this.#listeners.set(listener.userId, (others ?? new Set()).add(listener));
    // Nobody looked while nobody listened.
    if (this.#position !== undefined) return;
    const position = await lastPosition(core.db);
    // Another may have come first, and have looked on from there.
    this.#position ??= position;
  }

  remove(listener: Listener): void {
    const listeners = this.#listeners.get(listener.userId);
    listeners?.delete(listener);
    if (listeners?.size === 0) this.#listeners.delete(listener.userId);
    if (this.#listeners.size === 0) this.#position = undefined;
  }

  /** To be called when there may be something new, and now and then. Waits for nobody's token. */
  async look(core: Ground): Promise<void> {
    this.#lookForRevocations(core);
    for (let more = true; more && this.#position !== undefined; ) {
      const rows = await recipientsBehind(core.db, this.#position, AT_ONCE);
      for (const userId of new Set(rows.map((row) => row.recipient_id))) {
        for (const listener of this.#listeners.get(userId) ?? []) void this.#wake(listener);
      }
      if (rows.length > 0 && this.#position !== undefined) this.#position = rows.at(-1)!.position;
      more = rows.length === AT_ONCE;
    }
  }

  /** Ends all of them, and lets in no more. */
  close(): void {
    this.#closed = true;
    for (const listener of this.#all()) listener.end();
  }

  #lookForRevocations({ db }: Ground): void {
    const revocations = db.revocations();
    const now = performance.now();
    if (revocations !== this.#revocations || now - this.#lookedAt >= LOOK_AGAIN_MS) {
      this.#revocations = revocations;
      this.#lookedAt = now;
      this.#round++;
      this.#checking ??= this.#checkAll().finally(() => {
        this.#checking = undefined;
      });
    }
  }

  /** Some at a time, while those who have got events are looked at first. */
  async #checkAll(): Promise<void> {
    for (let round = -1; round !== this.#round; ) {
      round = this.#round;
      const all = this.#all();
      for (let i = 0; i < all.length; i += CHECKED_AT_ONCE) {
        await Promise.all(all.slice(i, i + CHECKED_AT_ONCE).map((listener) => this.#isAllowed(listener)));
      }
    }
  }

  async #wake(listener: Listener): Promise<void> {
    if (await this.#isAllowed(listener)) listener.wake();
  }

  /** Ends it where it is not. */
  async #isAllowed(listener: Listener): Promise<boolean> {
    const round = this.#round;
    if (this.#allowed.get(listener) === round) return true;
    if (!(await listener.isAllowed())) {
      listener.end();
      return false;
    }
    this.#allowed.set(listener, round);
    return true;
  }

  #all(): Listener[] {
    return [...this.#listeners.values()].flatMap((listeners) => [...listeners]);
  }
}
