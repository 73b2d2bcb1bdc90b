import { all, type Reader, type Statement, statement, type Write } from "./sql.ts";

/** What happens to resources, and is told to those who see them. */
export const RESOURCE_EVENTS = [
  "attachment.created",
  "attachment.deleted",
  "attachment.updated",
  "contact.created",
  "contact.deleted",
  "contact.updated",
  "webhook.disabled",
] as const;
type ResourceEvent = (typeof RESOURCE_EVENTS)[number];

const INTO = "INSERT INTO outbox (recipient_id, type, conversation_id, created_at, payload)";

/** Part of other writes: tells the owner of a new contact, where `condition` holds of it. `at` is milliseconds. */
export function tellOfNewContact(at: number, ownerId: string, id: string, condition = ""): Statement {
  return statement(
    `${INTO} SELECT owner_id, 'contact.created', conversation_id, ?, body FROM contacts
     WHERE owner_id = ? AND id = ? ${condition}`,
    at,
    ownerId,
    id,
  );
}

/** Part of other writes: tells one user. The payload is JSON text. */
export function tell(
  type: ResourceEvent,
  at: number,
  recipientId: string,
  conversationId: string,
  payload: string,
): Statement {
  return statement(`${INTO} VALUES (?, ?, ?, ?, ?)`, recipientId, type, conversationId, at, payload);
}

/** Part of other writes: tells everybody who sees the attachment, by grants that are there now. */
export function tellOfAttachment(
  type: ResourceEvent,
  at: number,
  conversationId: string,
  attachment: { id: string },
): Statement {
  return statement(
    `${INTO} SELECT g.user_id, '${type}', g.conversation_id, ?, ? FROM members m
     JOIN grants g ON g.user_id = m.user_id AND g.attachment_id = ? WHERE m.conversation_id = ?`,
    at,
    JSON.stringify(attachment),
    attachment.id,
    conversationId,
  );
}

export interface EventRow {
  recipient_id: string;
  number: number;
  type: string;
  /** Empty where it is of none. */
  conversation_id: string;
  created_at: number;
  /** JSON text. */
  payload: string;
}

/** A walk through the events of one recipient; numbers are its cursors. */
interface EventWalk {
  recipientId: string;
  cursor: number;
  newer: boolean;
  /** The last number that is looked at. */
  until: number;
  /** What comes before the first event of this time (milliseconds) or a later one is erased, or about to be. */
  since: number;
  limit: number;
  /** Null: all. */
  types: readonly string[] | null;
}

/** The rows in the order of the walk, at most `limit`. */
export function listEvents(db: Reader, walk: EventWalk): Promise<EventRow[]> {
  const { sql, params } = eventsQuery(walk);
  return db.all(sql, ...params);
}

// By the count, not by the clock, which may have been set back for a while: nothing is missing between two that are kept.
const FIRST_KEPT = `SELECT number FROM events
  WHERE recipient_id = ? AND created_at >= ? AND payload <> '' ORDER BY number LIMIT 1`;

export function eventsQuery({
  recipientId,
  cursor,
  newer,
  until,
  since,
  limit,
  types,
}: EventWalk): Statement {
  const chosen = types === null ? "" : `AND type IN (${types.map(() => "?").join(", ")})`;
  return statement(
    `SELECT recipient_id, number, type, conversation_id, created_at, payload FROM events
     WHERE recipient_id = ? AND ${newer ? "number > ? AND number <= ?" : "number < ? AND number >= ?"} AND number >= (${FIRST_KEPT}) ${chosen}
     ORDER BY number ${newer ? "ASC" : "DESC"} LIMIT ? + 0`,
    recipientId,
    cursor,
    until,
    recipientId,
    since,
    ...(types ?? []),
    limit,
  );
}

/** The number of the recipient's last event; 0: there was none. */
export async function lastNumber(db: Reader, recipientId: string): Promise<number> {
  const row = await db.get<{ last: number | null }>(
    "SELECT MAX(number) AS last FROM events WHERE recipient_id = ?",
    recipientId,
  );
  return row?.last ?? 0;
}

/** The number of the first event that is kept, of those with a payload; undefined: there is none. */
export async function firstNumber(
  db: Reader,
  recipientId: string,
  since: number,
): Promise<number | undefined> {
  const row = await db.get<{ number: number }>(FIRST_KEPT, recipientId, since);
  return row?.number;
}

/** The position of the last event of all. */
export async function lastPosition(db: Reader): Promise<number> {
  return (await db.get<{ last: number | null }>("SELECT MAX(position) AS last FROM events"))?.last ?? 0;
}

/** An event with its place among all. */
export interface PlacedEvent extends EventRow {
  position: number;
}

/** Events of all recipients behind this position, in the order of their positions. */
export function eventsBehind(db: Reader, position: number, limit: number): Promise<PlacedEvent[]> {
  return db.all(
    `SELECT position, recipient_id, number, type, conversation_id, created_at, payload FROM events
     WHERE position > ? ORDER BY position LIMIT ? + 0`,
    position,
    limit,
  );
}

/** Who has got events behind this position, in the order of their positions. */
export function recipientsBehind(
  db: Reader,
  position: number,
  limit: number,
): Promise<{ position: number; recipient_id: string }[]> {
  return db.all(
    "SELECT position, recipient_id FROM events WHERE position > ? ORDER BY position LIMIT ? + 0",
    position,
    limit,
  );
}

export async function hasUnnumbered(db: Reader): Promise<boolean> {
  return (await db.get("SELECT 1 AS one FROM outbox LIMIT 1")) !== undefined;
}

interface Unnumbered {
  id: number;
  recipient_id: string;
  type: string;
  conversation_id: string;
  created_at: number;
  payload: string;
}

/**
 * Gives numbers to committed events that have none yet, in the order in which they were inserted. Returns how many. What
 * one transaction left after another had ended comes behind it. Events of recipients who are erased are dropped here:
 * whoever erases them would have to look through all that wait, and so would be crossed by every write.
 */
export function* numberEvents(input: { limit: number }): Write<number> {
  const rows = yield* all<Unnumbered>(
    `SELECT id, recipient_id, type, conversation_id, created_at, payload FROM outbox
     ORDER BY id LIMIT ? + 0`,
    input.limit,
  );
  if (rows.length === 0) return 0;
  const recipients = [...new Set(rows.map((row) => row.recipient_id))];
  const [counters, ...lasts] = (yield [
    statement(
      `UPDATE event_positions SET last = ? +
         CASE WHEN last < (SELECT COALESCE(MAX(position), 0) FROM events)
           THEN (SELECT MAX(position) FROM events) ELSE last END
       RETURNING last`,
      rows.length,
    ),
    ...recipients.map((id) =>
      statement(
        "SELECT (SELECT MAX(e.number) FROM events e WHERE e.recipient_id = u.id) AS last FROM users u WHERE u.id = ?",
        id,
      ),
    ),
  ]) as { last: number | null }[][];
  const numbers = new Map(recipients.map((id, i) => [id, lasts[i]![0] && (lasts[i]![0].last ?? 0)]));
  const first = counters![0]!.last! - rows.length + 1;
  yield rows.flatMap((row, i) => {
    const drop = statement("DELETE FROM outbox WHERE id = ?", row.id);
    const last = numbers.get(row.recipient_id);
    if (last === undefined) return [drop];
    const number = last + 1;
    numbers.set(row.recipient_id, number);
    return [
      statement(
        `INSERT INTO events (position, recipient_id, number, type, conversation_id, created_at, payload)
         VALUES (?, ?, ?, ?, ?, ?, ?)`,
        first + i,
        row.recipient_id,
        number,
        row.type,
        row.conversation_id,
        row.created_at,
        row.payload,
      ),
      drop,
    ];
  });
  return rows.length;
}

// Each step is one look into the index, however many events lie between.
const OLDEST = `WITH RECURSIVE recipients (id, nth) AS (
    SELECT MIN(recipient_id), 1 FROM events WHERE recipient_id > ?
    UNION ALL
    SELECT (SELECT MIN(e.recipient_id) FROM events e WHERE e.recipient_id > recipients.id), nth + 1
    FROM recipients WHERE id IS NOT NULL AND nth < ? + 0
  )
  SELECT id AS recipient_id, (SELECT e.created_at FROM events e WHERE e.recipient_id = recipients.id
    AND e.payload <> '' ORDER BY e.number LIMIT 1) AS oldest
  FROM recipients WHERE id IS NOT NULL ORDER BY nth`;

/**
 * The next recipients behind this one, in the order of their ids, and when the first event of each that is kept happened
 * (milliseconds); null: none is.
 */
export function oldestEvents(
  db: Reader,
  after: string,
  limit: number,
): Promise<{ recipient_id: string; oldest: number | null }[]> {
  return db.all(OLDEST, after, limit);
}

/**
 * Erases the recipient's events up to the first that is not older, at most `limit`, and returns how many rows went. The last
 * one stays, without its payload: the count goes on from it.
 */
export function* forgetEvents(input: { recipientId: string; before: number; limit: number }): Write<number> {
  const { recipientId, before, limit } = input;
  const first = yield* all<{ number: number; created_at: number }>(
    "SELECT number, created_at FROM events WHERE recipient_id = ? ORDER BY number LIMIT ? + 0",
    recipientId,
    limit,
  );
  const kept = first.findIndex(({ created_at }) => created_at >= before);
  const upTo = first.at(kept === -1 ? -1 : kept - 1);
  if (kept === 0 || !upTo) return 0;
  const last = "(SELECT MAX(number) FROM events WHERE recipient_id = ?)";
  const [, gone] = yield [
    statement(
      `UPDATE events SET payload = '' WHERE recipient_id = ? AND number = ? AND number = ${last} AND payload <> ''`,
      recipientId,
      upTo.number,
      recipientId,
    ),
    statement(
      `DELETE FROM events WHERE recipient_id = ? AND number <= ? AND number < ${last} RETURNING number`,
      recipientId,
      upTo.number,
      recipientId,
    ),
  ];
  return gone!.length;
}

/**
 * Part of a move: where the last events went with their recipient a row of nobody's stands for them, so that positions go on
 * behind all that webhooks were handed.
 */
export function keepPosition(): Statement {
  return statement(
    `INSERT INTO events (position, recipient_id, number, type, conversation_id, created_at, payload)
     SELECT MAX(position), '', MAX(position), '', '', 0, '' FROM (
       SELECT position FROM webhook_cursor UNION ALL SELECT since_position FROM webhooks
       UNION ALL SELECT position FROM deliveries) AS told
     HAVING MAX(position) > COALESCE((SELECT MAX(position) FROM events), 0)`,
  );
}

/** Part of the erasing of a user. */
export function forgetEventsOf(userId: string): Statement {
  return statement("DELETE FROM events WHERE recipient_id = ?", userId);
}
