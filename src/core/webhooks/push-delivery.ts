import { createHmac } from "node:crypto";
import type { NewEntry } from "../../db/queries/record/audit-trail.ts";
import type { WebhookRow } from "../../db/queries/webhooks/webhooks.ts";
import { createSender, encryptPush } from "../../util/web-push.ts";
import { renderPush } from "../events/event-render.ts";
import type { DataAccess } from "../node/core.ts";
import { type AttemptResult, askedPause, type DeliveryKind, pauseAfter, type Request } from "./attempt.ts";

const SECOND_MS = 1000;
/** How long a push is useful after its event. Parley retries it, and the push server keeps it, for this long. */
const LIFE_MS = 24 * 3600 * SECOND_MS;
/** The size of every push before it is encrypted. An event with ids only is shorter. */
const PADDED_BYTES = 512;
const SALT_BYTES = 16;
/** The longest topic that RFC 8030 allows. */
const TOPIC_CHARACTERS = 32;

/** With these the push server says that the subscription is gone. */
const ENDED = new Set([404, 410]);
/** With these the push server may accept the push later. The same holds for 5xx, and for no answer. */
const LATER = new Set([408, 429]);

/** Deliveries to push servers (RFC 8030, 8291 and 8292). */
export const pushDelivery: DeliveryKind = {
  async toRequest(core, hook, delivery): Promise<Request | undefined> {
    const now = core.clock();
    const left = Math.ceil((delivery.told_at + LIFE_MS - now) / SECOND_MS);
    if (left <= 0 || isExpired(hook, now)) return undefined;
    const text = await renderPush(core, delivery);
    if (text === undefined) return undefined;
    const salt = new Uint8Array(SALT_BYTES);
    core.random(salt);
    const receiver = { publicKey: hook.public_key!, secret: hook.secret };
    return {
      headers: {
        authorization: core.pushIdentity.authorization(new URL(hook.url).origin),
        "content-encoding": "aes128gcm",
        "content-type": "application/octet-stream",
        topic: topicOf(hook, delivery.conversation_id),
        ttl: String(left),
        urgency: "high",
        "user-agent": "Parley",
      },
      body: encryptPush(text, receiver, { sender: createSender(), salt, length: PADDED_BYTES }),
    };
  },

  async skip(core, hook, { id }) {
    if (isExpired(hook, core.clock())) await end(core, hook, null);
    else await core.db.write("skipPush", { webhookId: hook.id, id });
  },

  async settle(core, attempt) {
    const { hook, delivery, attempts, answer, isDelivered, isFailing, entry } = attempt;
    if (isFailing || (answer && ENDED.has(answer.status))) return end(core, hook, entry);
    const nextAt = isDelivered ? null : retryAt(core, attempt);
    await core.db.write("settlePush", {
      webhookId: hook.id,
      id: delivery.id,
      conversationId: delivery.conversation_id,
      position: delivery.position,
      attempts,
      isDelivered,
      nextAt,
      now: entry.at,
    });
  },
};

/** Reports whether the token that created the subscription has expired. */
function isExpired({ expires_at }: WebhookRow, now: number): boolean {
  return expires_at !== null && expires_at <= now;
}

async function end(core: DataAccess, { id, version }: WebhookRow, entry: NewEntry | null): Promise<void> {
  await core.db.write("endPushSubscription", { id, version, entry });
  core.wakeEraser();
}

/** Returns the topic of a conversation's pushes, so that newer ones replace older ones. The push server learns nothing from it. */
function topicOf({ secret }: WebhookRow, conversationId: string): string {
  const digest = createHmac("sha256", Buffer.from(secret, "base64url")).update(conversationId).digest();
  return digest.toString("base64url").slice(0, TOPIC_CHARACTERS);
}

/** Returns when to retry; null if a retry is useless. */
function retryAt(core: DataAccess, attempt: AttemptResult): number | null {
  const { answer, attempts, delivery, entry } = attempt;
  if (answer && answer.status < 500 && !LATER.has(answer.status)) return null;
  const pause = pauseAfter(core, attempts);
  if (pause === undefined) return null;
  const at = entry.at + Math.max(pause, askedPause(attempt));
  return at < delivery.told_at + LIFE_MS ? at : null;
}
