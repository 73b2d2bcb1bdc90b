import { ParleyError } from "../../../errors.ts";
import { laterId } from "../../../util/ids.ts";
import { type Statement, sql } from "../../sql.ts";
import { checkVersion, type Expected } from "../../version.ts";
import { all, batch, get, type Write, write } from "../../write.ts";
import { INTO_OUTBOX, publishToMembers, toReference } from "../events/events.ts";
import { findLastId, MessageIds, systemMessage } from "../messages/message-system.ts";
import { leaveConversation, noteDeparture } from "../people/conversation-leaving.ts";
import { decline, endInvitationsOf, seenInvitation } from "../people/invitations.ts";
import { type NewEntry, recordEntry } from "../record/audit-trail.ts";
import { changeRole, findHeir } from "./group-roles.ts";
import { type GroupSeat, groupSeat } from "./groups.ts";

interface Leaving {
  /** The former name of a user who is being erased, in the form of `usernameKey`. */
  erasedKey?: string;
  /** The id of the first system message about it. */
  messageId: string;
  now: number;
  /** How many rows are erased at once; the eraser does the rest. */
  limit: number;
}

interface LeaveGroup extends Leaving {
  groupId: string;
  userId: string;
  expected: Expected;
  entry: NewEntry;
}

/** Leaves the group, or declines the invitation that the user sees. Throws `group_not_found`. */
const leaveGroup = write(
  { publishesEvents: true, serializeBy: ({ groupId }) => groupId },
  function* ({ groupId, userId, expected, entry, ...leaving }: LeaveGroup): Write<void> {
    const seat = yield* get(groupSeat(groupId, userId));
    // The steps are the same for a missing group and for one of other users.
    if (!seat && !(yield* get(seenInvitation(userId, groupId)))) throw new ParleyError("group_not_found");
    const group = yield* get<{ version: number }>(sql`SELECT version FROM groups WHERE id = ${groupId}`);
    checkVersion(expected, group!.version);
    if (seat) yield* leave(seat, userId, leaving, [recordEntry(entry, "group.left", groupId)]);
    else
      yield* batch([...decline(userId, groupId, leaving.now), recordEntry(entry, "group.declined", groupId)]);
  },
);

/**
 * Part of other writes: ends a membership. If no admin stays, the longest-standing member becomes admin. If nobody stays, the
 * group ends. Returns the number of erased rows.
 */
export function* leave(
  seat: GroupSeat,
  byUserId: string,
  { messageId, now, limit, erasedKey }: Leaving,
  entries: readonly Statement[] = [],
): Write<number> {
  const { group_id: groupId, conversation_id: conversationId, user_id: userId, member_id } = seat;
  const heir = yield* findHeir(seat);
  const ids = new MessageIds(messageId, yield* findLastId(conversationId));
  const before = [
    // An erased user gets no event.
    sql`${INTO_OUTBOX} SELECT id, 'group.deleted', ${conversationId}, ${now},
      ${toReference(groupId, conversationId)} FROM users WHERE id = ${userId}`,
    ...endInvitationsOf(
      groupId,
      userId,
      erasedKey === undefined
        ? sql`(SELECT username_key FROM users WHERE id = ${userId})`
        : sql`${erasedKey}`,
      now,
    ),
    ...entries,
  ];
  const isOwn = byUserId === userId;
  const message = {
    type: isOwn ? "left" : "removed",
    senderId: byUserId,
    targetId: isOwn ? null : userId,
    data: null,
  } as const;
  const gone = JSON.stringify({ id: member_id, group_id: groupId, user_id: userId });
  const after = heir
    ? [
        // An erased user cannot join again.
        ...(erasedKey !== undefined ? [] : [noteDeparture(conversationId, userId)]),
        ...(yield* systemMessage(conversationId, ids.next(), message, now)),
        publishToMembers("member.deleted", now, conversationId, gone),
      ]
    : endGroup(groupId, conversationId);
  const erased = yield* leaveConversation(conversationId, userId, now, limit, before, after);
  if (heir && heir.role !== "admin") yield* changeRole(heir, "admin", byUserId, ids, now);
  return erased;
}

/** Erases the rows of a group besides those of its conversation. */
function endGroup(groupId: string, conversationId: string): Statement[] {
  return [
    sql`DELETE FROM groups WHERE id = ${groupId}`,
    // Runs withheld from users who were about to join are erased like the rows of a member who leaves.
    sql`INSERT INTO departing (conversation_id, user_id, until_id, after_id)
      SELECT p.conversation_id, p.user_id, c.last_id, '' FROM preparing p JOIN conversations c ON c.id = p.conversation_id
      WHERE p.conversation_id = ${conversationId} ON CONFLICT (conversation_id, user_id) DO NOTHING`,
    sql`DELETE FROM preparing WHERE conversation_id = ${conversationId}`,
  ];
}

/** The rows of the group, of the member, and about the member. */
const ROWS_OF_A_GROUP = 8;

/** Part of erasing a user: leaves groups. Returns how many rows were erased; fewer than `limit` means that none are left. */
export function* leaveGroups(
  { user_id: userId, username_key }: { user_id: string; username_key: string },
  messageId: string,
  now: number,
  limit: number,
): Write<number> {
  const seats = yield* all<GroupSeat>(
    sql`SELECT group_id, user_id, member_id, conversation_id, role FROM members
      WHERE user_id = ${userId} AND group_id IS NOT NULL ORDER BY group_id LIMIT ${Math.ceil(limit / ROWS_OF_A_GROUP)} + 0`,
  );
  let left = limit;
  let id = messageId;
  for (const seat of seats) {
    if (left <= 0) break;
    left -= yield* leave(seat, userId, { messageId: id, now, limit: left, erasedKey: username_key });
    left -= ROWS_OF_A_GROUP;
    // Each group may have used two ids: for a message about leaving, and one about the next admin.
    for (let taken = 0; taken < 2; taken++) id = laterId(id, id);
  }
  return limit - Math.max(left, 0);
}

/** Part of erasing a user: the members whom the user has invited no longer refer to the user. Returns how many did. */
export function* forgetInviter(userId: string, limit: number): Write<number> {
  const invited = yield* all<{ conversation_id: string; user_id: string }>(
    sql`SELECT conversation_id, user_id FROM members WHERE inviter_id = ${userId} LIMIT ${limit} + 0`,
  );
  yield* batch(
    invited.map(
      ({ conversation_id, user_id }) => sql`UPDATE members SET inviter_id = NULL
        WHERE conversation_id = ${conversation_id} AND user_id = ${user_id}`,
    ),
  );
  return invited.length;
}

export const leavingWrites = { leaveGroup };
