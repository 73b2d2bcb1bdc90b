import { setTimeout as sleep } from "node:timers/promises";
import type { Core } from "../core/core.ts";
import { deliver, handOutEvents } from "../core/webhook-delivery.ts";
import { type DueDelivery, listDue, webhooksWithDue } from "../db/deliveries.ts";
import { type Job, startJob } from "./job.ts";

/** How often is looked for what is due, and for events of other processes. */
const INTERVAL_MS = 250;
/** Deliveries that are under way at the same time. */
const PLACES = 64;
const PLACES_OF_ONE = 4;
/** Webhooks whose last delivery failed, or took long, share so many, and have one each: the others go on. */
const PLACES_OF_SLOW = 32;
const SLOW_MS = 2000;
/** Webhooks of which that is kept in mind. */
const MAX_KNOWN = 100_000;
/** What was sent, and could not be written down, is not sent again before. */
const PAUSE_MS = 5000;

/** Which deliveries are under way, to which webhooks. */
class Places {
  /** Webhooks, by the ids of deliveries. */
  readonly #taken = new Map<string, string>();
  /** Whether the last delivery of a webhook failed or took long; of whom nothing is known, none has ended yet. */
  readonly #isSlow = new Map<string, boolean>();

  /** The deliveries that are under way now. */
  now(): ReadonlySet<string> {
    return new Set(this.#taken.keys());
  }

  /** How many are free, for those that are slow or for the others. */
  free(slow: boolean): number {
    const free = PLACES - this.#taken.size;
    return slow
      ? Math.max(0, Math.min(free, PLACES_OF_SLOW - this.#count((each) => this.isSlow(each))))
      : free;
  }

  isSlow(webhookId: string): boolean {
    return this.#isSlow.get(webhookId) === true;
  }

  /** Takes a place, where there is one. */
  take({ id, webhook_id }: DueDelivery): boolean {
    if (this.free(this.isSlow(webhook_id)) === 0 || this.left(webhook_id) <= 0) return false;
    this.#taken.set(id, webhook_id);
    return true;
  }

  leave({ id, webhook_id }: DueDelivery, wasSlow: boolean): void {
    this.#taken.delete(id);
    this.#isSlow.delete(webhook_id);
    if (this.#isSlow.size >= MAX_KNOWN) this.#isSlow.clear();
    this.#isSlow.set(webhook_id, wasSlow);
  }

  /** How many more the webhook may take. */
  left(webhookId: string): number {
    const own = this.#isSlow.get(webhookId) === false ? PLACES_OF_ONE : 1;
    return own - this.#count((each) => each === webhookId);
  }

  #count(which: (webhookId: string) => boolean): number {
    return [...this.#taken.values()].filter(which).length;
  }
}

/**
 * Sends events to webhooks, by one node for all. What is under way is known to this process alone, so what one that died
 * was sending is due again.
 */
export function startWebhooks(core: Core, onError: (error: unknown) => void): Job {
  const stopped = new AbortController();
  const places = new Places();
  const underWay = new Set<Promise<void>>();
  let lastServed = "";

  async function run(isStopped: () => boolean): Promise<void> {
    if (!(await core.db.claim("webhooks"))) return;
    while (!isStopped() && (await handOutEvents(core)));
    if (places.free(false) === 0) return;
    const now = core.clock();
    const due = await webhooksWithDue(core.db, now);
    // Each has its turn: first those that work, and of these those behind the one that was served last.
    const turns = [...due.filter((id) => id > lastServed), ...due.filter((id) => id <= lastServed)];
    for (const slow of [false, true]) {
      const some = turns.values().filter((id) => places.isSlow(id) === slow && places.left(id) > 0);
      const waiting: DueDelivery[][] = [];
      // However many are due, no more are looked at than may begin.
      for (const id of some.take(places.free(slow)).toArray()) {
        // As it was before: one that ends while they are read may be found as it was, too.
        const before = places.now();
        const found = await listDue(core.db, id, now, 2 * PLACES_OF_ONE);
        waiting.push(found.filter((delivery) => !before.has(delivery.id)));
      }
      for (let round = 0; round < PLACES_OF_ONE && !isStopped(); round++) {
        for (const queue of waiting) if (queue[round]) begin(queue[round]!);
      }
    }
  }

  function begin(delivery: DueDelivery): void {
    if (!places.take(delivery)) return;
    lastServed = delivery.webhook_id;
    const begun = performance.now();
    const done = attempt(delivery).then((taken) => {
      places.leave(delivery, !taken || performance.now() - begun > SLOW_MS);
      underWay.delete(done);
      job.wake();
    });
    underWay.add(done);
  }

  /** Whether it was taken. */
  async function attempt(delivery: DueDelivery): Promise<boolean> {
    try {
      return await deliver(core, delivery, stopped.signal);
    } catch (error) {
      onError(error);
      await sleep(PAUSE_MS, undefined, { signal: stopped.signal }).catch(() => {});
      return false;
    }
  }

  const job = startJob(run, INTERVAL_MS, onError);
  return {
    wake: job.wake,
    async stop() {
      stopped.abort();
      await job.stop();
      await Promise.all(underWay);
    },
  };
}
