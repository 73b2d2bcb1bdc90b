import { columns, type RowOf } from "../../columns.ts";
import { NEWEST, type Page } from "../../page.ts";
import { EMPTY, list, type QuickReader, type Reader, raw, type Statement, sql } from "../../sql.ts";
import { PEER_PROFILE } from "../people/contact-rows.ts";
import { type Seat, sees, VISIBLE_END } from "../visibility/visibility.ts";

/** A reader's seat and read position, to count unread messages. */
interface Reading extends Seat {
  last_read_id: string | null;
  /** The numbers of unread messages and of mentions as one (`MENTION`); null if they must be counted one by one. */
  unread: number | null;
}

/** Unread messages, and those among them that mention the member. */
export interface Unread {
  count: number;
  mentions: number;
}

/** Unread messages are counted up to this number. */
const MAX_UNREAD = 100;
/** `unread` is the number of unread messages plus this times the number of mentions, because a subquery returns one column. */
const MENTION = 1000;

/** Selects 1 if the message `m` mentions the member `s`, otherwise null. */
const IS_MENTION = sql`CASE WHEN m.mentions IS NOT NULL AND m.mentions LIKE '%' || s.user_id || '%' THEN 1 END`;

/**
 * Counts unread messages of the member `s`, up to the limit, and those among them that mention the member. It is null if some of
 * these messages are withheld, because only `countUnread` jumps over them.
 */
const unreadUpTo = (limit: number) => sql<number | null>`CASE WHEN p.maybe_unread = 1 THEN
  (SELECT CASE WHEN MIN(u.is_seen) = 0 THEN NULL ELSE COUNT(*) + ${raw(`${MENTION}`)} * COUNT(u.is_mention) END FROM (
    SELECT CASE WHEN ${sees(sql`m.id`)} THEN 1 ELSE 0 END AS is_seen, ${IS_MENTION} AS is_mention FROM messages m
    WHERE m.conversation_id = s.conversation_id AND m.sender_id <> s.user_id AND m.type = 'text'
      AND m.id > CASE WHEN k.last_read_id > s.since_id THEN k.last_read_id ELSE s.since_id END AND m.id < ${VISIBLE_END}
    ORDER BY m.id LIMIT ${limit} + 0) AS u) ELSE 0 END`;

/** A conversation as one of its members sees it. */
const CONVERSATION = columns({
  user_id: sql<string>`s.user_id`,
  conversation_id: sql<string>`s.conversation_id`,
  since_id: sql<string>`s.since_id`,
  /** Null if it is not listed in the member's inbox. */
  position: sql<string | null>`p.position`,
  is_pinned: sql<number | null>`p.is_pinned`,
  is_archived: sql<number | null>`p.is_archived`,
  /** The contact of a direct conversation; null for others. */
  contact_id: sql<string | null>`s.contact_id`,
  contact_joined: sql<number>`s.contact_joined`,
  /** The group of a group conversation; null for others. */
  group_id: sql<string | null>`s.group_id`,
  group_name: sql<string | null>`g.name`,
  group_avatar_url: sql<string | null>`g.avatar_url`,
  /** Milliseconds. */
  joined_at: sql<number>`s.joined_at`,
  last_read_id: sql<string | null>`k.last_read_id`,
  muted_until: sql<number | null>`k.muted_until`,
  /** The version of the settings. */
  version: sql<number | null>`k.version`,
  /** JSON text of the contact. */
  contact: sql<string | null>`c.body`,
  /** What the contact shows of the user with its name. */
  profile: PEER_PROFILE,
  /** The last message that the contact has disclosed as read; null if the member may not know. */
  contact_read_id: sql<string | null>`(SELECT o.disclosed_read_id FROM marks o
    WHERE o.user_id = c.peer_id AND o.conversation_id = s.conversation_id
      AND NOT EXISTS (SELECT 1 FROM erasing WHERE user_id = o.user_id))`,
  /** As in `Reading`. */
  unread: unreadUpTo(MAX_UNREAD),
});
export type ConversationRow = RowOf<typeof CONVERSATION>;

const DETAILS = sql`LEFT JOIN marks k ON k.user_id = s.user_id AND k.conversation_id = s.conversation_id
  LEFT JOIN contacts c ON c.owner_id = s.user_id AND c.id = s.contact_id
  LEFT JOIN groups g ON g.id = s.group_id`;

/** Finds conversations that the user is a member of. */
export function findConversations(
  db: QuickReader,
  userId: string,
  ids: readonly string[],
): Promise<ConversationRow[]> {
  const found = sql`SELECT ${CONVERSATION} FROM members s
    LEFT JOIN places p ON p.user_id = s.user_id AND p.conversation_id = s.conversation_id ${DETAILS}
    WHERE s.user_id = ${userId} AND s.conversation_id IN (${list(ids)})`;
  return CONVERSATION.all(db, found);
}

/** A part of an inbox that has a separate index; undefined means all of it. */
export type InboxPart = "unread" | "pinned" | "archived" | undefined;

const PARTS = {
  unread: sql`AND p.maybe_unread = 1`,
  pinned: sql`AND p.is_pinned = 1`,
  archived: sql`AND p.is_archived = 1`,
};

/** Returns the next conversations of the inbox, most recent activity first; cursors are positions. */
export function listInbox(
  db: QuickReader,
  userId: string,
  part: InboxPart,
  page: Page,
): Promise<ConversationRow[]> {
  return CONVERSATION.all(db, inboxQuery(userId, part, page));
}

export function inboxQuery(
  userId: string,
  part: InboxPart,
  { cursor, newer, limit }: Page,
): Statement<ConversationRow> {
  const walk = newer
    ? sql`p.position > ${cursor} ORDER BY p.position ASC`
    : sql`p.position < ${cursor} ORDER BY p.position DESC`;
  return sql`SELECT ${CONVERSATION} FROM places p
    JOIN members s ON s.user_id = p.user_id AND s.conversation_id = p.conversation_id ${DETAILS}
    WHERE p.user_id = ${userId} ${part ? PARTS[part] : EMPTY} AND ${walk} LIMIT ${limit} + 0`;
}

interface CountedMessage {
  id: string;
  is_seen: number;
  /** 1 if it mentions the member, otherwise null. */
  is_mention: number | null;
  /** The end of the last withheld run that starts before the message; null if there is none. */
  run_end: string | null;
}

/** Counts the messages of others that the member sees after the last read one, up to 100. */
export async function countUnread(db: Reader, row: Reading): Promise<Unread> {
  const { unread } = row;
  if (unread === null) return walkUnread(db, row, MAX_UNREAD);
  return { count: unread % MENTION, mentions: Math.floor(unread / MENTION) };
}

/** Counts message by message, and jumps over withheld ones. */
async function walkUnread(db: Reader, row: Reading, limit: number): Promise<Unread> {
  const { last_read_id, since_id } = row;
  let count = 0;
  let mentions = 0;
  for (let cursor = last_read_id !== null && last_read_id > since_id ? last_read_id : since_id; ; ) {
    const wanted = limit - count;
    const messages = await db.all(unreadQuery(row, cursor, wanted));
    for (const { is_seen, is_mention } of messages) {
      count += is_seen;
      mentions += is_seen * (is_mention ?? 0);
    }
    if (messages.length < wanted || count === limit) return { count, mentions };
    const last = messages.at(-1)!;
    cursor = last.is_seen === 1 ? last.id : last.run_end!;
  }
}

export function unreadQuery(
  { user_id, conversation_id }: Seat,
  after: string,
  limit: number,
): Statement<CountedMessage> {
  return sql`SELECT m.id, CASE WHEN ${sees(sql`m.id`)} THEN 1 ELSE 0 END AS is_seen,
      ${IS_MENTION} AS is_mention, (SELECT w.to_id FROM withheld w
      WHERE w.user_id = s.user_id AND w.conversation_id = s.conversation_id AND w.from_id <= m.id
      ORDER BY w.from_id DESC LIMIT 1) AS run_end
    FROM members s JOIN messages m ON m.conversation_id = s.conversation_id
    WHERE s.conversation_id = ${conversation_id} AND s.user_id = ${user_id} AND m.id > ${after}
      AND m.sender_id <> s.user_id AND m.type = 'text' ORDER BY m.id LIMIT ${limit} + 0`;
}

/** How many conversations are read at a time to count those with unread messages. */
const COUNTED_AT_ONCE = 100;

/** Counts the user's conversations with unread messages that are not muted, up to 100. Looks at a limited number. */
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
      if ((row.unread ?? (await walkUnread(db, row, 1)).count) > 0) count++;
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
  return sql`SELECT s.user_id, s.conversation_id, s.since_id, k.last_read_id, p.position, ${unreadUpTo(1)} AS unread
    FROM places p JOIN members s ON s.user_id = p.user_id AND s.conversation_id = p.conversation_id
    LEFT JOIN marks k ON k.user_id = s.user_id AND k.conversation_id = s.conversation_id
    WHERE p.user_id = ${userId} AND p.maybe_unread = 1 AND p.position < ${cursor}
      AND COALESCE(k.muted_until, 0) <= ${now} ORDER BY p.position DESC LIMIT ${COUNTED_AT_ONCE} + 0`;
}
