import { ParleyError } from "../../../errors.ts";
import { type Statement, sql } from "../../sql.ts";
import { all, batch, eraseSome, get, type Write, write } from "../../write.ts";
import { publishEvent, publishToMembers, toMemberReference, toReference } from "../events/events.ts";
import { MessageIds, systemMessage } from "../messages/message-system.ts";
import { grantFiles } from "../people/conversation-joining.ts";
import { continueDeparture } from "../people/conversation-leaving.ts";
import { type SeenInvitation, seenInvitation } from "../people/invitations.ts";
import { type NewEntry, recordEntry } from "../record/audit-trail.ts";
import { leave } from "./group-leaving.ts";
import { type GroupSeat, groupSeat, seatStatements } from "./groups.ts";

interface JoinGroup {
  groupId: string;
  userId: string;
  /** The id of the system message about it, unless the conversation already has a later one. */
  messageId: string;
  /** How many rows to look at or write at once. */
  limit: number;
  entry: NewEntry;
}

interface PrepareJoin {
  groupId: string;
  userId: string;
  /** Set if an admin adds the user. Otherwise the user accepts an invitation. */
  isAdded?: true;
  now: number;
  /** The id of the first system message about an erased user who leaves. */
  messageId: string;
  /** How many rows to look at, write or erase at once. */
  limit: number;
}

/**
 * Takes one step before joining: erases messages that nobody sees any longer, and withholds messages of users whom the new member
 * has blocked. Returns true if `joinGroup` or `addMembers` can do the rest at once. Throws `group_not_found`.
 */
const prepareJoin = write(
  { publishesEvents: true, serializeBy: ({ groupId }: PrepareJoin) => groupId },
  function* ({ groupId, userId, isAdded, limit, ...step }: PrepareJoin): Write<boolean> {
    if (yield* get(groupSeat(groupId, userId))) return true;
    const group = yield* isAdded ? getJoined(groupId, userId, "") : getInvited(groupId, userId);
    if (group.mustErase) {
      yield* eraseRemains(group.conversation_id, { ...step, limit });
      return false;
    }
    return !group.mayWithhold || (yield* withholdBlocked(group, userId, limit));
  },
);

/**
 * Accepts the invitation that the user sees. For a member nothing changes. Throws `group_not_found`, and `unavailable` if
 * `prepareJoin` meanwhile has more to do.
 */
const joinGroup = write(
  { publishesEvents: true, serializeBy: ({ groupId }: JoinGroup) => groupId },
  function* ({ groupId, userId, limit, entry, ...input }: JoinGroup): Write<{ id: string }> {
    if (yield* get(groupSeat(groupId, userId))) return { id: groupId };
    const group = yield* getInvited(groupId, userId);
    const { conversation_id: conversationId, member_id, inviter_id } = group;
    yield* demandReady(group, userId, limit);
    const messageId = new MessageIds(input.messageId, group.last_id).next();
    const seat = {
      group_id: groupId,
      user_id: userId,
      member_id,
      conversation_id: conversationId,
      role: "member",
    } as const;
    const message = { type: "joined", senderId: userId, targetId: null, data: null } as const;
    yield* batch([
      sql`DELETE FROM invitations WHERE group_id = ${groupId} AND member_id = ${member_id}`,
      sql`DELETE FROM preparing WHERE conversation_id = ${conversationId} AND user_id = ${userId}`,
      ...seatStatements(seat, inviter_id, group.seesAll ? "" : group.last_id, messageId, entry.at),
      ...(yield* systemMessage(conversationId, messageId, message, entry.at)),
      publishEvent("group.created", entry.at, userId, conversationId, toReference(groupId, conversationId)),
      publishToMembers("member.created", entry.at, conversationId, toMemberReference(member_id, groupId)),
      recordEntry(entry, "group.joined", groupId),
    ]);
    if (group.seesAll) yield* batch(yield* grantFiles(conversationId, userId, limit));
    return { id: groupId };
  },
);

/** What a user joins. */
export interface Joined {
  conversation_id: string;
  member_id: string;
  /** Empty if there was no message. */
  last_id: string;
  /** Changes whenever the user blocks or unblocks somebody. */
  blocks: string;
  /** Whether the new member sees earlier messages. */
  seesAll: boolean;
  /** Whether nobody sees some of these any longer, and they are not erased yet. */
  mustErase: boolean;
  /** Whether blocked users may have sent some of these. */
  mayWithhold: boolean;
}

/** Throws `unavailable` if a step of `prepareJoin` is left to do. */
export function* demandReady(group: Joined, userId: string, limit: number): Write<void> {
  if (!group.mustErase && (!group.mayWithhold || (yield* withholdBlocked(group, userId, limit)))) return;
  throw new ParleyError("unavailable");
}

/** Throws `group_not_found` if the user sees no invitation. */
function* getInvited(groupId: string, userId: string): Write<Joined & Pick<SeenInvitation, "inviter_id">> {
  const invitation = yield* get(seenInvitation(userId, groupId));
  if (!invitation) throw new ParleyError("group_not_found");
  return {
    ...(yield* getJoined(groupId, userId, invitation.member_id)),
    inviter_id: invitation.inviter_id,
  };
}

/** Throws `group_not_found`. */
export function* getJoined(groupId: string, userId: string, memberId: string): Write<Joined> {
  const group = yield* get(findGroup(groupId, userId));
  if (!group) throw new ParleyError("group_not_found");
  // A user who joins again sees no earlier messages.
  const seesAll = group.history === "all" && group.departed === 0;
  const blocks = `${group.blocked} ${group.last_blocked}`;
  return {
    ...group,
    member_id: memberId,
    blocks,
    seesAll,
    mustErase: seesAll && group.has_remains === 1,
    mayWithhold: seesAll && group.blocked > 0,
  };
}

interface FoundGroup {
  conversation_id: string;
  history: "joined" | "all";
  last_id: string;
  /** 1 if the user has been a member before, otherwise 0. */
  departed: number;
  /** How many names the user has blocked, and when the last one was; null if there are none. */
  blocked: number;
  last_blocked: number | null;
  /** 1 if rows of a user who has left or was erased are still to be erased, otherwise 0. */
  has_remains: number;
}

function findGroup(groupId: string, userId: string): Statement<FoundGroup> {
  return sql`SELECT g.conversation_id, g.history, COALESCE(c.last_id, '') AS last_id,
      CASE WHEN d.user_id IS NULL THEN 0 ELSE 1 END AS departed,
      (SELECT COUNT(*) FROM blocks b WHERE b.owner_id = ${userId}) AS blocked,
      (SELECT MAX(b.created_at) FROM blocks b WHERE b.owner_id = ${userId}) AS last_blocked,
      CASE WHEN EXISTS (SELECT 1 FROM departing p WHERE p.conversation_id = g.conversation_id)
        OR EXISTS (SELECT 1 ${erasedMembers(sql`g.conversation_id`)}) THEN 1 ELSE 0 END AS has_remains
    FROM groups g LEFT JOIN conversations c ON c.id = g.conversation_id
    LEFT JOIN departures d ON d.conversation_id = g.conversation_id AND d.user_id = ${userId}
    WHERE g.id = ${groupId}`;
}

/** Selects the members `s` who are being erased, as `e`, and have not left the conversation yet. */
function erasedMembers(conversationId: Statement): Statement {
  return sql`FROM erasing e JOIN members s ON s.user_id = e.user_id AND s.conversation_id = ${conversationId}`;
}

/** Continues the eraser's work, because a new member would see the rest. */
function* eraseRemains(
  conversationId: string,
  { now, messageId, limit }: Pick<PrepareJoin, "now" | "messageId" | "limit">,
): Write<void> {
  const seat = yield* get<GroupSeat & { username_key: string }>(
    sql`SELECT s.group_id, s.user_id, s.member_id, s.conversation_id, s.role, e.username_key
      ${erasedMembers(sql`${conversationId}`)} LIMIT 1`,
  );
  if (seat) yield* leave(seat, seat.user_id, { messageId, now, limit, erasedKey: seat.username_key });
  else yield* continueDeparture(now, limit, sql`WHERE conversation_id = ${conversationId}`);
}

interface Looked {
  id: string;
  is_blocked: number;
}

/**
 * Looks at the next messages and withholds those of blocked users. Starts again if the user has meanwhile blocked or unblocked
 * somebody. Returns true when all messages have been looked at.
 */
function* withholdBlocked(
  { conversation_id: conversationId, blocks }: Joined,
  userId: string,
  limit: number,
): Write<boolean> {
  const isThis = sql`conversation_id = ${conversationId} AND user_id = ${userId}`;
  const begun = yield* get<{ after_id: string }>(
    sql`SELECT after_id FROM preparing WHERE ${isThis} AND blocks = ${blocks}`,
  );
  const after = begun?.after_id ?? "";
  if (!begun) {
    const erased = yield* eraseSome("withheld", ["user_id", "conversation_id", "from_id"], isThis, limit);
    if (erased === limit) return false;
  }
  const looked = yield* all<Looked>(
    sql`SELECT m.id, CASE WHEN m.type = 'text' AND EXISTS (SELECT 1 FROM users u JOIN blocks b
        ON b.owner_id = ${userId} AND b.username_key = u.username_key WHERE u.id = m.sender_id)
          THEN 1 ELSE 0 END AS is_blocked
      FROM messages m WHERE m.conversation_id = ${conversationId} AND m.id > ${after} ORDER BY m.id LIMIT ${limit} + 0`,
  );
  const last = yield* get<{ from_id: string }>(
    sql`SELECT from_id FROM withheld WHERE ${isThis} AND to_id = ${after}`,
  );
  const end = looked.at(-1)?.id ?? after;
  yield* batch([
    sql`INSERT INTO preparing (conversation_id, user_id, blocks, after_id)
      VALUES (${conversationId}, ${userId}, ${blocks}, ${end})
      ON CONFLICT (conversation_id, user_id) DO UPDATE SET blocks = excluded.blocks, after_id = excluded.after_id`,
    ...toRuns(looked, last?.from_id).map(
      ([from, to]) => sql`INSERT INTO withheld (user_id, conversation_id, from_id, to_id)
        VALUES (${userId}, ${conversationId}, ${from}, ${to})
        ON CONFLICT (user_id, conversation_id, from_id) DO UPDATE SET to_id = excluded.to_id`,
    ),
  ]);
  return looked.length < limit;
}

/** Returns the first and last message of each run of messages of blocked users. `open` is the start of a run to extend. */
function toRuns(looked: readonly Looked[], open: string | undefined): [from: string, to: string][] {
  const runs: [string, string][] = [];
  let from = open;
  for (const { id, is_blocked } of looked) {
    if (is_blocked === 0) {
      from = undefined;
      continue;
    }
    if (from === undefined || runs.length === 0) runs.push([from ?? id, id]);
    else runs.at(-1)![1] = id;
    from ??= id;
  }
  return runs;
}

export const joiningWrites = { prepareJoin, joinGroup };
