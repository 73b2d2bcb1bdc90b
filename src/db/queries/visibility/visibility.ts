import type { Columns } from "../../columns.ts";
import { EMPTY, list, padded, type QuickReader, type Reader, type Statement, sql } from "../../sql.ts";

/**
 * Holds if the member `s` sees the message with this id (a column or a parameter). This is the only rule for who sees a
 * message, its files, its events and everything that refers to it; docs/sharing.md describes it. It takes one lookup, however
 * many messages are withheld, because the runs of a member do not overlap.
 */
export function sees(messageId: Statement): Statement {
  return sql`${messageId} > s.since_id AND ${messageId} > COALESCE((SELECT w.to_id FROM withheld w
    WHERE w.user_id = s.user_id AND w.conversation_id = s.conversation_id AND w.from_id <= ${messageId}
    ORDER BY w.from_id DESC LIMIT 1), '')`;
}

/** Selects the members of a conversation who see the message, as `s`. */
export function audience(conversationId: string, messageId: Statement): Statement {
  return sql`FROM members s WHERE s.conversation_id = ${conversationId} AND ${sees(messageId)}`;
}

/** Returns those of the users who see the message. */
export async function listSeeing(
  db: Reader,
  conversationId: string,
  messageId: string,
  userIds: readonly string[],
): Promise<string[]> {
  const rows = await db.all<{ user_id: string }>(
    sql`SELECT s.user_id ${audience(conversationId, sql`${messageId}`)} AND s.user_id IN (${list(padded(userIds))})`,
  );
  return rows.map(({ user_id }) => user_id);
}

/** A member's seat, as a walk through a conversation needs it. */
export interface Seat {
  user_id: string;
  conversation_id: string;
  /** The member sees only messages with a greater id. */
  since_id: string;
}

/** A walk through a conversation, away from the cursor. The message of the cursor is not part of it. */
export interface Walk {
  cursor: string;
  newer: boolean;
  limit: number;
}

/** Selects where the messages that the member `s` may see end: at a withheld run that no message follows. */
export const VISIBLE_END = sql`COALESCE((SELECT CASE WHEN NOT EXISTS (SELECT 1 FROM messages x
      WHERE x.conversation_id = w.conversation_id AND x.id > w.to_id) THEN w.from_id END
    FROM withheld w WHERE w.user_id = s.user_id AND w.conversation_id = s.conversation_id
    ORDER BY w.from_id DESC LIMIT 1), '~')`;

/** Selects a value of the last of the member's runs `w` for which the condition holds. */
function lastRun(value: Statement, { user_id, conversation_id }: Seat, condition: Statement): Statement {
  return sql`(SELECT ${value} FROM withheld w WHERE w.user_id = ${user_id} AND w.conversation_id = ${conversation_id}
    AND ${condition} ORDER BY w.from_id DESC LIMIT 1)`;
}

/** Selects where a walk to older messages begins: before the run that has the cursor, or that ends directly before it. */
function olderStart(seat: Seat, cursor: string): Statement {
  const isLast = sql`NOT EXISTS (SELECT 1 FROM messages x
    WHERE x.conversation_id = w.conversation_id AND x.id > w.to_id AND x.id < ${cursor})`;
  const run = lastRun(sql`CASE WHEN ${isLast} THEN w.from_id END`, seat, sql`w.from_id < ${cursor}`);
  return sql`COALESCE(${run}, ${cursor})`;
}

/**
 * Selects the next messages of a walk. The last column is null if the member sees the message; otherwise it is the end of the
 * withheld run that covers it. Messages that are later than all runs are not looked up in them.
 */
function walkQuery(columns: Statement, seat: Seat, { cursor, newer, limit }: Walk): Statement<unknown[]> {
  const { conversation_id, since_id } = seat;
  const start = olderStart(seat, cursor);
  const range = newer
    ? sql`m.id > ${cursor < since_id ? since_id : cursor}`
    : sql`m.id < ${start} AND m.id > ${since_id}`;
  const isNear = newer ? sql`w.from_id > ''` : sql`w.from_id < ${start}`;
  const end = newer ? sql`w.to_id` : sql`w.from_id`;
  return sql`SELECT ${columns}, CASE WHEN m.id <= ${lastRun(sql`w.to_id`, seat, isNear)}
      THEN ${lastRun(sql`CASE WHEN w.to_id >= m.id THEN ${end} END`, seat, sql`w.from_id <= m.id`)} END
    FROM messages m LEFT JOIN message_bodies b ON b.id = m.body_id
    WHERE m.conversation_id = ${conversation_id} AND ${range}
    ORDER BY m.id ${newer ? sql`ASC` : sql`DESC`} LIMIT ${limit} + 0`;
}

/**
 * Returns the next messages that the member sees, at most `limit`, in the order of the walk. Jumps over runs of withheld
 * messages, so that a blocked sender cannot slow their victim down. `columns` are of the message `m` and its body `b`.
 */
export async function walkVisible<R extends { id: string }>(
  db: QuickReader,
  columns: Columns<R>,
  seat: Seat,
  walk: Walk,
): Promise<R[]> {
  const found: R[] = [];
  for (let { cursor } = walk; ; ) {
    const wanted = walk.limit - found.length;
    const rows = await db.allValues(walkQuery(columns, seat, { ...walk, cursor, limit: wanted }));
    let runEnd: string | null = null;
    for (const row of rows) {
      runEnd = row.at(-1) as string | null;
      if (runEnd === null) found.push(columns.toRow(row));
    }
    if (rows.length < wanted || found.length === walk.limit) return found;
    cursor = runEnd ?? found.at(-1)!.id;
  }
}

/**
 * Selects the newest messages that a user sees in each of these conversations, at most `limit` in each, from the newest on. A step
 * of the recursion looks up the next older message, and jumps over a run of withheld ones as `walkVisible` does. `columns` are of the
 * message `m` and its body `b`.
 */
export function newestQuery(
  columns: Statement,
  userId: string,
  conversationIds: readonly string[],
  limit: number,
  withoutSystem = false,
): Statement {
  const older = (condition: Statement) => sql`(SELECT m.id FROM messages m
    WHERE m.conversation_id = s.conversation_id AND m.id > s.since_id ${condition}
      ${withoutSystem ? sql`AND m.type = 'text'` : EMPTY} ORDER BY m.id DESC LIMIT 1)`;
  const runStart = sql`(SELECT CASE WHEN w.to_id >= s.id THEN w.from_id END FROM withheld w
    WHERE w.user_id = s.user_id AND w.conversation_id = s.conversation_id AND w.from_id <= s.id
    ORDER BY w.from_id DESC LIMIT 1)`;
  const seen = sql`s.seen + CASE WHEN ${sees(sql`s.id`)} THEN 1 ELSE 0 END`;
  return sql`WITH RECURSIVE s (user_id, conversation_id, since_id, seen, id) AS (
      SELECT s.user_id, s.conversation_id, s.since_id, 0, ${older(EMPTY)} FROM members s
      WHERE s.user_id = ${userId} AND s.conversation_id IN (${list(padded(conversationIds))})
      UNION ALL
      SELECT s.user_id, s.conversation_id, s.since_id, ${seen}, ${older(sql`AND m.id < COALESCE(${runStart}, s.id)`)}
      FROM s WHERE s.id IS NOT NULL AND ${seen} < ${limit} + 0)
    SELECT ${columns} FROM s JOIN messages m ON m.conversation_id = s.conversation_id AND m.id = s.id
    LEFT JOIN message_bodies b ON b.id = m.body_id WHERE ${sees(sql`m.id`)}`;
}
