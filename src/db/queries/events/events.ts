import { EMPTY, list, padded, type Reader, type Statement, sql } from "../../sql.ts";
import { all, batch, eraseSome, type Write, write } from "../../write.ts";
import { audience } from "../visibility/visibility.ts";

/**
 * Types of events, and their recipients. A change has an event for "one" user, or for "each" user who sees it; those events
 * differ only in their recipients. For "all", the resource also looks the same to each of them, unlike a group, which shows
 * each member their own role.
 */
const RECIPIENTS = {
  "attachment.created": "all",
  "attachment.deleted": "all",
  "attachment.updated": "all",
  "contact.created": "one",
  "contact.deleted": "one",
  "contact.updated": "one",
  "conversation.updated": "one",
  "group.created": "one",
  "group.deleted": "one",
  "group.updated": "each",
  "member.created": "all",
  "member.deleted": "all",
  "member.updated": "all",
  "message.created": "all",
  "message.deleted": "all",
  "message.mentioned": "all",
  "message.updated": "all",
  "reaction.created": "all",
  "reaction.deleted": "all",
  "user.updated": "all",
  "webhook.disabled": "one",
} as const;
type ResourceEvent = keyof typeof RECIPIENTS;
export const RESOURCE_EVENTS = Object.keys(RECIPIENTS) as readonly ResourceEvent[];

/** Reports whether a change has an event of this type for each user who sees it. */
export function isShared(type: string): boolean {
  return isSameForAll(type) || RECIPIENTS[type as ResourceEvent] === "each";
}

/** Reports whether the resource of an event of this type looks the same to everybody who sees it. */
export function isSameForAll(type: string): boolean {
  return RECIPIENTS[type as ResourceEvent] === "all";
}

export const INTO_OUTBOX = sql`INSERT INTO outbox (recipient_id, type, conversation_id, created_at, payload)`;

/** Part of other writes: publishes an event to one user. The payload is JSON text. */
export function publishEvent(
  type: ResourceEvent,
  at: number,
  recipientId: string,
  conversationId: string,
  payload: string,
): Statement {
  return sql`${INTO_OUTBOX} VALUES (${recipientId}, ${type}, ${conversationId}, ${at}, ${payload})`;
}

/** Part of other writes: publishes an event to one user that refers to a message or attachment by its id. */
export function publishReferenceTo(
  recipientId: string,
  type: ResourceEvent,
  at: number,
  conversationId: string,
  id: string,
): Statement {
  return publishEvent(type, at, recipientId, conversationId, toReference(id, conversationId));
}

/**
 * Part of other writes: publishes an event to everybody who sees the message. It refers to the message or one of its
 * attachments by id, so that events contain nothing of a deleted one.
 */
export function publishReference(
  type: ResourceEvent,
  at: number,
  conversationId: string,
  id: string,
  messageId: string,
): Statement {
  const payload = toReference(id, conversationId);
  return sql`${INTO_OUTBOX} SELECT s.user_id, ${type}, s.conversation_id, ${at}, ${payload}
    ${audience(conversationId, sql`${messageId}`)}`;
}

/** Part of other writes: alerts the users whom an edit mentions, if they see the message. */
export function publishMention(
  at: number,
  conversationId: string,
  messageId: string,
  userIds: readonly string[],
): Statement {
  return sql`${INTO_OUTBOX} SELECT s.user_id, 'message.mentioned', s.conversation_id, ${at},
      ${toReference(messageId, conversationId)}
    ${audience(conversationId, sql`${messageId}`)} AND s.user_id IN (${list(padded(userIds))})`;
}

/** Part of other writes: publishes an event about the group to its members. The payload is JSON text. */
export function publishToMembers(
  type: ResourceEvent,
  at: number,
  conversationId: string,
  payload: string,
): Statement {
  return sql`${INTO_OUTBOX} SELECT s.user_id, ${type}, s.conversation_id, ${at}, ${payload}
    FROM members s WHERE s.conversation_id = ${conversationId}`;
}

/** Returns the payload of an event about a member of a group. */
export function toMemberReference(id: string, groupId: string): string {
  return JSON.stringify({ id, group_id: groupId });
}

/**
 * Returns the payload with only ids, for a recipient who no longer sees the resource, or must not get it. For an invited user, a
 * group belongs to no conversation.
 */
export function toReference(id: string, conversationId: string | null): string {
  return JSON.stringify({ id, conversation_id: conversationId });
}

export interface EventRow {
  recipient_id: string;
  number: number;
  type: string;
  /** Empty if the event belongs to no conversation. */
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
  /** The last number to return. */
  until: number;
  /** Events before the first one from this time (milliseconds) on are erased, or will be soon. */
  since: number;
  limit: number;
  /** Null means all. */
  types: readonly string[] | null;
}

/** Returns at most `limit` rows in the order of the walk. */
export function listEvents(db: Reader, walk: EventWalk): Promise<EventRow[]> {
  return db.all(eventsQuery(walk));
}

// Compare numbers, not times: the clock may have been set back, and kept events must not have gaps.
function findFirstKept(recipientId: string, since: number): Statement<{ number: number }> {
  return sql`SELECT number FROM events
    WHERE recipient_id = ${recipientId} AND created_at >= ${since} AND payload <> '' ORDER BY number LIMIT 1`;
}

const COLUMNS = sql`recipient_id, number, type, conversation_id, created_at, payload`;

function eventsQuery(walk: EventWalk): Statement<EventRow> {
  const { recipientId, cursor, newer, until, since, limit, types } = walk;
  const range = newer
    ? sql`number > ${cursor} AND number <= ${until}`
    : sql`number < ${cursor} AND number >= ${until}`;
  const chosen = types === null ? EMPTY : sql`AND type IN (${list(types)})`;
  return sql`SELECT ${COLUMNS} FROM events
    WHERE recipient_id = ${recipientId} AND ${range} AND number >= (${findFirstKept(recipientId, since)}) ${chosen}
    ORDER BY number ${newer ? sql`ASC` : sql`DESC`} LIMIT ${limit} + 0`;
}

/** Returns number and time of the recipient's last event; number 0 if there was none. */
export async function lastEvent(
  db: Reader,
  recipientId: string,
): Promise<Pick<EventRow, "number" | "created_at">> {
  const row = await db.get<Pick<EventRow, "number" | "created_at">>(
    sql`SELECT number, created_at FROM events WHERE recipient_id = ${recipientId} ORDER BY number DESC LIMIT 1`,
  );
  return row ?? { number: 0, created_at: 0 };
}

/** Returns the number of the first kept event that has a payload; undefined if there is none. */
export async function firstNumber(
  db: Reader,
  recipientId: string,
  since: number,
): Promise<number | undefined> {
  return (await db.get(findFirstKept(recipientId, since)))?.number;
}

/** Returns the position of the last event of all recipients. */
export async function lastPosition(db: Reader): Promise<number> {
  return (await db.get<{ last: number | null }>(sql`SELECT MAX(position) AS last FROM events`))?.last ?? 0;
}

/** An event with its position. */
export interface PositionedEvent extends EventRow {
  position: number;
}

/** Returns events of all recipients after this position, ordered by position. */
export function eventsAfter(db: Reader, position: number, limit: number): Promise<PositionedEvent[]> {
  return db.all(
    sql`SELECT position, recipient_id, number, type, conversation_id, created_at, payload FROM events
      WHERE position > ${position} ORDER BY position LIMIT ${limit} + 0`,
  );
}

type Published = Omit<EventRow, "number">;

/**
 * Groups successive events by the change that published them. If there are as many `rows` as requested, the last change may have
 * more events: then its events are in `rest`, or the result is undefined if there is no other change.
 */
export function groupByChange<R extends Published>(
  rows: readonly R[],
  limit: number,
): { changes: R[][]; rest: R[] | undefined } | undefined {
  const changes: R[][] = [];
  const recipients = new Set<string>();
  for (const row of rows) {
    const change = changes.at(-1);
    // A change has one event per recipient, so a second one for the same recipient belongs to the next change.
    if (change && isSameChange(change[0]!, row) && !recipients.has(row.recipient_id)) change.push(row);
    else {
      changes.push([row]);
      recipients.clear();
    }
    recipients.add(row.recipient_id);
  }
  if (rows.length < limit) return { changes, rest: undefined };
  return changes.length === 1 ? undefined : { rest: changes.pop(), changes };
}

function isSameChange(a: Published, b: Published): boolean {
  const names = ["type", "conversation_id", "created_at", "payload"] as const;
  return isShared(a.type) && names.every((name) => a[name] === b[name]);
}

/** Returns the recipients of events at these positions, without users who are being erased. */
export async function listRecipients(db: Reader, first: number, last: number): Promise<string[]> {
  const rows = await db.all<{ recipient_id: string }>(
    sql`SELECT recipient_id FROM events WHERE position >= ${first} AND position <= ${last}
      AND recipient_id NOT IN (SELECT user_id FROM erasing) ORDER BY position`,
  );
  return rows.map(({ recipient_id }) => recipient_id);
}

export async function hasUnnumbered(db: Reader): Promise<boolean> {
  return (await db.get(sql`SELECT 1 AS one FROM outbox LIMIT 1`)) !== undefined;
}

interface Unnumbered extends Published {
  transaction_id: number;
  id: number;
}

/** Returns events without a number, as whole changes: at most `limit`, unless a single change has more. */
function* listUnnumbered(limit: number): Write<Unnumbered[]> {
  for (let size = limit + 1; ; size *= 2) {
    const rows = yield* all<Unnumbered>(
      sql`SELECT transaction_id, id, recipient_id, type, conversation_id, created_at, payload FROM outbox
        ORDER BY transaction_id, id LIMIT ${size} + 0`,
    );
    const grouped = groupByChange(rows, size);
    if (grouped) return grouped.changes.flat();
  }
}

/**
 * Numbers committed events, in the order of their transactions, and returns how many. If a transaction began after another had
 * ended, its events come later; the events of a change stay together. Events of erased recipients are dropped here, because
 * the eraser would have to scan the outbox, and so conflict with every write.
 */
const numberEvents = write({ publishesEvents: true }, function* (input: { limit: number }): Write<number> {
  const rows = yield* listUnnumbered(input.limit);
  if (rows.length === 0) return 0;
  const [first, last] = [rows[0]!, rows.at(-1)!];
  // Exactly these rows, because a serializable transaction sees the same state throughout.
  const those = sql`(transaction_id, id) >= (${first.transaction_id}, ${first.id})
      AND (transaction_id, id) <= (${last.transaction_id}, ${last.id})`;
  const count = rows.length;
  // Look up each user's last number separately: a join may read all users, and so conflict with new ones.
  const lastNumber = sql`(SELECT COALESCE((SELECT MAX(e.number) FROM events e WHERE e.recipient_id = u.id), 0)
      FROM users u WHERE u.id = recipients.recipient_id)`;
  yield* batch([
    sql`UPDATE event_positions SET last = ${count} +
        CASE WHEN last < (SELECT COALESCE(MAX(position), 0) FROM events)
          THEN (SELECT MAX(position) FROM events) ELSE last END`,
    sql`INSERT INTO events (position, recipient_id, number, type, conversation_id, created_at, payload)
        WITH unnumbered AS MATERIALIZED (SELECT * FROM outbox WHERE ${those}),
          numbers AS MATERIALIZED (SELECT recipient_id AS user_id, ${lastNumber} AS last
            FROM (SELECT DISTINCT recipient_id FROM unnumbered) AS recipients)
        SELECT (SELECT last FROM event_positions) - ${count} + ROW_NUMBER() OVER (ORDER BY transaction_id, id),
          recipient_id, last + ROW_NUMBER() OVER (PARTITION BY recipient_id ORDER BY transaction_id, id),
          type, conversation_id, created_at, payload
        FROM unnumbered JOIN numbers ON user_id = recipient_id WHERE last IS NOT NULL`,
    sql`DELETE FROM outbox WHERE ${those}`,
  ]);
  return rows.length;
});

/**
 * Returns the next recipients after this one, ordered by id, and the time (milliseconds) of the first kept event of
 * each; null if none is kept.
 */
export function oldestEvents(
  db: Reader,
  after: string,
  limit: number,
): Promise<{ recipient_id: string; oldest: number | null }[]> {
  // Each step is one index lookup, however many events lie between.
  return db.all(
    sql`WITH RECURSIVE recipients (id, nth) AS (
        SELECT MIN(recipient_id), 1 FROM events WHERE recipient_id > ${after}
        UNION ALL
        SELECT (SELECT MIN(e.recipient_id) FROM events e WHERE e.recipient_id > recipients.id), nth + 1
        FROM recipients WHERE id IS NOT NULL AND nth < ${limit} + 0
      )
      SELECT id AS recipient_id, (SELECT e.created_at FROM events e WHERE e.recipient_id = recipients.id
        AND e.payload <> '' ORDER BY e.number LIMIT 1) AS oldest
      FROM recipients WHERE id IS NOT NULL ORDER BY nth`,
  );
}

/**
 * Erases the recipient's events up to the first that is not older, at most `limit`, and returns the number of rows. The
 * last event stays without its payload, because numbering continues from it.
 */
function* forgetEvents(input: { recipientId: string; before: number; limit: number }): Write<number> {
  const { recipientId, before, limit } = input;
  const first = yield* all<{ number: number; created_at: number }>(
    sql`SELECT number, created_at FROM events WHERE recipient_id = ${recipientId} ORDER BY number
      LIMIT ${limit} + 0`,
  );
  const kept = first.findIndex(({ created_at }) => created_at >= before);
  const upTo = first.at(kept === -1 ? -1 : kept - 1);
  if (kept === 0 || !upTo) return 0;
  const last = sql`(SELECT MAX(number) FROM events WHERE recipient_id = ${recipientId})`;
  const [, gone] = yield* batch([
    sql`UPDATE events SET payload = '' WHERE recipient_id = ${recipientId} AND number = ${upTo.number}
      AND number = ${last} AND payload <> ''`,
    sql`DELETE FROM events WHERE recipient_id = ${recipientId} AND number <= ${upTo.number} AND number < ${last}
      RETURNING number`,
  ]);
  return gone.length;
}

/**
 * Part of a move: if the last events were erased with their recipient, adds a placeholder row, so that positions continue
 * after those of all events that webhooks got.
 */
export function keepPosition(): Statement {
  return sql`INSERT INTO events (position, recipient_id, number, type, conversation_id, created_at, payload)
    SELECT MAX(position), '', MAX(position), '', '', 0, '' FROM (
      SELECT position FROM webhook_cursor UNION ALL SELECT since_position FROM webhooks
      UNION ALL SELECT position FROM deliveries) AS told
    HAVING MAX(position) > COALESCE((SELECT MAX(position) FROM events), 0)`;
}

/** Part of erasing a user. Returns how many were erased; fewer than `limit` means that none are left. */
export function forgetEventsOf(userId: string, limit: number): Write<number> {
  return eraseSome("events", ["recipient_id", "number"], sql`recipient_id = ${userId}`, limit);
}

export const eventWrites = { numberEvents, forgetEvents };
