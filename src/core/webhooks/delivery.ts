import type { DueDelivery } from "../../db/queries/webhooks/deliveries.ts";
import { findWebhookToSend, type WebhookRow } from "../../db/queries/webhooks/webhooks.ts";
import { type Answer, post } from "../../util/post.ts";
import type { Core } from "../node/core.ts";
import { newEntry } from "../record/audit-trail.ts";
import { pushDelivery } from "./push-delivery.ts";
import { webhookDelivery } from "./webhook-delivery.ts";

/** A webhook whose receiver has accepted nothing for this long is disabled, however few attempts there were. */
const FAILING_MS = 4 * 24 * 3600 * 1000;

/**
 * Attempts a delivery and stores the outcome, unless `signal` aborted it, which is not a failure of the receiver. Returns
 * whether the receiver accepted it; undefined if nothing was sent. `onNoAnswer` gets the reason if no answer came.
 */
export async function deliver(
  core: Core,
  delivery: DueDelivery,
  signal: AbortSignal,
  onNoAnswer: (hook: WebhookRow, error: unknown) => void,
): Promise<boolean | undefined> {
  const hook = await findWebhookToSend(core.db, delivery.webhook_id);
  if (!hook) return undefined;
  const kind = hook.public_key === null ? webhookDelivery : pushDelivery;
  const request = await kind.toRequest(core, hook, delivery);
  if (!request) {
    await kind.skip(core, hook, delivery);
    return undefined;
  }
  let answer: Answer | null = null;
  try {
    answer = await post({
      ...request,
      url: hook.url,
      timeoutMs: core.limits.webhookTimeoutMs,
      allowPrivate: core.limits.webhooksAllowPrivate,
      makeResolver: core.makeResolver,
      signal,
    });
  } catch (cause) {
    if (signal.aborted) return false;
    onNoAnswer(hook, cause);
  }
  const entry = newEntry(core, null);
  const isDelivered = answer !== null && answer.status >= 200 && answer.status < 300;
  const isFailing = !isDelivered && entry.at - (hook.failing_since ?? entry.at) > FAILING_MS;
  const attempts = delivery.attempts + 1;
  await kind.settle(core, { hook, delivery, attempts, answer, isDelivered, isFailing, entry });
  return isDelivered;
}
