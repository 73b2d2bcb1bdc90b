import { list, type Reader, type Statement, sql } from "../sql.ts";

/**
 * Holds if the member `s` sees the message of this id (a column or a parameter): the only rule of who sees a message, its
 * files, its events and everything that refers to it. docs/sharing.md has it in words. One lookup, however many messages
 * are withheld, because the runs of a member do not overlap.
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
    sql`SELECT s.user_id ${audience(conversationId, sql`${messageId}`)} AND s.user_id IN (${list(userIds)})`,
  );
  return rows.map(({ user_id }) => user_id);
}

/** What a walk through a conversation needs of its member. */
export interface Seat {
  user_id: string;
  conversation_id: string;
  /** The member sees only messages with a greater id. */
  since_id: string;
}

/** The end of the run that covers the message `m`, on the side where a walk leaves it; null if the member sees it. */
function leaveRun({ user_id }: Seat, newer: boolean): Statement {
  return sql`(SELECT CASE WHEN w.to_id >= m.id THEN ${newer ? sql`w.to_id` : sql`w.from_id`} END FROM withheld w
    WHERE w.user_id = ${user_id} AND w.conversation_id = m.conversation_id AND w.from_id <= m.id
    ORDER BY w.from_id DESC LIMIT 1)`;
}

interface Walked {
  id: string;
  run_end: string | null;
}

/** A walk through a conversation, away from the cursor, which is not part of it. */
export interface Walk {
  cursor: string;
  newer: boolean;
  limit: number;
}

function walkQuery<R>(
  columns: Statement<R>,
  seat: Seat,
  { cursor, newer, limit }: Walk,
): Statement<R & Walked> {
  const from = newer && cursor < seat.since_id ? seat.since_id : cursor;
  const range = newer ? sql`m.id > ${from}` : sql`m.id < ${from} AND m.id > ${seat.since_id}`;
  return sql`SELECT ${columns}, ${leaveRun(seat, newer)} AS run_end
    FROM messages m LEFT JOIN message_bodies b ON b.id = m.body_id
    WHERE m.conversation_id = ${seat.conversation_id} AND ${range}
    ORDER BY m.id ${newer ? sql`ASC` : sql`DESC`} LIMIT ${limit} + 0`;
}

/**
 * Returns the next messages that the member sees, at most `limit`, in the order of the walk. Jumps over a run of withheld
 * messages, so that a blocked sender's cost their victim nothing. `columns` are those of the message `m` with its id, and of its body `b`.
 */
export async function walkVisible<R extends { id: string }>(
  db: Reader,
  columns: Statement<R>,
  seat: Seat,
  walk: Walk,
): Promise<R[]> {
  const found: R[] = [];
  for (let { cursor } = walk; ; ) {
    const wanted = walk.limit - found.length;
    const rows = await db.all(walkQuery(columns, seat, { ...walk, cursor, limit: wanted }));
    for (const row of rows) if (row.run_end === null) found.push(row);
    const last = rows.at(-1);
    if (rows.length < wanted || found.length === walk.limit) return found;
    cursor = last!.run_end ?? last!.id;
  }
}
