import { ParleyError } from "../../../errors.ts";
import { sql } from "../../sql.ts";
import { checkVersion, type Expected } from "../../version.ts";
import { batch, get, run, type Write, write } from "../../write.ts";
import { publishEvent, publishToMembers, toMemberReference, toReference } from "../events/events.ts";
import { findLastId, MessageIds, systemMessage } from "../messages/message-system.ts";
import { type NewEntry, recordEntry } from "../record/audit-trail.ts";
import { type GroupSeat, getAdminSeat, type Role } from "./groups.ts";

/** Versions of a member: only the role changes, so each role has one version. */
export const MEMBER_VERSIONS = { invited: 1, member: 2, admin: 3 } as const;

export interface ChangeMember {
  groupId: string;
  userId: string;
  memberId: string;
  /** The id of the first message about it. */
  messageId: string;
  expected: Expected;
  entry: NewEntry;
}

interface UpdateMember extends ChangeMember {
  role: Role;
}

/**
 * Changes the role of a member. If the last admin steps down, the longest-standing other member becomes admin; a sole member stays
 * admin. Throws what `getAdminSeat` and `findExpectedSeat` throw, and `invalid_parameter` for an invited name.
 */
const updateMember = write(
  { publishesEvents: true, serializeBy: ({ groupId }) => groupId },
  function* ({ groupId, userId, memberId, role, messageId, expected, entry }: UpdateMember): Write<void> {
    yield* getAdminSeat(groupId, userId);
    const seat = yield* findExpectedSeat(groupId, memberId, expected);
    if (!seat) {
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

/** Part of other writes: gives a member another role, and adds a system message about it. */
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
    publishEvent("group.updated", now, userId, conversationId, toReference(groupId, conversationId)),
  ]);
}

/**
 * Part of other writes: finds the seat with this id; undefined if the id belongs to an invitation. Throws `member_not_found`, and
 * `precondition_failed` for another version.
 */
export function* findExpectedSeat(
  groupId: string,
  memberId: string,
  expected: Expected,
): Write<GroupSeat | undefined> {
  const seat = yield* get(
    sql<GroupSeat>`SELECT group_id, user_id, member_id, conversation_id, role FROM members
      WHERE group_id = ${groupId} AND member_id = ${memberId}`,
  );
  const known =
    seat ??
    (yield* get(
      sql`SELECT member_id FROM invitations WHERE group_id = ${groupId} AND member_id = ${memberId} LIMIT 1`,
    ));
  if (!known) throw new ParleyError("member_not_found");
  checkVersion(expected, MEMBER_VERSIONS[seat?.role ?? "invited"]);
  return seat;
}

/** Part of other writes: finds the admin if this member is none: another admin, or the longest-standing other member. */
export function findHeir({ conversation_id, user_id }: GroupSeat): Write<GroupSeat | undefined> {
  return get(
    sql<GroupSeat>`SELECT group_id, user_id, member_id, conversation_id, role FROM members
      WHERE conversation_id = ${conversation_id} AND user_id <> ${user_id}
      ORDER BY CASE WHEN role = 'admin' THEN 0 ELSE 1 END, joined_at, user_id LIMIT 1`,
  );
}

export const roleWrites = { updateMember };
