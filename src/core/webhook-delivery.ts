import { Webhook } from "standardwebhooks";
import { type DueDelivery, findCursor } from "../db/deliveries.ts";
import { eventsBehind, type PlacedEvent } from "../db/events.ts";
import { findEnabledWebhook, firstListening, listListening, type WebhookRow } from "../db/webhooks.ts";
import { post } from "../util/post.ts";
import { actOf } from "./audit.ts";
import type { Core } from "./core.ts";
import { eventId, toldEvents } from "./events.ts";

/** Events that are looked at in one turn. */
const AT_ONCE = 200;

/** Hands the next events to the webhooks that want them; false: for now there are no more. */
export async function handOutEvents(core: Core): Promise<boolean> {
  const { db } = core;
  const since = await firstListening(db);
  if (since === undefined) return false;
  const from = await findCursor(db);
  const events = await eventsBehind(db, Math.max(from, since), AT_ONCE);
  if (events.length === 0) return false;
  const hooks = await listListening(db, [...new Set(events.map((event) => event.recipient_id))]);
  const deliveries = events.flatMap((event) =>
    hooks
      .filter((hook) => wants(hook, event))
      .map((hook) => ({
        id: core.newId("dlv"),
        webhookId: hook.id,
        eventId: eventId(event),
        position: event.position,
      })),
  );
  await db.write("addDeliveries", { deliveries, from, to: events.at(-1)!.position, now: core.clock() });
  return events.length === AT_ONCE;
}

function wants(hook: WebhookRow, { recipient_id, type, position }: PlacedEvent): boolean {
  if (position <= hook.since_position) return false;
  if (hook.all_users === 0 && hook.user_id !== recipient_id) return false;
  return hook.types === null || hook.types.split(" ").includes(type);
}

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
/** How long is waited after each attempt that failed; after the last of them nothing more is tried. */
const RETRY_AFTER_MS = [
  ...[SECOND_MS, 5 * SECOND_MS, 30 * SECOND_MS, 5 * MINUTE_MS, 30 * MINUTE_MS],
  ...[2 * HOUR_MS, 5 * HOUR_MS, 10 * HOUR_MS, 14 * HOUR_MS, 20 * HOUR_MS, 24 * HOUR_MS],
];
/** Where for so long nothing was taken the webhook is disabled, however few attempts of one event there were. */
const FAILING_MS = 4 * 24 * HOUR_MS;
/** By this part of it a wait may be shorter or longer, so that what failed together does not come together again. */
const JITTER = 0.2;
const GONE = 410;
const MAX_ERROR_CHARACTERS = 200;

/**
 * Attempts a delivery, and writes down what came of it, unless `signal` has ended it. Returns whether the receiver took it.
 */
export async function deliver(core: Core, delivery: DueDelivery, signal: AbortSignal): Promise<boolean> {
  const hook = await findEnabledWebhook(core.db, delivery.webhook_id);
  if (!hook) return false;
  const request = await requestOf(core, hook, delivery);
  let status: number | null = null;
  let error: string | null = null;
  try {
    status = await post({ ...request, makeResolver: core.makeResolver, signal });
  } catch (cause) {
    if (signal.aborted) return false;
    // Where a name has several addresses, the error of all of them has no message.
    const { message, code } = cause as NodeJS.ErrnoException;
    error = (message || code || "failed").slice(0, MAX_ERROR_CHARACTERS);
  }
  const attempts = delivery.attempts + 1;
  const taken = status !== null && status >= 200 && status < 300;
  const act = actOf(core, null);
  const isGivenUp = status === GONE || act.at - (hook.failing_since ?? act.at) > FAILING_MS;
  const wait = isGivenUp ? undefined : RETRY_AFTER_MS[attempts - 1];
  const again = !taken && wait !== undefined;
  await core.db.write("settleDelivery", {
    webhookId: hook.id,
    id: delivery.id,
    state: taken ? "delivered" : again ? "pending" : "failed",
    attempts,
    nextAt: again ? act.at + jittered(core, wait) : null,
    status,
    error,
    disable: !taken && !again,
    act,
  });
  return taken;
}

/** The request as Standard Webhooks 1.0.0 has it: its id is that of the event at every attempt, its time that of this one. */
async function requestOf(core: Core, hook: WebhookRow, delivery: DueDelivery) {
  const { event_id, type, told_at: at, payload } = delivery;
  const conversationId = type === "webhook.test" ? "" : delivery.conversation_id;
  const event = { id: event_id, type, at, conversationId, payload };
  const body = (await toldEvents(core, delivery.recipient_id, [event]))[0]!.json;
  const now = core.clock();
  const secrets = [hook.secret];
  if (hook.old_secret !== null && hook.old_until! > now) secrets.push(hook.old_secret);
  const signatures = secrets.map((secret) => new Webhook(secret).sign(event_id, new Date(now), body));
  return {
    url: hook.url,
    headers: {
      "content-type": "application/json",
      "user-agent": "Parley",
      "webhook-id": event_id,
      "webhook-timestamp": String(Math.floor(now / SECOND_MS)),
      "webhook-signature": signatures.join(" "),
    },
    body,
    timeoutMs: core.limits.webhookTimeoutMs,
    allowPrivate: core.limits.webhooksAllowPrivate,
  };
}

function jittered(core: Core, wait: number): number {
  const bytes = new Uint8Array(4);
  core.random(bytes);
  const part = new DataView(bytes.buffer).getUint32(0) / 2 ** 32;
  return Math.round(wait * (1 - JITTER + 2 * JITTER * part));
}
