import { ParleyError } from "../errors.ts";
import type { Act } from "./audit.ts";
import { type Page, walkOf } from "./page.ts";
import { all, get, type Reader, run, type Statement, statement, type Write } from "./sql.ts";
import { disableWebhook, noteFailing, requireWebhook } from "./webhooks.ts";

/** An event on its way to a webhook. Times are milliseconds. */
export interface DeliveryRow {
  id: string;
  event_id: string;
  type: string;
  state: "pending" | "delivered" | "failed";
  attempts: number;
  /** Null: it is done, or waits for an earlier one of its conversation. */
  next_at: number | null;
  last_status: number | null;
  last_error: string | null;
  created_at: number;
  updated_at: number;
}

const COLUMNS =
  "id, event_id, type, state, attempts, next_at, last_status, last_error, created_at, updated_at";

/** What is to be sent now. */
export interface DueDelivery {
  id: string;
  webhook_id: string;
  event_id: string;
  recipient_id: string;
  conversation_id: string;
  type: string;
  /** When the event happened. */
  told_at: number;
  /** JSON text. */
  payload: string;
  attempts: number;
}

/** One page in the order of the walk, and one more where there is one. */
export function listDeliveryPage(db: Reader, webhookId: string, page: Page): Promise<DeliveryRow[]> {
  const { sql, params } = deliveriesQuery(webhookId, page);
  return db.all(sql, ...params);
}

export function deliveriesQuery(webhookId: string, page: Page): Statement {
  return statement(
    `SELECT ${COLUMNS} FROM deliveries WHERE webhook_id = ? AND ${walkOf(page)}`,
    webhookId,
    page.cursor,
    page.limit + 1,
  );
}

/** The position up to which events were handed to webhooks. */
export async function findCursor(db: Reader): Promise<number> {
  const row = await db.get<{ position: number }>("SELECT position FROM webhook_cursor WHERE id = 1");
  return row?.position ?? 0;
}

/** What a webhook is to get of the events behind the cursor. */
interface NewDelivery {
  id: string;
  webhookId: string;
  eventId: string;
  position: number;
}

interface AddDeliveries {
  deliveries: readonly NewDelivery[];
  /** The cursor as it was when the events were read, and as it is to be. */
  from: number;
  to: number;
  now: number;
}

const INTO = `INSERT INTO deliveries (id, webhook_id, event_id, position, recipient_id, conversation_id, type, told_at,
  payload, state, attempts, next_at, created_at, updated_at)`;

/** Hands events to webhooks that are still there, and moves the cursor; nothing where another node has moved it. */
export function* addDeliveries({ deliveries, from, to, now }: AddDeliveries): Write<void> {
  const moved = yield* get(
    `INSERT INTO webhook_cursor (id, position) VALUES (1, ?)
     ON CONFLICT (id) DO UPDATE SET position = excluded.position WHERE webhook_cursor.position = ?
     RETURNING position`,
    to,
    from,
  );
  if (!moved || deliveries.length === 0) return;
  yield deliveries.map(({ id, webhookId, eventId, position }) =>
    statement(
      `${INTO} SELECT ?, w.id, ?, e.position, e.recipient_id, e.conversation_id, e.type, e.created_at, e.payload,
         'pending', 0, CASE WHEN EXISTS (SELECT 1 FROM deliveries d WHERE d.webhook_id = w.id
           AND d.conversation_id = e.conversation_id AND d.state = 'pending') THEN NULL ELSE CAST(? AS BIGINT) END, ?, ?
       FROM webhooks w JOIN events e ON e.position = ?
       WHERE w.id = ? AND w.disabled_at IS NULL AND e.payload <> ''`,
      id,
      eventId,
      now,
      now,
      now,
      position,
      webhookId,
    ),
  );
}

interface AddTestDelivery {
  userId: string;
  webhookId: string;
  id: string;
  eventId: string;
  payload: string;
  now: number;
}

/** An event that nothing has made; it waits for no other. Throws `webhook_not_found` and `webhook_disabled`. */
export function* addTestDelivery(input: AddTestDelivery): Write<DeliveryRow> {
  yield* requireEnabled(input.userId, input.webhookId);
  const { id, now } = input;
  return (yield* get<DeliveryRow>(
    `${INTO} VALUES (?, ?, ?, 0, ?, ?, 'webhook.test', ?, ?, 'pending', 0, ?, ?, ?) RETURNING ${COLUMNS}`,
    id,
    input.webhookId,
    input.eventId,
    input.userId,
    // A conversation of its own.
    id,
    now,
    input.payload,
    now,
    now,
    now,
  ))!;
}

function* requireEnabled(userId: string, webhookId: string): Write<void> {
  const hook = yield* requireWebhook(userId, webhookId);
  if (hook.disabled_at !== null) throw new ParleyError("webhook_disabled");
}

/**
 * Sends it again at once, whatever has become of it; one that waits for an earlier one of its conversation still does. Throws
 * `webhook_not_found`, `webhook_disabled` and `delivery_not_found`.
 */
export function* redeliver(input: {
  userId: string;
  webhookId: string;
  id: string;
  now: number;
}): Write<DeliveryRow> {
  yield* requireEnabled(input.userId, input.webhookId);
  const row = yield* get<DeliveryRow>(
    `UPDATE deliveries SET state = 'pending', attempts = 0, updated_at = ?,
       next_at = CASE WHEN state = 'pending' AND next_at IS NULL THEN NULL ELSE CAST(? AS BIGINT) END
     WHERE webhook_id = ? AND id = ? RETURNING ${COLUMNS}`,
    input.now,
    input.now,
    input.webhookId,
    input.id,
  );
  if (!row) throw new ParleyError("delivery_not_found");
  return row;
}

/** Enabled webhooks for which there is something to send now. */
export async function webhooksWithDue(db: Reader, now: number): Promise<string[]> {
  const next = (behind: string) =>
    `SELECT webhook_id FROM deliveries WHERE next_at IS NOT NULL ${behind} ORDER BY webhook_id LIMIT 1`;
  // From one webhook to the next by the index, however many each has.
  const rows = await db.all<{ id: string }>(
    `WITH RECURSIVE waiting (id) AS (
       SELECT (${next("")}) AS id
       UNION ALL SELECT (${next("AND webhook_id > waiting.id")}) FROM waiting WHERE waiting.id IS NOT NULL)
     SELECT w.id FROM waiting CROSS JOIN webhooks w
     WHERE w.id = waiting.id AND w.disabled_at IS NULL
       AND EXISTS (SELECT 1 FROM deliveries d WHERE d.webhook_id = w.id AND d.next_at <= ?)`,
    now,
  );
  return rows.map(({ id }) => id);
}

/** What is to be sent to a webhook now, the longest due first. */
export function listDue(db: Reader, webhookId: string, now: number, limit: number): Promise<DueDelivery[]> {
  return db.all(
    `SELECT id, webhook_id, event_id, recipient_id, conversation_id, type, told_at, payload, attempts FROM deliveries
     WHERE webhook_id = ? AND next_at <= ? ORDER BY next_at LIMIT ? + 0`,
    webhookId,
    now,
    limit,
  );
}

interface SettleDelivery {
  webhookId: string;
  id: string;
  state: DeliveryRow["state"];
  attempts: number;
  /** Of one that is tried again. */
  nextAt: number | null;
  status: number | null;
  error: string | null;
  /** Whether the webhook is disabled with it. */
  disable: boolean;
  act: Act;
}

/**
 * What has come of an attempt; where it was the last, the next of the conversation is due. A failure of one that is to be
 * sent anew since changes nothing.
 */
export function* settleDelivery(input: SettleDelivery): Write<void> {
  const { webhookId, id, act } = input;
  const row = yield* get<{ conversation_id: string }>(
    `UPDATE deliveries SET state = ?, attempts = ?, next_at = ?, last_status = ?, last_error = ?, updated_at = ?
     WHERE webhook_id = ? AND id = ? AND state = 'pending' AND attempts ${input.state === "delivered" ? ">= 0" : "= ?"}
     RETURNING conversation_id`,
    input.state,
    input.attempts,
    input.nextAt,
    input.status,
    input.error,
    act.at,
    webhookId,
    id,
    ...(input.state === "delivered" ? [] : [input.attempts - 1]),
  );
  if (!row) return;
  if (input.disable) yield* disableWebhook(webhookId, act);
  yield [
    noteFailing(webhookId, input.state === "delivered" ? null : act.at),
    ...(input.state === "pending" ? [] : [nextOf(webhookId, row.conversation_id, act.at)]),
  ];
}

/** Makes the first that is pending of a conversation due. */
function nextOf(webhookId: string, conversationId: string, now: number): Statement {
  return statement(
    `UPDATE deliveries SET next_at = ? WHERE webhook_id = ? AND next_at IS NULL AND id = (
       SELECT id FROM deliveries WHERE webhook_id = ? AND conversation_id = ? AND state = 'pending'
       ORDER BY position, id LIMIT 1)`,
    now,
    webhookId,
    webhookId,
    conversationId,
  );
}

/** Done, or waiting for a webhook that is disabled for as long. */
const OLD = `created_at < ? AND (state <> 'pending'
  OR webhook_id IN (SELECT id FROM webhooks WHERE disabled_at < ?))`;

export async function hasOldDeliveries(db: Reader, before: number): Promise<boolean> {
  return (await db.get(`SELECT 1 AS one FROM deliveries WHERE ${OLD} LIMIT 1`, before, before)) !== undefined;
}

/** Erases old ones, some at a time. */
export function* forgetDeliveries(input: { before: number; limit: number }): Write<void> {
  yield* run(
    `DELETE FROM deliveries WHERE (webhook_id, id) IN (
       SELECT webhook_id, id FROM deliveries WHERE ${OLD} ORDER BY created_at LIMIT ? + 0)`,
    input.before,
    input.before,
    input.limit,
  );
}

/** Part of the erasing of a user: their webhooks, and what others were sent, or would be, of their events. */
export function* forgetWebhooksOf(userId: string, now: number): Write<void> {
  yield [
    statement(
      "DELETE FROM deliveries WHERE webhook_id IN (SELECT id FROM webhooks WHERE user_id = ?)",
      userId,
    ),
    statement("DELETE FROM webhooks WHERE user_id = ?", userId),
  ];
  const gone = yield* all<{ webhook_id: string; conversation_id: string; state: string }>(
    "DELETE FROM deliveries WHERE recipient_id = ? RETURNING webhook_id, conversation_id, state",
    userId,
  );
  // Those of other recipients may have waited for them.
  yield gone
    .filter(({ state }) => state === "pending")
    .map(({ webhook_id, conversation_id }) => nextOf(webhook_id, conversation_id, now));
}
