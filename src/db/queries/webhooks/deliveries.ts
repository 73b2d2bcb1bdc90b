import { ParleyError } from "../../../errors.ts";
import { type Page, pageClause } from "../../page.ts";
import { type Reader, type Statement, sql } from "../../sql.ts";
import { all, batch, eraseSome, get, run, type Write, write } from "../../write.ts";
import type { NewEntry } from "../record/audit-trail.ts";
import { INTO_DELIVERIES, MAX_PENDING, PENDING } from "./hand-out.ts";
import { disableWebhook, getWebhook, IS_SENT_TO, noteFailing } from "./webhooks.ts";

/** An event on its way to a webhook. Times are milliseconds. */
export interface DeliveryRow {
  id: string;
  event_id: string;
  type: string;
  /** "skipped" means that nobody may see the subject of the event any longer. */
  state: "pending" | "delivered" | "failed" | "skipped";
  attempts: number;
  /** Null if the delivery is done, or waits for an earlier one of its conversation. */
  next_at: number | null;
  last_status: number | null;
  last_error: string | null;
  /** The start of the body of the last answer. Only administrators may see it. */
  response_body: string | null;
  created_at: number;
  updated_at: number;
}

const COLUMNS = sql`id, event_id, type, state, attempts, next_at, last_status, last_error, response_body, created_at,
  updated_at`;

/** A delivery that is due. */
export interface DueDelivery {
  id: string;
  webhook_id: string;
  event_id: string;
  position: number;
  /** The position of the last event of a change, which has one for each recipient; null for one event. */
  last_position: number | null;
  /** Empty for the events of a change. */
  recipient_id: string;
  conversation_id: string;
  type: string;
  /** The time of the event. */
  told_at: number;
  /** JSON text. */
  payload: string;
  attempts: number;
}

/** Returns the rows of a page, and one more if there is one. */
export function listDeliveryRows(db: Reader, webhookId: string, page: Page): Promise<DeliveryRow[]> {
  return db.all(deliveriesQuery(webhookId, page));
}

export function deliveriesQuery(webhookId: string, page: Page): Statement<DeliveryRow> {
  return sql`SELECT ${COLUMNS} FROM deliveries WHERE webhook_id = ${webhookId} AND ${pageClause(page)}`;
}

interface AddTestDelivery {
  userId: string;
  webhookId: string;
  id: string;
  eventId: string;
  payload: string;
  now: number;
}

/**
 * Creates a test delivery, which does not wait for other deliveries. Throws `webhook_not_found`, `webhook_disabled` and
 * `count_limit_reached`.
 */
const addTestDelivery = write(
  { publishesEvents: true },
  function* (input: AddTestDelivery): Write<DeliveryRow> {
    yield* requireEnabled(input.userId, input.webhookId);
    yield* requireRoom(input.webhookId);
    const { id, now } = input;
    return (yield* get<DeliveryRow>(
      sql`${INTO_DELIVERIES}
        VALUES (${id}, ${input.webhookId}, ${input.eventId}, 0, NULL, ${input.userId}, ${id},
          'webhook.test', ${now}, ${input.payload}, 'pending', 0, ${now}, ${now}, ${now})
        RETURNING ${COLUMNS}`,
    ))!;
  },
);

function* requireEnabled(userId: string, webhookId: string): Write<void> {
  const hook = yield* getWebhook(userId, webhookId);
  if (hook.disabled_at !== null) throw new ParleyError("webhook_disabled");
}

/** Part of writes that add a pending delivery. Throws `count_limit_reached`. */
function* requireRoom(webhookId: string): Write<void> {
  const row = yield* get<{ pending: number }>(
    sql`SELECT ${PENDING} AS pending FROM webhooks w WHERE w.id = ${webhookId}`,
  );
  if (row!.pending < MAX_PENDING) return;
  throw new ParleyError(
    "count_limit_reached",
    `This webhook has ${MAX_PENDING} deliveries pending. Wait until its receiver has accepted some.`,
  );
}

/**
 * Makes a delivery in any state due again. If it waits for an earlier one of its conversation, it continues to wait. Erases the
 * response body, so that the result that an Idempotency-Key keeps does not have it. Throws `webhook_not_found`, `webhook_disabled`,
 * `delivery_not_found` and `count_limit_reached`.
 */
const redeliver = write(
  { publishesEvents: true },
  function* (input: { userId: string; webhookId: string; id: string; now: number }): Write<DeliveryRow> {
    yield* requireEnabled(input.userId, input.webhookId);
    const was = yield* get<{ state: string }>(
      sql`SELECT state FROM deliveries WHERE webhook_id = ${input.webhookId} AND id = ${input.id}`,
    );
    if (!was) throw new ParleyError("delivery_not_found");
    if (was.state !== "pending") yield* requireRoom(input.webhookId);
    return (yield* get<DeliveryRow>(
      sql`UPDATE deliveries SET state = 'pending', attempts = 0, response_body = NULL, updated_at = ${input.now},
          next_at = CASE WHEN state = 'pending' AND next_at IS NULL THEN NULL ELSE CAST(${input.now} AS BIGINT) END
        WHERE webhook_id = ${input.webhookId} AND id = ${input.id} RETURNING ${COLUMNS}`,
    ))!;
  },
);

/** A webhook and its owner. */
export interface DueWebhook {
  id: string;
  user_id: string;
}

/** Lists webhooks with due deliveries. Those of paused users wait. */
export function webhooksWithDue(db: Reader, now: number): Promise<DueWebhook[]> {
  const next = (behind: Statement) =>
    sql`SELECT webhook_id FROM deliveries WHERE next_at IS NOT NULL ${behind} ORDER BY webhook_id LIMIT 1`;
  // Jumps from one webhook to the next by the index, however many deliveries each has.
  return db.all(
    sql`WITH RECURSIVE waiting (id) AS (
        SELECT (${next(sql``)}) AS id
        UNION ALL SELECT (${next(sql`AND webhook_id > waiting.id`)}) FROM waiting WHERE waiting.id IS NOT NULL)
      SELECT webhooks.id, webhooks.user_id FROM waiting CROSS JOIN webhooks
      WHERE webhooks.id = waiting.id AND ${IS_SENT_TO}
        AND EXISTS (SELECT 1 FROM deliveries d WHERE d.webhook_id = webhooks.id AND d.next_at <= ${now})`,
  );
}

/** Lists the due deliveries of a webhook, the longest due first, except those of deleted users. */
export function listDue(db: Reader, webhookId: string, now: number, limit: number): Promise<DueDelivery[]> {
  return db.all(
    sql`SELECT id, webhook_id, event_id, position, last_position, recipient_id, conversation_id, type, told_at,
        payload, attempts
      FROM deliveries
      WHERE webhook_id = ${webhookId} AND next_at <= ${now} AND recipient_id NOT IN (SELECT user_id FROM erasing)
      ORDER BY next_at LIMIT ${limit} + 0`,
  );
}

interface SettleDelivery {
  webhookId: string;
  id: string;
  state: DeliveryRow["state"];
  attempts: number;
  /** When to retry; null if it is not retried. */
  nextAt: number | null;
  status: number | null;
  error: string | null;
  responseBody: string | null;
  /** Whether the webhook is disabled, too. */
  disable: boolean;
  entry: NewEntry;
}

/**
 * Records the outcome of an attempt. After the last attempt, the next delivery of the conversation becomes due. A failure
 * changes nothing if the delivery was meanwhile made due again.
 */
const settleDelivery = write({ publishesEvents: true }, function* (input: SettleDelivery): Write<void> {
  const { webhookId, id, entry } = input;
  const isCurrent = input.state === "delivered" ? sql`attempts >= 0` : sql`attempts = ${input.attempts - 1}`;
  const row = yield* get<{ conversation_id: string }>(
    sql`UPDATE deliveries SET state = ${input.state}, attempts = ${input.attempts}, next_at = ${input.nextAt},
          last_status = ${input.status}, last_error = ${input.error},
          response_body = ${input.responseBody}, updated_at = ${entry.at}
        WHERE webhook_id = ${webhookId} AND id = ${id} AND state = 'pending' AND ${isCurrent}
        RETURNING conversation_id`,
  );
  if (!row) return;
  if (input.disable) yield* disableWebhook(webhookId, entry);
  yield* batch([
    noteFailing(webhookId, input.state === "delivered" ? null : entry.at),
    ...(input.state === "pending" ? [] : [nextOf(webhookId, row.conversation_id, entry.at)]),
  ]);
});

/** Ends a delivery without an attempt, unless it was meanwhile made due again. The next of its conversation becomes due. */
const skipDelivery = write(
  { publishesEvents: true },
  function* (input: { webhookId: string; id: string; attempts: number; now: number }): Write<void> {
    const { webhookId, now } = input;
    const row = yield* get<{ conversation_id: string }>(
      sql`UPDATE deliveries SET state = 'skipped', next_at = NULL, updated_at = ${now}
        WHERE webhook_id = ${webhookId} AND id = ${input.id} AND state = 'pending' AND attempts = ${input.attempts}
        RETURNING conversation_id`,
    );
    if (row) yield* run(nextOf(webhookId, row.conversation_id, now));
  },
);

/** Makes the first pending delivery of a conversation due. */
function nextOf(webhookId: string, conversationId: string, now: number): Statement {
  return sql`UPDATE deliveries SET next_at = ${now} WHERE webhook_id = ${webhookId} AND next_at IS NULL AND id = (
    SELECT id FROM deliveries WHERE webhook_id = ${webhookId} AND conversation_id = ${conversationId}
      AND state = 'pending'
    ORDER BY position, id LIMIT 1)`;
}

/** Holds for old deliveries that are done, or pending for a webhook that has been disabled for as long. */
const isOld = (before: number) => sql`created_at < ${before} AND (state <> 'pending'
  OR EXISTS (SELECT 1 FROM webhooks WHERE id = deliveries.webhook_id AND disabled_at < ${before}))`;

export async function hasOldDeliveries(db: Reader, before: number): Promise<boolean> {
  return (await db.get(sql`SELECT 1 AS one FROM deliveries WHERE ${isOld(before)} LIMIT 1`)) !== undefined;
}

/** Erases old deliveries, at most `limit` at a time. */
function* forgetDeliveries(input: { before: number; limit: number }): Write<void> {
  yield* run(
    sql`DELETE FROM deliveries WHERE (webhook_id, id) IN (
      SELECT webhook_id, id FROM deliveries WHERE ${isOld(input.before)} ORDER BY created_at
        LIMIT ${input.limit} + 0)`,
  );
}

/**
 * Part of other writes: erases at most `limit` rows of deleted webhooks and returns how many; fewer than `limit` means that
 * none are left.
 */
export function* forgetDeletedWebhooks(limit: number): Write<number> {
  for (let left = limit; left > 0; ) {
    const hook = yield* get<{ id: string }>(sql`SELECT id FROM deleted_webhooks ORDER BY id LIMIT 1`);
    if (!hook) return limit - left;
    left -= yield* eraseSome("deliveries", ["webhook_id", "id"], sql`webhook_id = ${hook.id}`, left);
    if (left <= 0) break;
    yield* run(sql`DELETE FROM deleted_webhooks WHERE id = ${hook.id}`);
    left--;
  }
  return limit;
}

/**
 * Part of erasing a user, after the user's events: erases deliveries of those events, including those to other users'
 * webhooks, then the user's webhooks. Returns the number of erased rows; fewer than `limit` means that none are left.
 */
export function* forgetWebhooksOf(userId: string, limit: number, now: number): Write<number> {
  const gone = yield* all<{ webhook_id: string; id: string; conversation_id: string; state: string }>(
    sql`SELECT webhook_id, id, conversation_id, state FROM deliveries WHERE recipient_id = ${userId}
      LIMIT ${limit} + 0`,
  );
  yield* batch([
    ...gone.map(
      ({ webhook_id, id }) => sql`DELETE FROM deliveries WHERE webhook_id = ${webhook_id} AND id = ${id}`,
    ),
    // Deliveries of other recipients may have waited for them.
    ...gone
      .filter(({ state }) => state === "pending")
      .map(({ webhook_id, conversation_id }) => nextOf(webhook_id, conversation_id, now)),
    sql`INSERT INTO deleted_webhooks (id) SELECT id FROM webhooks WHERE user_id = ${userId}`,
    sql`DELETE FROM webhooks WHERE user_id = ${userId}`,
  ]);
  return gone.length + (yield* forgetDeletedWebhooks(limit - gone.length));
}

export const deliveryWrites = { addTestDelivery, redeliver, settleDelivery, skipDelivery, forgetDeliveries };
