import { ParleyError } from "../../errors.ts";
import { batch, get, run, sql, type Write, write } from "../sql.ts";
import { type NewEntry, recordEntry } from "./audit.ts";
import { publishEvent, publishToMembers, toGroupReference, toMemberReference } from "./events.ts";
import { type GroupSeat, getAdminSeat, type Role } from "./groups.ts";
import { findLastId, MessageIds, systemMessage } from "./system-messages.ts";

export interface ChangeMember {
  groupId: string;
  userId: string;
  memberId: string;
  /** The id of the first message about it. */
  messageId: string;
  entry: NewEntry;
}

interface UpdateMember extends ChangeMember {
  role: Role;
}

/**
 * Changes the role of a member. An admin who is alone stays one; otherwise the last one's place is taken by the member who
 * has been one for longest. Throws what `getAdminSeat` throws, `member_not_found`, and `invalid_parameter` for somebody who
 * is invited.
 */
export const updateMember = write(
  { publishesEvents: true, serializeBy: ({ groupId }) => groupId },
  function* ({ groupId, userId, memberId, role, messageId, entry }: UpdateMember): Write<void> {
    yield* getAdminSeat(groupId, userId);
    const seat = yield* findMemberSeat(groupId, memberId);
    if (!seat) {
      yield* refuseUnknown(groupId, memberId);
      const detail = "Somebody who is invited has no role before accepting.";
      throw new ParleyError("invalid_parameter", detail, { param: "role" });
    }
    if (seat.role === role) return;
    const ids = new MessageIds(messageId, yield* findLastId(seat.conversation_id));
    if (role === "member") {
      const heir = yield* findHeir(seat);
      if (!heir) return;
      if (heir.role !== "admin") yield* changeRole(heir, "admin", userId, ids, entry.at);
    }
    yield* changeRole(seat, role, userId, ids, entry.at);
    yield* run(recordEntry(entry, "member.updated", memberId, { group_id: groupId, role }));
  },
);

/** Part of other writes: gives a member another role, and says so in the group. */
export function* changeRole(
  seat: GroupSeat,
  role: Role,
  byUserId: string,
  ids: MessageIds,
  now: number,
): Write<void> {
  const { group_id: groupId, user_id: userId, conversation_id: conversationId } = seat;
  const message = { type: "role", senderId: byUserId, targetId: userId, data: { role } } as const;
  yield* batch([
    sql`UPDATE members SET role = ${role} WHERE conversation_id = ${conversationId} AND user_id = ${userId}`,
    ...(yield* systemMessage(conversationId, ids.next(), message, now)),
    publishToMembers("member.updated", now, conversationId, toMemberReference(seat.member_id, groupId)),
    publishEvent("group.updated", now, userId, conversationId, toGroupReference(groupId, conversationId)),
  ]);
}

/** Selects the seat with this id. */
export function findMemberSeat(groupId: string, memberId: string): Write<GroupSeat | undefined> {
  return get(
    sql<GroupSeat>`SELECT group_id, user_id, member_id, conversation_id, role FROM members
      WHERE group_id = ${groupId} AND member_id = ${memberId}`,
  );
}

/** Throws `member_not_found` for an id under which nobody is invited either. */
export function* refuseUnknown(groupId: string, memberId: string): Write<void> {
  const invited = yield* get(
    sql`SELECT member_id FROM invitations WHERE group_id = ${groupId} AND member_id = ${memberId} LIMIT 1`,
  );
  if (!invited) throw new ParleyError("member_not_found");
}

/** Part of other writes: finds who is admin if this member is not: another admin, or who has been a member for longest. */
export function findHeir({ conversation_id, user_id }: GroupSeat): Write<GroupSeat | undefined> {
  return get(
    sql<GroupSeat>`SELECT group_id, user_id, member_id, conversation_id, role FROM members
      WHERE conversation_id = ${conversation_id} AND user_id <> ${user_id}
      ORDER BY CASE WHEN role = 'admin' THEN 0 ELSE 1 END, joined_at, user_id LIMIT 1`,
  );
}
