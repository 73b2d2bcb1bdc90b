import { Webhook } from "standardwebhooks";
import type { DueDelivery } from "../../db/queries/deliveries.ts";
import { listRecipients } from "../../db/queries/events.ts";
import { findEnabledWebhook, type WebhookRow } from "../../db/queries/webhooks.ts";
import { post } from "../../util/post.ts";
import { newEntry } from "../audit.ts";
import type { Core } from "../core.ts";
import { keptSince } from "./events.ts";
import { renderEvents, renderForAll } from "./render.ts";
import { isShown } from "./shown-types.ts";

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
/** The pause after each failed attempt; after the last pause and attempt the delivery fails. */
const RETRY_AFTER_MS = [
  ...[SECOND_MS, 5 * SECOND_MS, 30 * SECOND_MS, 5 * MINUTE_MS, 30 * MINUTE_MS],
  ...[2 * HOUR_MS, 5 * HOUR_MS, 10 * HOUR_MS, 14 * HOUR_MS, 20 * HOUR_MS, 24 * HOUR_MS],
];
/** A webhook that has accepted nothing for this long is disabled, however few attempts there were. */
const FAILING_MS = 4 * 24 * HOUR_MS;
/** Each pause varies by this share, so that deliveries that failed together are not retried together. */
const JITTER = 0.2;
const GONE = 410;

/**
 * Attempts a delivery and stores the outcome, unless `signal` aborted it, which is not the receiver's failure. Returns
 * whether the receiver accepted it. `onNoAnswer` gets the reason when no answer came.
 */
export async function deliver(
  core: Core,
  delivery: DueDelivery,
  signal: AbortSignal,
  onNoAnswer: (webhookId: string, error: unknown) => void,
): Promise<boolean> {
  const hook = await findEnabledWebhook(core.db, delivery.webhook_id);
  if (!hook) return false;
  const body = await renderDelivery(core, hook, delivery);
  if (body === undefined) {
    const { webhook_id: webhookId, id, attempts } = delivery;
    await core.db.write("skipDelivery", { webhookId, id, attempts, now: core.clock() });
    return false;
  }
  const request = toRequest(core, hook, delivery.event_id, body);
  let status: number | null = null;
  let error: string | null = null;
  try {
    status = await post({ ...request, makeResolver: core.makeResolver, signal });
  } catch (cause) {
    if (signal.aborted) return false;
    onNoAnswer(hook.id, cause);
    // The same sentence for all reasons: differences would let the owner of a webhook scan the operator's network.
    error = `No answer came within ${request.timeoutMs / SECOND_MS} s, or the address could not be reached.`;
  }
  const attempts = delivery.attempts + 1;
  const taken = status !== null && status >= 200 && status < 300;
  const entry = newEntry(core, null);
  const isGivenUp = status === GONE || entry.at - (hook.failing_since ?? entry.at) > FAILING_MS;
  const wait = isGivenUp ? undefined : RETRY_AFTER_MS[attempts - 1];
  const again = !taken && wait !== undefined;
  await core.db.write("settleDelivery", {
    webhookId: hook.id,
    id: delivery.id,
    state: taken ? "delivered" : again ? "pending" : "failed",
    attempts,
    nextAt: again ? entry.at + jittered(core, wait) : null,
    status,
    error,
    disable: !taken && !again,
    entry,
  });
  return taken;
}

/**
 * Renders what a delivery refers to as it is now. Returns undefined if there is nothing to send: the webhook may not show it,
 * or of all users none sees it.
 */
async function renderDelivery(
  core: Core,
  hook: WebhookRow,
  delivery: DueDelivery,
): Promise<string | undefined> {
  const { type, told_at: at, payload, recipient_id: recipientId, position, last_position } = delivery;
  if (!isShown(new Set(hook.scopes.split(" ")), type)) return undefined;
  const conversationId = type === "webhook.test" ? "" : delivery.conversation_id;
  const event = { id: delivery.event_id, type, at, conversationId, payload };
  if (hook.all_users === 0) return (await renderEvents(core, recipientId, [event]))[0]!.json;
  if (last_position === null) return renderForAll(core, event, [recipientId]);
  // Recipients are erased with their events.
  if (at < keptSince(core)) return undefined;
  return renderForAll(core, event, await listRecipients(core.db, position, last_position));
}

/** Builds the request as Standard Webhooks 1.0.0 defines it: every attempt has the event's id and its own time. */
function toRequest(core: Core, hook: WebhookRow, eventId: string, body: string) {
  const now = core.clock();
  const secrets = [hook.secret];
  if (hook.old_secret !== null && hook.old_until! > now) secrets.push(hook.old_secret);
  const signatures = secrets.map((secret) => new Webhook(secret).sign(eventId, new Date(now), body));
  return {
    url: hook.url,
    headers: {
      "content-type": "application/json",
      "user-agent": "Parley",
      "webhook-id": eventId,
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
