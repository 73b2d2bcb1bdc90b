import { setTimeout as sleep } from "node:timers/promises";
import type { Core } from "../core/node/core.ts";
import { deliver } from "../core/webhooks/delivery.ts";
import { HandOut } from "../core/webhooks/hand-out.ts";
import {
  type DueDelivery,
  type DueWebhook,
  listDue,
  webhooksWithDue,
} from "../db/queries/webhooks/deliveries.ts";
import { hasEnabled, listSentTo } from "../db/queries/webhooks/webhooks.ts";
import { type Job, startJob } from "./job.ts";
import { NoAnswers } from "./no-answers.ts";
import { RoundRobin, Slots } from "./webhook-slots.ts";

/** How often the job polls for due deliveries and for changes by other processes. */
const INTERVAL_MS = 250;
/** A webhook that takes longer is slow. */
const SLOW_MS = 2000;
/** Deliveries of one webhook that begin in one run. */
const AT_ONCE = 4;
/** How long an attempt keeps its slot if its outcome could not be stored. */
const PAUSE_MS = 5000;

/** An attempt without an answer. */
export interface NoAnswer {
  webhook: string;
  delivery: string;
  error: unknown;
  /** Whether the webhook is not known to fail for this reason. False for push subscriptions: devices come and go. */
  isNews: boolean;
}

/**
 * Sends events to webhooks and push servers, on one node for all. Only this process knows its running attempts, so if
 * it dies, their deliveries are due again.
 */
export function startWebhooks(
  core: Core,
  onError: (error: unknown) => void,
  onNoAnswer: (attempt: NoAnswer) => void,
): Job {
  const stopped = new AbortController();
  const slots = new Slots();
  const order = new RoundRobin();
  const handOut = new HandOut(core);
  const noAnswers = new NoAnswers();
  const running = new Set<Promise<void>>();
  /** Without webhooks, commits do not wake the job. Its next poll finds the first webhook. */
  let isIdle = false;

  async function run(isStopped: () => boolean): Promise<void> {
    if (!(await core.db.claim("webhooks"))) return;
    await endAbandoned(core, slots);
    isIdle = !(await hasEnabled(core.db));
    if (isIdle) return;
    // One step per run: under a constant stream of events, deliveries must still start and abandoned attempts must
    // still end.
    if (await handOut.step()) job.wake();
    if (slots.isFull()) return;
    const now = core.clock();
    const begun: { webhook: DueWebhook; rest: DueDelivery[] }[] = [];
    for (const webhook of order.inOrder(await webhooksWithDue(core.db, now))) {
      if (slots.isFull() || isStopped()) break;
      if (!slots.hasRoomFor(webhook)) continue;
      // Read before the rows: the rows may still show an attempt as due that ends in between.
      const before = slots.deliveries();
      const found = await listDue(core.db, webhook.id, now, 2 * AT_ONCE);
      const [first, ...rest] = found.filter((delivery) => !before.has(delivery.id));
      if (!first) continue;
      begin(first, webhook);
      begun.push({ webhook, rest });
    }
    for (let round = 0; round < AT_ONCE - 1 && !isStopped(); round++) {
      for (const { webhook, rest } of begun)
        if (rest[round] && slots.hasRoomFor(webhook)) begin(rest[round]!, webhook);
    }
  }

  function begin(delivery: DueDelivery, webhook: DueWebhook): void {
    const signal = AbortSignal.any([stopped.signal, slots.take(delivery, webhook)]);
    order.note(webhook);
    const begun = performance.now();
    const done = attempt(delivery, signal).then((taken) => {
      slots.leave(delivery, webhook, taken && performance.now() - begun <= SLOW_MS);
      running.delete(done);
      job.wake();
    });
    running.add(done);
  }

  /** Returns whether the receiver accepted it; undefined if nothing was sent. */
  async function attempt(delivery: DueDelivery, signal: AbortSignal): Promise<boolean | undefined> {
    try {
      const isTaken = await deliver(core, delivery, signal, (hook, error) => {
        const isNews = hook.public_key === null && noAnswers.note(hook.id, error);
        onNoAnswer({ webhook: hook.id, delivery: delivery.id, error, isNews });
      });
      if (isTaken) noAnswers.forget(delivery.webhook_id);
      return isTaken;
    } catch (error) {
      onError(error);
      await sleep(PAUSE_MS, undefined, { signal }).catch(() => {});
      return false;
    }
  }

  const job = startJob(run, INTERVAL_MS, onError);
  return {
    wake() {
      if (!isIdle) job.wake();
    },
    async stop() {
      stopped.abort();
      await job.stop();
      await Promise.all(running);
    },
  };
}

/** Aborts attempts to webhooks that were deleted or disabled, or whose owner was paused, by any node. */
async function endAbandoned(core: Core, slots: Slots): Promise<void> {
  const webhooks = slots.webhooks();
  if (webhooks.length === 0) return;
  const sentTo = new Set(await listSentTo(core.db, webhooks));
  slots.end((id) => sentTo.has(id));
}
