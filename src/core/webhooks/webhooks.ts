import { lastPosition } from "../../db/queries/events/events.ts";
import { type DeliveryRow, listDeliveryRows } from "../../db/queries/webhooks/deliveries.ts";
import {
  findAnyWebhook,
  findWebhook,
  listWebhookRows,
  toWebhook,
  type WebhookRow,
} from "../../db/queries/webhooks/webhooks.ts";
import { ParleyError } from "../../errors.ts";
import { toSeconds } from "../../util/clock.ts";
import { mayPostTo } from "../../util/post.ts";
import { requireShown, showingScopes } from "../events/event-types.ts";
import type {
  deliveryResource,
  webhookChanges,
  webhookFields,
  webhookFilters,
  webhookWithSecretResource,
} from "../events/webhook-fields.ts";
import type { Caller } from "../node/caller.ts";
import type { Core, DataAccess } from "../node/core.ts";
import { newEntry } from "../record/audit-trail.ts";
import { writeIdempotent } from "../record/idempotency.ts";
import type { Parsed } from "../resource/fields.ts";
import { type Page, type PageEnvelope, toPage } from "../resource/page.ts";
import type { Expected, Versioned } from "../resource/resource.ts";
import type { TypeOf } from "../resource/schema.ts";

const SECRET_BYTES = 32;
/** How long the previous secret also signs after a rotation. */
const OVERLAP_MS = 24 * 3600 * 1000;

type Delivery = TypeOf<typeof deliveryResource>;

/** A webhook with its secret, which is shown only when it is created. */
interface ShownSecret {
  webhook: TypeOf<typeof webhookWithSecretResource>;
  replayed: boolean;
}

/**
 * Creates a webhook. Throws `count_limit_reached`, `insufficient_scope` for a webhook of all users without the scope `admin` or
 * for types that the token may not see, and `invalid_parameter` for a forbidden URL. A request with an Idempotency-Key is
 * idempotent.
 */
export async function createWebhook(
  core: Core,
  caller: Caller,
  fields: Parsed<typeof webhookFields>,
  key: string | undefined,
): Promise<ShownSecret> {
  refuseAddress(core, "url", fields.url);
  if (fields.all_users) demandAdmin(caller, EVENTS_OF_ALL);
  requireShown(caller.scopes, fields.events?.split(" ") ?? []);
  const secret = makeSecret(core);
  const entry = newEntry(core, caller);
  const row: WebhookRow = {
    id: core.newId("whk"),
    user_id: caller.userId,
    url: fields.url,
    types: fields.events ?? null,
    scopes: showingScopes(caller.scopes),
    all_users: fields.all_users ? 1 : 0,
    secret,
    old_secret: null,
    old_until: null,
    disabled_at: null,
    failing_since: null,
    backlog_from: null,
    since_position: await lastPosition(core.db),
    public_key: null,
    token_id: null,
    expires_at: null,
    created_at: entry.at,
    version: 1,
  };
  const context = contextOf(caller, key);
  const { result, replayed } = await writeIdempotent(
    core,
    { caller, key, asked: ["createWebhook", fields] },
    "createWebhook",
    { row, limit: core.limits.maxWebhooks, entry, sealed: context && core.seal.seal(secret, context) },
  );
  return shownSecret(core, context, result, secret, replayed);
}

/**
 * Replaces the secret; the old one also signs for a day. Throws `webhook_not_found`, `insufficient_scope` and `not_owner`.
 */
export async function rotateSecret(
  core: Core,
  caller: Caller,
  id: string,
  key: string | undefined,
): Promise<ShownSecret> {
  await getOwn(core, caller, id);
  const secret = makeSecret(core);
  const entry = newEntry(core, caller);
  const context = contextOf(caller, key);
  const { result, replayed } = await writeIdempotent(
    core,
    { caller, key, asked: ["rotateSecret", id] },
    "rotateSecret",
    {
      userId: caller.userId,
      id,
      secret,
      oldUntil: entry.at + OVERLAP_MS,
      entry,
      sealed: context && core.seal.seal(secret, context),
    },
  );
  return shownSecret(core, context, result, secret, replayed);
}

/** The context that seals a secret for a replay of the same request; null if it has no key. */
function contextOf(caller: Caller, key: string | undefined): string | null {
  return key === undefined ? null : `${caller.userId} ${key}`;
}

function shownSecret(
  core: Core,
  context: string | null,
  { row, sealed }: { row: Omit<WebhookRow, "secret" | "old_secret">; sealed: string | null },
  made: string,
  replayed: boolean,
): ShownSecret {
  const secret = replayed ? core.seal.open(sealed!, context!) : made;
  if (secret === undefined) {
    throw new ParleyError(
      "idempotency_key_reused",
      "This Idempotency-Key created a secret under a different PARLEY_SECRET. Use a new key.",
    );
  }
  const { id, ...others } = toWebhook(row);
  return { webhook: { id, secret, ...others }, replayed };
}

/** Makes a secret in the form of Standard Webhooks. */
function makeSecret(core: DataAccess): string {
  const bytes = new Uint8Array(SECRET_BYTES);
  core.random(bytes);
  return `whsec_${Buffer.from(bytes).toString("base64")}`;
}

/** Throws `invalid_parameter` if the server may not send to this URL, which is in the field `param`. */
export function refuseAddress(core: DataAccess, param: string, address: string): void {
  if (mayPostTo(new URL(address), core.limits.webhooksAllowPrivate)) return;
  throw new ParleyError(
    "invalid_parameter",
    `${param} must start with https: and have a public address. The operator can allow others with PARLEY_WEBHOOKS_ALLOW_PRIVATE=true.`,
    { param },
  );
}

const EVENTS_OF_ALL = "A webhook for the events of all users";

/** Throws `insufficient_scope` without the scope `admin`: redirecting the events of all users means reading them. */
function demandAdmin(caller: Caller, what: string): void {
  if (caller.scopes.has("admin")) return;
  throw new ParleyError("insufficient_scope", `${what} requires a token with the scope admin.`, {
    header: "admin",
  });
}

/** Returns one page of the caller's webhooks, or with the scope `admin` of those of others. Throws `insufficient_scope`. */
export async function listWebhooks(
  core: DataAccess,
  caller: Caller,
  request: Page & Parsed<typeof webhookFilters>,
): Promise<PageEnvelope> {
  const { all, user_id, failing = false } = request;
  if (all || user_id !== undefined) demandAdmin(caller, "A list of the webhooks of other users");
  const userId = user_id ?? (all ? null : caller.userId);
  const rows = await listWebhookRows(core.db, { userId, isFailing: failing }, request);
  return toPage(request, rows, (row) => JSON.stringify(toWebhook(row)));
}

/** Throws `webhook_not_found`. */
export async function getWebhook(core: DataAccess, caller: Caller, id: string): Promise<Versioned> {
  return versioned(await getRow(core, caller, id));
}

/** Gets a webhook of the caller, or with the scope `admin` of any user. Throws `webhook_not_found`. */
async function getRow(core: DataAccess, caller: Caller, id: string): Promise<WebhookRow> {
  const isAdmin = caller.scopes.has("admin");
  const row = await (isAdmin ? findAnyWebhook(core.db, id) : findWebhook(core.db, caller.userId, id));
  if (!row) throw new ParleyError("webhook_not_found");
  return row;
}

/** Gets a webhook that the caller may change. Throws `webhook_not_found` and `insufficient_scope`. */
async function getChangeable(core: DataAccess, caller: Caller, id: string): Promise<WebhookRow> {
  const row = await getRow(core, caller, id);
  if (row.all_users === 1) demandAdmin(caller, EVENTS_OF_ALL);
  return row;
}

/** Gets a webhook whose events the caller may redirect. Throws `not_owner` for another user's, and what `getChangeable` throws. */
async function getOwn(core: DataAccess, caller: Caller, id: string): Promise<WebhookRow> {
  const row = await getChangeable(core, caller, id);
  if (row.user_id !== caller.userId) throw new ParleyError("not_owner");
  return row;
}

/** Throws `webhook_not_found`, `not_owner`, `precondition_failed` and what `createWebhook` throws. */
export async function updateWebhook(
  core: Core,
  caller: Caller,
  id: string,
  fields: Parsed<typeof webhookChanges>,
  expected: Expected,
): Promise<Versioned> {
  const { url, events: types, enabled } = fields;
  const redirects = url !== undefined || types !== undefined;
  const { user_id: userId } = await (redirects ? getOwn : getChangeable)(core, caller, id);
  if (url !== undefined) refuseAddress(core, "url", url);
  requireShown(caller.scopes, types?.split(" ") ?? []);
  const row = await core.db.write("updateWebhook", {
    ...{ userId, id, url, types, enabled, expected },
    scopes: showingScopes(caller.scopes),
    position: await lastPosition(core.db),
    entry: newEntry(core, caller),
  });
  return versioned(row);
}

function versioned(row: WebhookRow): Versioned {
  return { json: JSON.stringify(toWebhook(row)), version: String(row.version) };
}

/**
 * Deletes the webhook: nothing more is sent, and its deliveries are erased later. Throws `webhook_not_found` and
 * `precondition_failed`.
 */
export async function deleteWebhook(
  core: DataAccess,
  caller: Caller,
  id: string,
  expected: Expected,
): Promise<void> {
  const { user_id: userId } = await getRow(core, caller, id);
  await core.db.write("deleteWebhook", { userId, id, expected, entry: newEntry(core, caller) });
  core.wakeEraser();
}

/** Returns one page of the webhook's deliveries. Throws `webhook_not_found`. */
export async function listDeliveries(
  core: DataAccess,
  caller: Caller,
  id: string,
  page: Page,
): Promise<PageEnvelope> {
  await getRow(core, caller, id);
  const rows = await listDeliveryRows(core.db, id, page);
  return toPage(page, rows, (row) => JSON.stringify(toDelivery(row, caller)));
}

/**
 * Sends a test event. Throws `webhook_not_found`, `webhook_disabled`, `count_limit_reached`, `insufficient_scope` and
 * `not_owner`.
 */
export async function testWebhook(
  core: Core,
  caller: Caller,
  id: string,
  key: string | undefined,
): Promise<{ delivery: Delivery; replayed: boolean }> {
  await getOwn(core, caller, id);
  const { result, replayed } = await writeIdempotent(
    core,
    { caller, key, asked: ["testWebhook", id] },
    "addTestDelivery",
    {
      userId: caller.userId,
      webhookId: id,
      id: core.newId("dlv"),
      eventId: core.newId("evt"),
      payload: JSON.stringify({ id }),
      now: core.clock(),
    },
  );
  return { delivery: toDelivery(result, caller), replayed };
}

/**
 * Throws `webhook_not_found`, `webhook_disabled`, `delivery_not_found`, `count_limit_reached` and `insufficient_scope`.
 */
export async function redeliver(
  core: Core,
  caller: Caller,
  webhookId: string,
  id: string,
  key: string | undefined,
): Promise<{ delivery: Delivery; replayed: boolean }> {
  const { user_id: userId } = await getChangeable(core, caller, webhookId);
  const { result, replayed } = await writeIdempotent(
    core,
    { caller, key, asked: ["redeliver", webhookId, id] },
    "redeliver",
    { userId, webhookId, id, now: core.clock() },
  );
  return { delivery: toDelivery(result, caller), replayed };
}

function toDelivery(row: DeliveryRow, { scopes }: Caller): Delivery {
  return {
    id: row.id,
    event_id: row.event_id,
    type: row.type,
    state: row.state,
    attempts: row.attempts,
    last_status: row.last_status,
    last_error: row.last_error,
    // Would let the owner read servers of the operator's network, where private addresses are allowed.
    response_body: scopes.has("admin") ? row.response_body : null,
    next_attempt_at: row.next_at === null ? null : toSeconds(row.next_at),
    created_at: toSeconds(row.created_at),
    updated_at: toSeconds(row.updated_at),
  };
}
