import { Webhook } from "standardwebhooks";
import { listRecipients } from "../../db/queries/events/events.ts";
import type { DueDelivery } from "../../db/queries/webhooks/deliveries.ts";
import type { WebhookRow } from "../../db/queries/webhooks/webhooks.ts";
import { renderEvents, renderForAll } from "../events/event-render.ts";
import { isShown } from "../events/event-types.ts";
import { keptSince, numberOfEvent } from "../events/events.ts";
import type { Core, DataAccess } from "../node/core.ts";
import { type AttemptResult, askedPause, type DeliveryKind, pauseAfter, type Request } from "./attempt.ts";

const SECOND_MS = 1000;
const GONE = 410;

/** Deliveries to webhooks, as Standard Webhooks 1.0.0 defines them. */
export const webhookDelivery: DeliveryKind = {
  async toRequest(core, hook, delivery) {
    const body = await renderDelivery(core, hook, delivery);
    return body === undefined ? undefined : sign(core, hook, delivery.event_id, body);
  },

  async skip(core, hook, { id, attempts }) {
    await core.db.write("skipDelivery", { webhookId: hook.id, id, attempts, now: core.clock() });
  },

  async settle(core, attempt) {
    const { hook, delivery, attempts, answer, isDelivered, isFailing, entry } = attempt;
    const isGivenUp = isFailing || answer?.status === GONE;
    const pause = isDelivered || isGivenUp ? undefined : pauseOf(core, attempt);
    const isEnded = pause === undefined;
    await core.db.write("settleDelivery", {
      webhookId: hook.id,
      id: delivery.id,
      state: isDelivered ? "delivered" : isEnded ? "failed" : "pending",
      attempts,
      nextAt: isEnded ? null : entry.at + pause,
      status: answer?.status ?? null,
      error: answer ? null : noAnswer(core),
      responseBody: answer?.body ?? null,
      disable: !isDelivered && isEnded,
      entry,
    });
  },
};

/**
 * Returns the pause before the next attempt: as planned, or as long as the receiver requests. It ends at the latest when the
 * attempt after the next is planned, so that no receiver can delay its deliveries for years. Undefined after the last attempt.
 */
function pauseOf(core: DataAccess, attempt: AttemptResult): number | undefined {
  const planned = pauseAfter(core, attempt.attempts);
  const requested = askedPause(attempt);
  if (planned === undefined || requested <= planned) return planned;
  return Math.min(requested, planned + (pauseAfter(core, attempt.attempts + 1) ?? 0));
}

/** Returns the same sentence for all reasons: differences would let the owner of a webhook scan the operator's network. */
function noAnswer({ limits }: DataAccess): string {
  return `No answer came within ${limits.webhookTimeoutMs / SECOND_MS} s, or the address could not be reached.`;
}

/**
 * Renders the subject of a delivery as it is now. Returns undefined if there is nothing to send: the webhook may not get it, or
 * no user sees it.
 */
async function renderDelivery(
  core: Core,
  hook: WebhookRow,
  delivery: DueDelivery,
): Promise<string | undefined> {
  const { type, told_at: at, payload, recipient_id: recipientId, position, last_position } = delivery;
  if (!isShown(new Set(hook.scopes.split(" ")), type)) return undefined;
  const isTest = type === "webhook.test";
  const { event_id: id } = delivery;
  const number = isTest ? null : numberOfEvent(id);
  const event = { id, number, type, at, conversationId: isTest ? "" : delivery.conversation_id, payload };
  if (hook.all_users === 0) return (await renderEvents(core, recipientId, [event]))[0]!.json;
  if (last_position === null) return renderForAll(core, event, [recipientId]);
  // Erasing recipients also erases their events.
  if (at < keptSince(core)) return undefined;
  return renderForAll(core, event, await listRecipients(core.db, position, last_position));
}

/** Signs the request: every attempt has the event's id and its own time. */
function sign(core: DataAccess, hook: WebhookRow, eventId: string, body: string): Request {
  const now = core.clock();
  const secrets = [hook.secret];
  if (hook.old_secret !== null && hook.old_until! > now) secrets.push(hook.old_secret);
  const signatures = secrets.map((secret) => new Webhook(secret).sign(eventId, new Date(now), body));
  const headers = {
    "content-type": "application/json",
    "user-agent": "Parley",
    "webhook-id": eventId,
    "webhook-timestamp": String(Math.floor(now / SECOND_MS)),
    "webhook-signature": signatures.join(" "),
  };
  return { headers, body };
}
