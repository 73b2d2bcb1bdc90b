import type { DueDelivery, DueWebhook } from "../db/queries/webhooks/deliveries.ts";

/** Concurrent attempts. */
const PLACES = 64;
/** Concurrent attempts per webhook. A slow webhook has one. */
const PLACES_OF_WEBHOOK = 4;
/** All slow webhooks together hold at most half of the places, so that the others always make progress. */
const SLOW_PLACES = PLACES / 2;
/**
 * A user holds at most a quarter of the places, and a quarter of those for slow webhooks, so that no user starves the
 * others.
 */
const PLACES_OF_USER = PLACES / 4;
const SLOW_PLACES_OF_USER = SLOW_PLACES / 4;
/** Ids kept in memory; the least recently used are dropped first. */
const MAX_KNOWN = 100_000;

/** A running attempt. */
interface Attempt {
  webhook: DueWebhook;
  controller: AbortController;
}

/** Tracks the running attempts and decides which webhook may start another. */
export class Places {
  /** By delivery id. */
  readonly #taken = new Map<string, Attempt>();
  /**
   * Webhooks whose last attempt succeeded quickly. All others count as slow, also new ones: anybody can create those.
   */
  readonly #quick = new Set<string>();

  /** Ids of the deliveries that are being attempted. */
  deliveries(): ReadonlySet<string> {
    return new Set(this.#taken.keys());
  }

  /** Ids of the webhooks with running attempts. */
  webhooks(): string[] {
    return [...new Set([...this.#taken.values()].map(({ webhook }) => webhook.id))];
  }

  isFull(): boolean {
    return this.#taken.size >= PLACES;
  }

  hasRoomFor({ id, user_id }: DueWebhook): boolean {
    const isSlow = !this.#quick.has(id);
    const ofUser = ({ webhook }: Attempt) => webhook.user_id === user_id;
    const slow = ({ webhook }: Attempt) => !this.#quick.has(webhook.id);
    if (this.isFull() || this.#count(ofUser) >= PLACES_OF_USER) return false;
    if (this.#count(({ webhook }) => webhook.id === id) >= (isSlow ? 1 : PLACES_OF_WEBHOOK)) return false;
    if (!isSlow) return true;
    return (
      this.#count(slow) < SLOW_PLACES &&
      this.#count((each) => ofUser(each) && slow(each)) < SLOW_PLACES_OF_USER
    );
  }

  /** Returns the signal that aborts the attempt. */
  take({ id }: DueDelivery, webhook: DueWebhook): AbortSignal {
    const controller = new AbortController();
    this.#taken.set(id, { webhook, controller });
    return controller.signal;
  }

  /** `wasQuick` is undefined if nothing was sent, which says nothing about the receiver. */
  leave({ id }: DueDelivery, webhook: DueWebhook, wasQuick: boolean | undefined): void {
    this.#taken.delete(id);
    if (wasQuick === undefined) return;
    this.#quick.delete(webhook.id);
    if (wasQuick) this.#quick.add(webhook.id);
    if (this.#quick.size > MAX_KNOWN) this.#quick.delete(this.#quick.values().next().value!);
  }

  /** Aborts the attempts to webhooks for which `isActive` returns false. */
  end(isActive: (webhookId: string) => boolean): void {
    for (const { webhook, controller } of this.#taken.values()) if (!isActive(webhook.id)) controller.abort();
  }

  #count(which: (attempt: Attempt) => boolean): number {
    return [...this.#taken.values()].filter(which).length;
  }
}

/** Decides which webhook is next. */
export class Turns {
  /** The number of the last turn, by webhook id and user id. */
  readonly #last = new Map<string, number>();
  #count = 0;

  note({ id, user_id }: DueWebhook): void {
    this.#count++;
    for (const each of [id, user_id]) {
      this.#last.delete(each);
      this.#last.set(each, this.#count);
      if (this.#last.size > MAX_KNOWN) this.#last.delete(this.#last.keys().next().value!);
    }
  }

  /**
   * Orders webhooks round-robin by user, so that a user with many webhooks does not delay the others. The user whose
   * last turn is longest ago comes first, and the same holds among the webhooks of a user.
   */
  inOrder(due: readonly DueWebhook[]): DueWebhook[] {
    const byTurn = (a: string, b: string) => (this.#last.get(a) ?? 0) - (this.#last.get(b) ?? 0);
    return [...Map.groupBy(due, ({ user_id }) => user_id)]
      .sort(([a], [b]) => byTurn(a, b))
      .flatMap(([, own]) => own.sort((a, b) => byTurn(a.id, b.id)).map((webhook, nth) => ({ webhook, nth })))
      .sort((a, b) => a.nth - b.nth)
      .map(({ webhook }) => webhook);
  }
}
