import { NEWEST, type Page } from "../../page.ts";
import { EMPTY, list, type QuickReader, type Reader, type Statement, sql } from "../../sql.ts";
import { type Seat, sees, VISIBLE_END } from "../visibility/visibility.ts";

/** What counting unread messages needs of their reader. */
interface Reading extends Seat {
  last_read_id: string | null;
  /** How many messages are unread; null if they must be counted one by one. */
  unread: number | null;
}

/** A conversation as one of its members has it. */
export interface ConversationRow extends Reading {
  /** Null if it is not listed in the member's inbox. */
  position: string | null;
  is_pinned: number | null;
  is_archived: number | null;
  /** Of a direct conversation; null for others. */
  contact_id: string | null;
  contact_joined: number;
  /** Of a group; null for others. */
  group_id: string | null;
  group_name: string | null;
  group_avatar_url: string | null;
  /** Milliseconds. */
  joined_at: number;
  muted_until: number | null;
  /** Of the settings. */
  version: number | null;
  /** JSON text of the contact. */
  contact: string | null;
  /** How far the contact has disclosed reading; null if the member may not know. */
  contact_read_id: string | null;
}

/** The most unread messages that are counted. */
const MAX_UNREAD = 100;

/**
 * Counts up to so many unread messages of the member `s`. If some of these messages are withheld, it is null: only
 * `countUnread` jumps over them.
 */
const unreadUpTo = (limit: number) => sql`CASE WHEN p.maybe_unread = 1 THEN
  (SELECT CASE WHEN MIN(u.is_seen) = 0 THEN NULL ELSE COUNT(*) END FROM (
    SELECT CASE WHEN ${sees(sql`m.id`)} THEN 1 ELSE 0 END AS is_seen FROM messages m
    WHERE m.conversation_id = s.conversation_id AND m.sender_id <> s.user_id AND m.type = 'text'
      AND m.id > CASE WHEN k.last_read_id > s.since_id THEN k.last_read_id ELSE s.since_id END AND m.id < ${VISIBLE_END}
    ORDER BY m.id LIMIT ${limit} + 0) AS u) ELSE 0 END AS unread`;

type ConversationValues = [
  user_id: string,
  conversation_id: string,
  since_id: string,
  position: string | null,
  is_pinned: number | null,
  is_archived: number | null,
  contact_id: string | null,
  contact_joined: number,
  group_id: string | null,
  joined_at: number,
  last_read_id: string | null,
  muted_until: number | null,
  version: number | null,
  contact: string | null,
  contact_read_id: string | null,
  unread: number | null,
  group_name: string | null,
  group_avatar_url: string | null,
];
const COLUMNS = sql`s.user_id, s.conversation_id, s.since_id, p.position, p.is_pinned, p.is_archived,
  s.contact_id, s.contact_joined, s.group_id, s.joined_at, k.last_read_id, k.muted_until, k.version, c.body AS contact,
  (SELECT o.disclosed_read_id FROM marks o WHERE o.user_id = c.peer_id AND o.conversation_id = s.conversation_id
    AND NOT EXISTS (SELECT 1 FROM erasing WHERE user_id = o.user_id)) AS contact_read_id, ${unreadUpTo(MAX_UNREAD)},
  g.name, g.avatar_url`;
const DETAILS = sql`LEFT JOIN marks k ON k.user_id = s.user_id AND k.conversation_id = s.conversation_id
  LEFT JOIN contacts c ON c.owner_id = s.user_id AND c.id = s.contact_id
  LEFT JOIN groups g ON g.id = s.group_id`;

function toRow(values: ConversationValues): ConversationRow {
  return {
    user_id: values[0],
    conversation_id: values[1],
    since_id: values[2],
    position: values[3],
    is_pinned: values[4],
    is_archived: values[5],
    contact_id: values[6],
    contact_joined: values[7],
    group_id: values[8],
    joined_at: values[9],
    last_read_id: values[10],
    muted_until: values[11],
    version: values[12],
    contact: values[13],
    contact_read_id: values[14],
    unread: values[15],
    group_name: values[16],
    group_avatar_url: values[17],
  };
}

/** Finds conversations that the user is a member of. */
export async function findConversations(
  db: QuickReader,
  userId: string,
  ids: readonly string[],
): Promise<ConversationRow[]> {
  const found = await db.allValues(
    sql<ConversationValues>`SELECT ${COLUMNS} FROM members s
      LEFT JOIN places p ON p.user_id = s.user_id AND p.conversation_id = s.conversation_id ${DETAILS}
      WHERE s.user_id = ${userId} AND s.conversation_id IN (${list(ids)})`,
  );
  return found.map(toRow);
}

/** The part of an inbox that has an index of its own; without any, all of it. */
export type InboxPart = "unread" | "pinned" | "archived" | undefined;

const PARTS = {
  unread: sql`AND p.maybe_unread = 1`,
  pinned: sql`AND p.is_pinned = 1`,
  archived: sql`AND p.is_archived = 1`,
};

/** Returns the next conversations of the inbox, most recent activity first; cursors are positions. */
export async function listInbox(
  db: QuickReader,
  userId: string,
  part: InboxPart,
  page: Page,
): Promise<ConversationRow[]> {
  return (await db.allValues(inboxQuery(userId, part, page))).map(toRow);
}

export function inboxQuery(
  userId: string,
  part: InboxPart,
  { cursor, newer, limit }: Page,
): Statement<ConversationValues> {
  const walk = newer
    ? sql`p.position > ${cursor} ORDER BY p.position ASC`
    : sql`p.position < ${cursor} ORDER BY p.position DESC`;
  return sql`SELECT ${COLUMNS} FROM places p
    JOIN members s ON s.user_id = p.user_id AND s.conversation_id = p.conversation_id ${DETAILS}
    WHERE p.user_id = ${userId} ${part ? PARTS[part] : EMPTY} AND ${walk} LIMIT ${limit} + 0`;
}

interface CountedMessage {
  id: string;
  is_seen: number;
  /** The end of the run that starts last before the message; null if there is none. */
  run_end: string | null;
}

/** Counts the messages of others that the member sees after the last one that was read, up to 100. */
export async function countUnread(db: Reader, row: Reading): Promise<number> {
  return row.unread ?? walkUnread(db, row, MAX_UNREAD);
}

/** Jumps over withheld messages. */
async function walkUnread(db: Reader, row: Reading, limit: number): Promise<number> {
  const { last_read_id, since_id } = row;
  let count = 0;
  for (let cursor = last_read_id !== null && last_read_id > since_id ? last_read_id : since_id; ; ) {
    const wanted = limit - count;
    const messages = await db.all(unreadQuery(row, cursor, wanted));
    for (const { is_seen } of messages) count += is_seen;
    if (messages.length < wanted || count === limit) return count;
    const last = messages.at(-1)!;
    cursor = last.is_seen === 1 ? last.id : last.run_end!;
  }
}

export function unreadQuery(
  { user_id, conversation_id }: Seat,
  after: string,
  limit: number,
): Statement<CountedMessage> {
  return sql`SELECT m.id, CASE WHEN ${sees(sql`m.id`)} THEN 1 ELSE 0 END AS is_seen, (SELECT w.to_id FROM withheld w
      WHERE w.user_id = s.user_id AND w.conversation_id = s.conversation_id AND w.from_id <= m.id
      ORDER BY w.from_id DESC LIMIT 1) AS run_end
    FROM members s JOIN messages m ON m.conversation_id = s.conversation_id
    WHERE s.conversation_id = ${conversation_id} AND s.user_id = ${user_id} AND m.id > ${after}
      AND m.sender_id <> s.user_id AND m.type = 'text' ORDER BY m.id LIMIT ${limit} + 0`;
}

/** How many conversations are read at a time to count those with unread messages. */
const COUNTED_AT_ONCE = 100;

/** Counts the user's conversations with unread messages that are not muted, up to 100, among so many. */
export async function countUnreadConversations(
  db: Reader,
  userId: string,
  now: number,
  among: number,
): Promise<number> {
  let count = 0;
  let cursor = NEWEST;
  for (let looked = 0; looked < among; looked += COUNTED_AT_ONCE) {
    const rows = await db.all(maybeUnreadQuery(userId, now, cursor));
    for (const row of rows) {
      if ((row.unread ?? (await walkUnread(db, row, 1))) > 0) count++;
      if (count === MAX_UNREAD) return count;
    }
    if (rows.length < COUNTED_AT_ONCE) return count;
    cursor = rows.at(-1)!.position;
  }
  return count;
}

/** Selects the conversations that may have unread messages and are not muted, most recent first. */
export function maybeUnreadQuery(
  userId: string,
  now: number,
  cursor: string,
): Statement<Reading & { position: string }> {
  return sql`SELECT s.user_id, s.conversation_id, s.since_id, k.last_read_id, p.position, ${unreadUpTo(1)}
    FROM places p JOIN members s ON s.user_id = p.user_id AND s.conversation_id = p.conversation_id
    LEFT JOIN marks k ON k.user_id = s.user_id AND k.conversation_id = s.conversation_id
    WHERE p.user_id = ${userId} AND p.maybe_unread = 1 AND p.position < ${cursor}
      AND COALESCE(k.muted_until, 0) <= ${now} ORDER BY p.position DESC LIMIT ${COUNTED_AT_ONCE} + 0`;
}
