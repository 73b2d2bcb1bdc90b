import { lastPosition } from "../../db/queries/events/events.ts";
import {
  findPushSubscription,
  listPushSubscriptionRows,
  toPushSubscription,
} from "../../db/queries/webhooks/push-subscriptions.ts";
import type { WebhookRow } from "../../db/queries/webhooks/webhooks.ts";
import { ParleyError } from "../../errors.ts";
import { isPublicKey } from "../../util/web-push.ts";
import { showingScopes } from "../events/event-types.ts";
import { hookUrl } from "../events/webhook-fields.ts";
import type { Caller } from "../node/caller.ts";
import type { Core, DataAccess } from "../node/core.ts";
import { newEntry } from "../record/audit-trail.ts";
import { writeIdempotent } from "../record/idempotency.ts";
import type { Field, Parsed } from "../resource/fields.ts";
import { type Page, type PageEnvelope, toPage } from "../resource/page.ts";
import type { Expected, Versioned } from "../resource/resource.ts";
import { described, id, integer, orNull, resource, type TypeOf, text, time } from "../resource/schema.ts";
import { refuseAddress } from "./webhooks.ts";

/** The key of the device, as a browser's `PushSubscription.toJSON()` has it. */
const publicKey: Field<string, true> = {
  required: true,
  accepts: "a public key on the curve P-256: 65 bytes (uncompressed) in base64url without padding",
  schema: { type: "string", pattern: "^[A-Za-z0-9_-]{87}$" },
  parse: (value) => (typeof value === "string" && isPublicKey(value) ? value : undefined),
};

const SECRET_BYTES = 16;

/** The secret of the device, from the same object. */
const secret: Field<string, true> = {
  required: true,
  accepts: `${SECRET_BYTES} bytes in base64url without padding`,
  schema: { type: "string", pattern: "^[A-Za-z0-9_-]{22}$" },
  parse(value) {
    if (typeof value !== "string") return undefined;
    const bytes = Buffer.from(value, "base64url");
    return bytes.length === SECRET_BYTES && bytes.toString("base64url") === value ? value : undefined;
  },
};

/** The fields of a new subscription. */
export const pushSubscriptionFields = { endpoint: hookUrl, p256dh: publicKey, auth: secret };

export const pushSubscriptionResource = resource("PushSubscription", {
  id: id("psh"),
  endpoint: described(text, "As the URL Standard (WHATWG) writes it."),
  expires_at: described(
    orNull(integer),
    "When it ends with the token that made it. Unix seconds, UTC; null if that never expires, or was a JWT.",
  ),
  created_at: time,
});

/** The types of events that are pushed. */
const TYPES = "message.created message.mentioned";

/**
 * Creates a subscription, or gives new keys to the caller's with the same endpoint. Throws `count_limit_reached`, and
 * `invalid_parameter` for a forbidden endpoint. A request with an Idempotency-Key is idempotent.
 */
export async function createPushSubscription(
  core: Core,
  caller: Caller,
  { endpoint, p256dh, auth }: Parsed<typeof pushSubscriptionFields>,
  key: string | undefined,
): Promise<{ subscription: TypeOf<typeof pushSubscriptionResource>; isNew: boolean; replayed: boolean }> {
  refuseAddress(core, "endpoint", endpoint);
  const entry = newEntry(core, caller);
  const row: WebhookRow = {
    id: core.newId("psh"),
    user_id: caller.userId,
    url: endpoint,
    types: TYPES,
    scopes: showingScopes(caller.scopes),
    all_users: 0,
    secret: auth,
    old_secret: null,
    old_until: null,
    disabled_at: null,
    failing_since: null,
    since_position: await lastPosition(core.db),
    backlog_from: null,
    public_key: p256dh,
    token_id: caller.tokenId,
    expires_at: null,
    created_at: entry.at,
    version: 1,
  };
  const { result, replayed } = await writeIdempotent(
    core,
    { caller, key, asked: ["createPushSubscription", endpoint, p256dh, auth] },
    "createPushSubscription",
    { row, limit: core.limits.maxPushSubscriptions, entry },
  );
  return { subscription: toPushSubscription(result.row), isNew: result.isNew, replayed };
}

export async function listPushSubscriptions(
  core: DataAccess,
  caller: Caller,
  page: Page,
): Promise<PageEnvelope> {
  const rows = await listPushSubscriptionRows(core.db, caller.userId, page, core.clock());
  return toPage(page, rows, (row) => JSON.stringify(toPushSubscription(row)));
}

/** Throws `push_subscription_not_found`. */
export async function getPushSubscription(core: DataAccess, caller: Caller, id: string): Promise<Versioned> {
  const row = await findPushSubscription(core.db, caller.userId, id, core.clock());
  if (!row) throw new ParleyError("push_subscription_not_found");
  return { json: JSON.stringify(toPushSubscription(row)), version: String(row.version) };
}

/** Ends the subscription, with all its pending pushes. Throws `push_subscription_not_found` and `precondition_failed`. */
export async function deletePushSubscription(
  core: DataAccess,
  caller: Caller,
  id: string,
  expected: Expected,
): Promise<void> {
  const entry = newEntry(core, caller);
  await core.db.write("deletePushSubscription", { userId: caller.userId, id, expected, entry });
  core.wakeEraser();
}
