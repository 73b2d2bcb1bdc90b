import { type DeliveryRow, listDeliveryPage } from "../db/deliveries.ts";
import { lastPosition } from "../db/events.ts";
import { findWebhook, listWebhookPage, shownWebhook, type WebhookRow } from "../db/webhooks.ts";
import { ParleyError } from "../errors.ts";
import { toSeconds } from "../util/clock.ts";
import { mayPostTo } from "../util/post.ts";
import { actOf } from "./audit.ts";
import type { Caller } from "./caller.ts";
import type { Core } from "./core.ts";
import { onceOf, writeOnce } from "./idempotency.ts";
import { type PageOf, type PageRequest, pageOf, pageQuery } from "./page.ts";
import type { Expected, Versioned } from "./resource.ts";

const SECRET_BYTES = 32;
/** For how long the secret before signs as well. */
const OVERLAP_MS = 24 * 3600 * 1000;

interface WebhookFields {
  url: string;
  /** Separated by spaces; null: all. */
  events?: string | null | undefined;
  all_users?: boolean | undefined;
}

/** A webhook with its secret, as it is shown when that is made. */
interface ShownSecret {
  webhook: object;
  replayed: boolean;
}

/**
 * Throws `count_limit_reached`, `insufficient_scope` for one of all users without the right to it, and
 * `invalid_parameter` for an address that nothing is sent to. A request with a key is done once.
 */
export async function createWebhook(
  core: Core,
  caller: Caller,
  fields: WebhookFields,
  key: string | undefined,
): Promise<ShownSecret> {
  refuseAddress(core, fields.url);
  if (fields.all_users) demandAdmin(caller);
  const secret = makeSecret(core);
  const act = actOf(core, caller);
  const row: WebhookRow = {
    id: core.newId("whk"),
    user_id: caller.userId,
    url: fields.url,
    types: fields.events ?? null,
    all_users: fields.all_users ? 1 : 0,
    secret,
    old_secret: null,
    old_until: null,
    disabled_at: null,
    failing_since: null,
    since_position: await lastPosition(core.db),
    created_at: act.at,
    version: 1,
  };
  const context = contextOf(caller, key);
  const { result, replayed } = await writeOnce(
    core,
    onceOf(core, caller, key, "createWebhook", fields),
    "createWebhook",
    { row, limit: core.limits.maxWebhooks, act, sealed: context && core.seal.seal(secret, context) },
  );
  return shownSecret(core, context, result, secret, replayed);
}

/** A new secret; the old one signs as well for a day. Throws `webhook_not_found` and `insufficient_scope`. */
export async function rotateSecret(
  core: Core,
  caller: Caller,
  id: string,
  key: string | undefined,
): Promise<ShownSecret> {
  await getOwn(core, caller, id);
  const secret = makeSecret(core);
  const act = actOf(core, caller);
  const context = contextOf(caller, key);
  const { result, replayed } = await writeOnce(
    core,
    onceOf(core, caller, key, "rotateSecret", id),
    "rotateSecret",
    {
      userId: caller.userId,
      id,
      secret,
      oldUntil: act.at + OVERLAP_MS,
      act,
      sealed: context && core.seal.seal(secret, context),
    },
  );
  return shownSecret(core, context, result, secret, replayed);
}

/** With what a secret is sealed for whoever asks for the same again; null: there is no key. */
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
      "This Idempotency-Key made a secret while the server had another PARLEY_SECRET. Make a new key.",
    );
  }
  const { id, ...others } = shownWebhook(row);
  return { webhook: { id, secret, ...others }, replayed };
}

/** As Standard Webhooks has them. */
function makeSecret(core: Core): string {
  const bytes = new Uint8Array(SECRET_BYTES);
  core.random(bytes);
  return `whsec_${Buffer.from(bytes).toString("base64")}`;
}

function refuseAddress(core: Core, address: string): void {
  if (mayPostTo(new URL(address), core.limits.webhooksAllowPrivate)) return;
  throw new ParleyError(
    "invalid_parameter",
    "url must begin with https: and lead to a public address. The operator allows others with PARLEY_WEBHOOKS_ALLOW_PRIVATE=true.",
    { param: "url" },
  );
}

/** Whoever could lead the events of all users elsewhere would read them. */
function demandAdmin(caller: Caller): void {
  if (caller.scopes.has("admin")) return;
  throw new ParleyError(
    "insufficient_scope",
    'A webhook that sees the events of all users takes a token with the scope "admin".',
    { header: "admin" },
  );
}

export async function listWebhooks(core: Core, caller: Caller, request: PageRequest): Promise<PageOf> {
  const page = pageQuery(request);
  const rows = await listWebhookPage(core.db, caller.userId, page);
  return pageOf(page, rows, (row) => JSON.stringify(shownWebhook(row)));
}

/** Throws `webhook_not_found`. */
export async function getWebhook(core: Core, caller: Caller, id: string): Promise<Versioned> {
  return versioned(await getRow(core, caller, id));
}

async function getRow(core: Core, caller: Caller, id: string): Promise<WebhookRow> {
  const row = await findWebhook(core.db, caller.userId, id);
  if (!row) throw new ParleyError("webhook_not_found");
  return row;
}

/** One that the caller may change. Throws `webhook_not_found` and `insufficient_scope`. */
async function getOwn(core: Core, caller: Caller, id: string): Promise<void> {
  if ((await getRow(core, caller, id)).all_users === 1) demandAdmin(caller);
}

/** Throws `webhook_not_found`, `precondition_failed`, and as the creation does. */
export async function updateWebhook(
  core: Core,
  caller: Caller,
  id: string,
  fields: { url?: string | undefined; events?: string | null | undefined; enabled?: boolean | undefined },
  expected: Expected,
): Promise<Versioned> {
  await getOwn(core, caller, id);
  if (fields.url !== undefined) refuseAddress(core, fields.url);
  const { url, events: types, enabled } = fields;
  const row = await core.db.write("updateWebhook", {
    ...{ userId: caller.userId, id, url, types, enabled, expected },
    position: await lastPosition(core.db),
    act: actOf(core, caller),
  });
  return versioned(row);
}

function versioned(row: WebhookRow): Versioned {
  return { json: JSON.stringify(shownWebhook(row)), version: String(row.version) };
}

/** Nothing more is sent to it. Throws `webhook_not_found` and `precondition_failed`. */
export async function deleteWebhook(
  core: Core,
  caller: Caller,
  id: string,
  expected: Expected,
): Promise<void> {
  const act = actOf(core, caller);
  await core.db.write("deleteWebhook", { userId: caller.userId, id, expected, act });
}

/** One page of what was, or is to be, sent to the webhook. Throws `webhook_not_found`. */
export async function listDeliveries(
  core: Core,
  caller: Caller,
  id: string,
  request: PageRequest,
): Promise<PageOf> {
  await getRow(core, caller, id);
  const page = pageQuery(request);
  const rows = await listDeliveryPage(core.db, id, page);
  return pageOf(page, rows, (row) => JSON.stringify(shownDelivery(row)));
}

/** Sends an event that nothing has made. Throws `webhook_not_found`, `webhook_disabled` and `insufficient_scope`. */
export async function testWebhook(
  core: Core,
  caller: Caller,
  id: string,
  key: string | undefined,
): Promise<{ delivery: object; replayed: boolean }> {
  await getOwn(core, caller, id);
  const { result, replayed } = await writeOnce(
    core,
    onceOf(core, caller, key, "testWebhook", id),
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
  return { delivery: shownDelivery(result), replayed };
}

/** Throws `webhook_not_found`, `webhook_disabled`, `delivery_not_found` and `insufficient_scope`. */
export async function redeliver(
  core: Core,
  caller: Caller,
  webhookId: string,
  id: string,
  key: string | undefined,
): Promise<{ delivery: object; replayed: boolean }> {
  await getOwn(core, caller, webhookId);
  const { result, replayed } = await writeOnce(
    core,
    onceOf(core, caller, key, "redeliver", webhookId, id),
    "redeliver",
    { userId: caller.userId, webhookId, id, now: core.clock() },
  );
  return { delivery: shownDelivery(result), replayed };
}

function shownDelivery(row: DeliveryRow): object {
  return {
    id: row.id,
    event_id: row.event_id,
    type: row.type,
    state: row.state,
    attempts: row.attempts,
    last_status: row.last_status,
    last_error: row.last_error,
    next_attempt_at: row.next_at === null ? null : toSeconds(row.next_at),
    created_at: toSeconds(row.created_at),
    updated_at: toSeconds(row.updated_at),
  };
}
