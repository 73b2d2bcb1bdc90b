import { ParleyError } from "../../../errors.ts";
import { list, padded, type Reader, sql } from "../../sql.ts";
import { checkVersion, type Expected } from "../../version.ts";
import { batch, get, run, type Write, write } from "../../write.ts";
import { INTO_OUTBOX, publishReferenceTo, toReference } from "../events/events.ts";
import type { Seat } from "../visibility/visibility.ts";
import { unreadQuery } from "./inbox.ts";

export interface MarkRead {
  userId: string;
  conversationId: string;
  /** Messages up to this one are read. */
  messageId: string;
  /** Whether to hide this from the contact. */
  isPrivate: boolean;
  now: number;
}

/** Selects, as a scalar, the contact of the member `s`, if it may see how far the member has read. */
export const READER = sql`(SELECT p.owner_id FROM members o
  JOIN contacts p ON p.owner_id = o.user_id AND p.id = o.contact_id AND p.peer_id = s.user_id
  WHERE o.conversation_id = s.conversation_id AND s.contact_id IS NOT NULL)`;
export const SET_READ = sql`ON CONFLICT (user_id, conversation_id) DO UPDATE
  SET last_read_id = excluded.last_read_id, disclosed_read_id = excluded.disclosed_read_id`;

interface ReadMark {
  since_id: string;
  last_id: string | null;
  last_read_id: string | null;
  disclosed_read_id: string | null;
  maybe_unread: number | null;
}

/**
 * Moves the user's read position, never backwards. Ids sort by time, so an id also works after its message is gone. Throws
 * `conversation_not_found`, and `message_not_found` for an id outside of the messages that the user can see.
 */
const markRead = write({ publishesEvents: true }, function* (input: MarkRead): Write<void> {
  const { userId, conversationId, messageId, now } = input;
  const mark = yield* get<ReadMark>(
    sql`SELECT s.since_id, p.maybe_unread, v.last_id, k.last_read_id, k.disclosed_read_id
        FROM members s LEFT JOIN conversations v ON v.id = s.conversation_id
        LEFT JOIN places p ON p.user_id = s.user_id AND p.conversation_id = s.conversation_id
        LEFT JOIN marks k ON k.user_id = s.user_id AND k.conversation_id = s.conversation_id
        WHERE s.conversation_id = ${conversationId} AND s.user_id = ${userId}`,
  );
  if (!mark) throw new ParleyError("conversation_not_found");
  if (mark.last_id === null || messageId > mark.last_id || messageId <= mark.since_id) {
    throw new ParleyError("message_not_found", undefined, { param: "message_id" });
  }
  const wasRead = mark.last_read_id ?? "";
  const wasDisclosed = mark.disclosed_read_id ?? "";
  const read = messageId > wasRead ? messageId : wasRead;
  const disclosed = !input.isPrivate && messageId > wasDisclosed ? messageId : wasDisclosed;
  if (read !== wasRead || disclosed !== wasDisclosed) {
    yield* batch([
      sql`INSERT INTO marks (user_id, conversation_id, last_read_id, disclosed_read_id)
          VALUES (${userId}, ${conversationId}, ${read}, ${disclosed})
          ${SET_READ}`,
      ...(read === wasRead
        ? []
        : [publishReferenceTo(userId, "conversation.updated", now, conversationId, conversationId)]),
      // Even without a reader: otherwise the user could detect by the time that the contact has left.
      ...(disclosed === wasDisclosed
        ? []
        : [
            sql`${INTO_OUTBOX} SELECT r.id, 'conversation.updated', ${conversationId}, ${now},
                ${toReference(conversationId, conversationId)}
              FROM (SELECT ${READER} AS id FROM members s
                WHERE s.conversation_id = ${conversationId} AND s.user_id = ${userId}) r
              WHERE r.id IS NOT NULL`,
          ]),
    ]);
  }
  // Even if the position does not move: unread messages may have been deleted.
  const seat = { user_id: userId, conversation_id: conversationId, since_id: mark.since_id };
  if (mark.maybe_unread === 1 && !(yield* hasUnread(seat, read))) {
    yield* run(
      sql`UPDATE places SET maybe_unread = 0 WHERE user_id = ${userId} AND conversation_id = ${conversationId}`,
    );
  }
});

/** Reports whether the member sees a message from another user after this one. */
function* hasUnread(seat: Seat, after: string): Write<boolean> {
  for (let cursor = after; ; ) {
    const next = yield* get(unreadQuery(seat, cursor, 1));
    if (!next || next.is_seen === 1) return next !== undefined;
    cursor = next.run_end!;
  }
}

interface UpdateConversation {
  userId: string;
  conversationId: string;
  /** Undefined leaves a setting unchanged. */
  isPinned: boolean | undefined;
  isArchived: boolean | undefined;
  /** Unix seconds; null if not muted. */
  mutedUntil: number | null | undefined;
  expected: Expected;
  now: number;
}

interface Settings {
  is_pinned: number | null;
  is_archived: number | null;
  muted_until: number | null;
  version: number | null;
}

/** Changes the member's own settings. Throws `conversation_not_found` and `precondition_failed`. */
const updateConversation = write(
  { publishesEvents: true },
  function* (input: UpdateConversation): Write<void> {
    const { userId, conversationId } = input;
    const was = yield* get<Settings>(
      sql`SELECT p.is_pinned, p.is_archived, k.muted_until, k.version FROM members s
        LEFT JOIN places p ON p.user_id = s.user_id AND p.conversation_id = s.conversation_id
        LEFT JOIN marks k ON k.user_id = s.user_id AND k.conversation_id = s.conversation_id
        WHERE s.conversation_id = ${conversationId} AND s.user_id = ${userId}`,
    );
    if (!was) throw new ParleyError("conversation_not_found");
    const version = was.version ?? 1;
    checkVersion(input.expected, version);
    const pinned = toFlag(input.isPinned, was.is_pinned);
    const archived = toFlag(input.isArchived, was.is_archived);
    const muted = input.mutedUntil === undefined ? was.muted_until : input.mutedUntil;
    const isSame =
      pinned === (was.is_pinned ?? 0) && archived === (was.is_archived ?? 0) && muted === was.muted_until;
    if (isSame) return;
    yield* batch([
      sql`INSERT INTO places (user_id, conversation_id, is_pinned, is_archived)
        VALUES (${userId}, ${conversationId}, ${pinned}, ${archived})
        ON CONFLICT (user_id, conversation_id) DO UPDATE
          SET is_pinned = excluded.is_pinned, is_archived = excluded.is_archived`,
      sql`INSERT INTO marks (user_id, conversation_id, muted_until, version)
        VALUES (${userId}, ${conversationId}, ${muted}, ${version + 1})
        ON CONFLICT (user_id, conversation_id) DO UPDATE
          SET muted_until = excluded.muted_until, version = excluded.version`,
      publishReferenceTo(userId, "conversation.updated", input.now, conversationId, conversationId),
    ]);
  },
);

function toFlag(wanted: boolean | undefined, was: number | null): number {
  return wanted === undefined ? (was ?? 0) : wanted ? 1 : 0;
}

/** Lists which of the users have muted which of the conversations. `now` is in seconds. */
export function listMuted(
  db: Reader,
  userIds: readonly string[],
  conversationIds: readonly string[],
  now: number,
): Promise<{ user_id: string; conversation_id: string }[]> {
  return db.all(
    sql`SELECT user_id, conversation_id FROM marks WHERE user_id IN (${list(padded(userIds))})
      AND conversation_id IN (${list(conversationIds)}) AND muted_until > ${now}`,
  );
}

/** Reports whether the user has read a message. */
export async function hasRead(
  db: Reader,
  userId: string,
  message: { id: string; conversation_id: string },
): Promise<boolean> {
  const row = await db.get(
    sql`SELECT 1 AS one FROM marks WHERE user_id = ${userId} AND conversation_id = ${message.conversation_id}
      AND last_read_id >= ${message.id}`,
  );
  return row !== undefined;
}

export const markWrites = { markRead, updateConversation };
