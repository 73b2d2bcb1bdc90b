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
/** Webhooks whose last delivery failed share so many, and have one each: the others go on. */
const PLACES_OF_FAILING = 32;
/** What was sent, and could not be written down, is not sent again before. */
const PAUSE_MS = 5000;

/** Which deliveries are under way, to which webhooks. */
class Places {
  /** Webhooks, by the ids of deliveries. */
  readonly #taken = new Map<string, string>();
  readonly failing = new Set<string>();

  /** The deliveries that are under way now. */
  now(): ReadonlySet<string> {
    return new Set(this.#taken.keys());
  }

  /** Takes a place, where there is one. */
  take({ id, webhook_id }: DueDelivery): boolean {
    if (this.#taken.size >= PLACES || this.left(webhook_id) <= 0) return false;
    const isFailing = (webhookId: string) => this.failing.has(webhookId);
    if (isFailing(webhook_id) && this.#count(isFailing) >= PLACES_OF_FAILING) return false;
    this.#taken.set(id, webhook_id);
    return true;
  }

  leave({ id }: DueDelivery): void {
    this.#taken.delete(id);
  }

  /** How many more the webhook may take. */
  left(webhookId: string): number {
    return (this.failing.has(webhookId) ? 1 : PLACES_OF_ONE) - this.#count((each) => each === webhookId);
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
    const now = core.clock();
    const due = await webhooksWithDue(core.db, now);
    // Each has its turn: first those behind the one that was served last, and those that work.
    const turns = [...due.filter((id) => id > lastServed), ...due.filter((id) => id <= lastServed)];
    for (const failing of [false, true]) {
      const waiting: DueDelivery[][] = [];
      for (const id of turns.filter(
        (each) => places.failing.has(each) === failing && places.left(each) > 0,
      )) {
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
    const done = attempt(delivery).finally(() => {
      places.leave(delivery);
      underWay.delete(done);
      job.wake();
    });
    underWay.add(done);
  }

  async function attempt(delivery: DueDelivery): Promise<void> {
    try {
      const taken = await deliver(core, delivery, stopped.signal);
      if (taken === false) places.failing.add(delivery.webhook_id);
      else places.failing.delete(delivery.webhook_id);
    } catch (error) {
      onError(error);
      await sleep(PAUSE_MS, undefined, { signal: stopped.signal }).catch(() => {});
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
