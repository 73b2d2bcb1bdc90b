import type { DueDelivery, DueWebhook } from "../db/queries/webhooks/deliveries.ts";

/** Concurrent attempts. */
const SLOTS = 64;
/** Concurrent attempts per webhook. A slow webhook has one. */
const SLOTS_OF_WEBHOOK = 4;
/** All slow webhooks together hold at most half of the slots, so that the others always make progress. */
const SLOW_SLOTS = SLOTS / 2;
/**
 * A user holds at most a quarter of the slots, and a quarter of those for slow webhooks, so that no user starves the
 * others.
 */
const SLOTS_OF_USER = SLOTS / 4;
const SLOW_SLOTS_OF_USER = SLOW_SLOTS / 4;
/** Ids kept in memory; the least recently used are dropped first. */
const MAX_KNOWN = 100_000;

/** A running attempt. */
interface Running {
  webhook: DueWebhook;
  controller: AbortController;
}

/** Tracks the running attempts and decides which webhook may start another. */
export class Slots {
  /** By delivery id. */
  readonly #taken = new Map<string, Running>();
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
    return this.#taken.size >= SLOTS;
  }

  hasRoomFor({ id, user_id }: DueWebhook): boolean {
    const isSlow = !this.#quick.has(id);
    const ofUser = ({ webhook }: Running) => webhook.user_id === user_id;
    const slow = ({ webhook }: Running) => !this.#quick.has(webhook.id);
    if (this.isFull() || this.#count(ofUser) >= SLOTS_OF_USER) return false;
    if (this.#count(({ webhook }) => webhook.id === id) >= (isSlow ? 1 : SLOTS_OF_WEBHOOK)) return false;
    if (!isSlow) return true;
    return (
      this.#count(slow) < SLOW_SLOTS && this.#count((each) => ofUser(each) && slow(each)) < SLOW_SLOTS_OF_USER
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

  #count(which: (attempt: Running) => boolean): number {
    return [...this.#taken.values()].filter(which).length;
  }
}

/** Decides which webhook is next. */
export class RoundRobin {
  /** The number of the last attempt, by webhook id and user id. */
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
   * last attempt is longest ago comes first, and the same holds among the webhooks of a user.
   */
  inOrder(due: readonly DueWebhook[]): DueWebhook[] {
    const byLast = (a: string, b: string) => (this.#last.get(a) ?? 0) - (this.#last.get(b) ?? 0);
    return [...Map.groupBy(due, ({ user_id }) => user_id)]
      .sort(([a], [b]) => byLast(a, b))
      .flatMap(([, own]) => own.sort((a, b) => byLast(a.id, b.id)).map((webhook, nth) => ({ webhook, nth })))
      .sort((a, b) => a.nth - b.nth)
      .map(({ webhook }) => webhook);
  }
}
