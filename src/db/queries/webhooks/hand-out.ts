import { list, type Reader, raw, type Statement, sql } from "../../sql.ts";
import { batch, get, type Write } from "../../write.ts";
import { eventsAfter, type PositionedEvent } from "../events/events.ts";

/**
 * The maximum number of pending deliveries of one webhook. A webhook that reaches it gets a backlog: it gets later events
 * from that position, once it has room again.
 */
export const MAX_PENDING = 1000;

/** The number of pending deliveries of the webhook `w`, counted up to the limit. */
export const PENDING = sql`(SELECT COUNT(*) FROM (SELECT 1 FROM deliveries d
  WHERE d.webhook_id = w.id AND d.state = 'pending' LIMIT ${raw(`${MAX_PENDING}`)}) AS few)`;

/** The columns that decide which events a webhook is handed. */
export interface ListeningRow {
  id: string;
  user_id: string;
  /** Space-separated; null means all. */
  types: string | null;
  /** Space-separated: the scopes that limit the families of events that it gets. */
  scopes: string;
  /** 1 if it gets the events of all users. */
  all_users: number;
  /** Events up to this position are older than the webhook, so it does not get them. */
  since_position: number;
  /** The position of the first event of its backlog; null if it has none. */
  backlog_from: number | null;
  /** The number of pending deliveries, counted up to the limit. */
  pending: number;
}

const COLUMNS = sql`id, user_id, types, scopes, all_users, since_position, backlog_from`;
// Webhooks with a backlog get nothing here, so their deliveries are not counted.
const LISTENING = sql`SELECT ${COLUMNS}, CASE WHEN backlog_from IS NULL THEN ${PENDING} ELSE 0 END AS pending
  FROM webhooks w`;

/** Lists enabled webhooks that may want events of these users, including those with a backlog. */
export async function listListening(db: Reader, userIds: readonly string[]): Promise<ListeningRow[]> {
  const own = sql<ListeningRow>`${LISTENING}
    WHERE user_id IN (${list(userIds)}) AND all_users = 0 AND disabled_at IS NULL`;
  const all = sql<ListeningRow>`${LISTENING} WHERE all_users = 1 AND disabled_at IS NULL`;
  return [...(await db.all(own)), ...(await db.all(all))];
}

/**
 * Returns the lowest position after which a webhook without a backlog wants events; undefined if all webhooks have a
 * backlog.
 */
export async function firstListening(db: Reader): Promise<number | undefined> {
  // Not MIN: PostgreSQL may read all of the webhooks for it.
  const row = await db.get<{ since: number }>(
    sql`SELECT since_position AS since FROM webhooks WHERE disabled_at IS NULL AND backlog_from IS NULL
      ORDER BY since_position LIMIT 1`,
  );
  return row?.since;
}

/** Lists enabled webhooks with a backlog, ordered by id. */
export function listWithBacklog(
  db: Reader,
  after: string,
  limit: number,
): Promise<(ListeningRow & { backlog_from: number })[]> {
  return db.all(
    sql`SELECT ${COLUMNS}, ${PENDING} AS pending FROM webhooks w
      WHERE disabled_at IS NULL AND backlog_from IS NOT NULL AND id > ${after} ORDER BY id LIMIT ${limit} + 0`,
  );
}

/** Lists the events of a webhook's backlog, up to the cursor. */
export async function listBacklog(
  db: Reader,
  { user_id, all_users, backlog_from }: ListeningRow & { backlog_from: number },
  cursor: number,
  limit: number,
): Promise<PositionedEvent[]> {
  if (all_users === 1) {
    const events = await eventsAfter(db, backlog_from - 1, limit);
    return events.filter(({ position }) => position <= cursor);
  }
  // Find events by the recipient's number, which has an index. An event that has been erased is older than all kept ones. The
  // sum keeps PostgreSQL from scanning all positions up to the cursor.
  return db.all(
    sql`SELECT position, recipient_id, number, type, conversation_id, created_at, payload FROM events
      WHERE recipient_id = ${user_id} AND number >= COALESCE((SELECT number FROM events
        WHERE position = ${backlog_from}), 0)
        AND position + 0 <= ${cursor} ORDER BY number LIMIT ${limit} + 0`,
  );
}

/** Returns the position up to which events were handed to webhooks without a backlog. */
export async function findCursor(db: Reader): Promise<number> {
  const row = await db.get<{ position: number }>(sql`SELECT position FROM webhook_cursor WHERE id = 1`);
  return row?.position ?? 0;
}

/** An event for a webhook, or the events of a change. */
export interface NewDelivery {
  id: string;
  webhookId: string;
  eventId: string;
  position: number;
  /** The position of the last event of a change; null for one event. */
  lastPosition: number | null;
}

export const INTO_DELIVERIES = sql`INSERT INTO deliveries (id, webhook_id, event_id, position, last_position,
  recipient_id, conversation_id, type, told_at, payload, state, attempts, next_at, created_at, updated_at)`;

/** Adds a delivery of the first of its events that still exists. Adds none if all were erased after they were read. */
function addDelivery(delivery: NewDelivery, now: number): Statement {
  const { id, webhookId, eventId, position, lastPosition } = delivery;
  return sql`${INTO_DELIVERIES} SELECT ${id}, w.id, ${eventId}, e.position, CAST(${lastPosition} AS BIGINT),
      ${lastPosition === null ? sql`e.recipient_id` : sql`''`}, e.conversation_id, e.type, e.created_at, e.payload,
      'pending', 0, CASE WHEN w.public_key IS NULL AND EXISTS (SELECT 1 FROM deliveries d WHERE d.webhook_id = w.id
        AND d.conversation_id = e.conversation_id AND d.state = 'pending')
          THEN NULL ELSE CAST(${now} AS BIGINT) END, ${now}, ${now}
    FROM webhooks w JOIN events e ON e.position = (SELECT f.position FROM events f WHERE f.position >= ${position}
      AND f.position <= ${lastPosition ?? position} AND f.payload <> '' ORDER BY f.position LIMIT 1)
    WHERE w.id = ${webhookId} AND w.disabled_at IS NULL`;
}

interface AddDeliveries {
  deliveries: readonly NewDelivery[];
  /** Webhooks that get a backlog, each with the position of its first event. */
  fallen: readonly { webhookId: string; position: number }[];
  /** Webhooks with a backlog that want some of these events. */
  behind: readonly string[];
  /** Events up to this position were skipped, because no webhook without a backlog wanted them. */
  since: number;
  /** The cursor when the events were read, and the new one. */
  from: number;
  to: number;
  now: number;
}

/**
 * Hands events to webhooks and moves the cursor. Does nothing if another node has moved it, or if a webhook has meanwhile
 * caught up: it would miss these events or the skipped ones.
 */
function* addDeliveries(input: AddDeliveries): Write<void> {
  const { deliveries, fallen, behind, since, from, to, now } = input;
  if (since > from) {
    const wanting = yield* get(
      sql`SELECT 1 AS one FROM webhooks WHERE since_position < ${since} AND disabled_at IS NULL
        AND backlog_from IS NULL LIMIT 1`,
    );
    if (wanting) return;
  }
  if (behind.length > 0) {
    const caughtUp = yield* get(
      sql`SELECT 1 AS one FROM webhooks WHERE id IN (${list(behind)}) AND backlog_from IS NULL LIMIT 1`,
    );
    if (caughtUp) return;
  }
  const moved = yield* get(
    sql`INSERT INTO webhook_cursor (id, position) VALUES (1, ${to})
      ON CONFLICT (id) DO UPDATE SET position = excluded.position WHERE webhook_cursor.position = ${from}
      RETURNING position`,
  );
  if (!moved) return;
  yield* batch([
    ...deliveries.map((delivery) => addDelivery(delivery, now)),
    ...fallen.map(
      ({ webhookId, position }) =>
        sql`UPDATE webhooks SET backlog_from = ${position} WHERE id = ${webhookId}`,
    ),
  ]);
}

interface AddBacklog {
  webhookId: string;
  deliveries: readonly NewDelivery[];
  /** The start of the backlog when the events were read, and the new one; null if the webhook has caught up. */
  from: number;
  to: number | null;
  /** The cursor when the events were read. */
  cursor: number;
  now: number;
}

/** Hands events of its backlog to a webhook. Does nothing if another node has already done so, or has moved the cursor. */
function* addBacklog(input: AddBacklog): Write<void> {
  const moved = yield* get(
    sql`UPDATE webhooks SET backlog_from = ${input.to} WHERE id = ${input.webhookId}
      AND backlog_from = ${input.from} AND disabled_at IS NULL
      AND (SELECT position FROM webhook_cursor WHERE id = 1) = ${input.cursor} RETURNING id`,
  );
  if (moved) yield* batch(input.deliveries.map((delivery) => addDelivery(delivery, input.now)));
}

export const handOutWrites = { addDeliveries, addBacklog };
