import type { Limits } from "../../config/limits.ts";
import type { Database } from "../../db/database.ts";
import { lastPosition, recipientsBehind } from "../../db/queries/events.ts";
import { ParleyError } from "../../errors.ts";

/** The part of the core that the hub needs. */
interface Ground {
  db: Database;
  limits: Limits;
}

/** An open stream of one user's events. */
export interface Listener {
  userId: string;
  /** Called when there may be new events. */
  wake(): void;
  /** Resolves to false once the token of the stream is no longer valid. Never rejects. */
  isAllowed(): Promise<boolean>;
  /** Ends the stream. */
  end(): void;
}

/** Positions read in one turn. */
const AT_ONCE = 1000;
/** Tokens checked concurrently. */
const CHECKED_AT_ONCE = 50;
/** How often tokens are checked for expiry. */
const LOOK_AGAIN_MS = 1000;

/** Tracks the listeners of this node and wakes those with new events, whichever node or process published them. */
export class EventHub {
  readonly #listeners = new Map<string, Set<Listener>>();
  #position: number | undefined;
  #revocations: number | null = null;
  #lookedAt = 0;
  /** Increases each time the tokens have to be checked again. */
  #round = 0;
  /** The round in which each listener was last allowed. */
  readonly #allowed = new WeakMap<Listener, number>();
  #checking: Promise<void> | undefined;
  #closed = false;

  /** Throws `too_many_streams`, or `unavailable` if the server is stopping. */
  async add(core: Ground, listener: Listener): Promise<void> {
    if (this.#closed) throw new ParleyError("unavailable");
    const others = this.#listeners.get(listener.userId);
    if (others && others.size >= core.limits.eventListenersPerUser) throw new ParleyError("too_many_streams");
    this.#listeners.set(listener.userId, (others ?? new Set()).add(listener));
    // The position is not followed while nobody listens.
    if (this.#position !== undefined) return;
    const position = await lastPosition(core.db);
    // Another listener may have set it meanwhile, and advanced it.
    this.#position ??= position;
  }

  remove(listener: Listener): void {
    const listeners = this.#listeners.get(listener.userId);
    listeners?.delete(listener);
    if (listeners?.size === 0) this.#listeners.delete(listener.userId);
    if (this.#listeners.size === 0) this.#position = undefined;
  }

  hasListeners(): boolean {
    return this.#listeners.size > 0;
  }

  /** Call this when there may be new events, and periodically. Does not wait for token checks. */
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

  /** Ends all streams and refuses new ones. */
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

  /** A few at a time; listeners with new events are checked first, by `#wake`. */
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

  /** Ends the stream if its token is not valid. */
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
