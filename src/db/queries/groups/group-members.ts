import { type Page, pageClause } from "../../page.ts";
import { list, padded, type Reader, type Statement, sql } from "../../sql.ts";
import { batch, get, type Write, write } from "../../write.ts";
import { invite, type NewInvitation, withdraw } from "../people/invitations.ts";
import type { UserKind } from "../people/users.ts";
import { type NewEntry, recordEntry } from "../record/audit-trail.ts";
import { leave } from "./group-leaving.ts";
import { type ChangeMember, findExpectedSeat } from "./group-roles.ts";
import { type GroupSeat, getAdminSeat, groupSeat, type Role, tooManyMembers } from "./groups.ts";

/** A member of a group, or an invited name. */
export interface MemberRow {
  id: string;
  group_id: string;
  /** Null for an invited name. */
  user_id: string | null;
  /** Null after the user was erased. For an invitation, the name as it was typed. */
  username: string | null;
  display_name: string | null;
  avatar_url: string | null;
  avatar_id: string | null;
  /** Null for an invited name, and after the user was erased. */
  kind: UserKind | null;
  role: Role | "invited";
  /** Milliseconds. */
  created_at: number;
  /** The read position that the member has disclosed; null if there is none, or the reader may not see it. */
  read_id: string | null;
}

/**
 * Selects members as `s`. The reader sees read positions after the reader's own `since_id`. Null stands for nobody, who sees
 * none.
 */
const joined = (
  readerId: string | null,
) => sql`SELECT s.member_id AS id, s.group_id, s.user_id, u.username, u.display_name, u.avatar_url, u.avatar_id, u.kind,
    s.role, s.joined_at AS created_at,
    (SELECT k.disclosed_read_id FROM members me JOIN marks k ON k.conversation_id = me.conversation_id
      WHERE me.conversation_id = s.conversation_id AND me.user_id = ${readerId} AND k.user_id = u.id
        AND k.disclosed_read_id > me.since_id) AS read_id
  FROM members s LEFT JOIN users u ON u.id = s.user_id`;
const INVITED = sql`SELECT i.member_id AS id, i.group_id, NULL AS user_id, i.username, NULL AS display_name,
    NULL AS avatar_url, NULL AS avatar_id, NULL AS kind, 'invited' AS role, i.created_at, NULL AS read_id
  FROM invitations i`;
/** Holds for the first inviter's invitation of a name. */
const IS_FIRST = sql`NOT EXISTS (SELECT 1 FROM invitations f WHERE f.group_id = i.group_id AND f.member_id = i.member_id
  AND (f.created_at, f.inviter_id) < (i.created_at, i.inviter_id))`;

/** Returns the members of a page, and one more if there is one. */
export function listMemberRows(
  db: Reader,
  groupId: string,
  readerId: string,
  page: Page,
): Promise<MemberRow[]> {
  return db.all(membersQuery(groupId, readerId, page));
}

export function membersQuery(groupId: string, readerId: string, page: Page): Statement<MemberRow> {
  return sql`${joined(readerId)} WHERE s.group_id = ${groupId} AND ${pageClause(page, sql`s.member_id`)}`;
}

/** Returns the invited names of a page, and one more if there is one. */
export function listInvitedRows(db: Reader, groupId: string, page: Page): Promise<MemberRow[]> {
  return db.all(invitedQuery(groupId, page));
}

export function invitedQuery(groupId: string, page: Page): Statement<MemberRow> {
  return sql`${INVITED} WHERE i.group_id = ${groupId} AND ${IS_FIRST} AND ${pageClause(page, sql`i.member_id`)}`;
}

/** Returns all members of these groups as the reader, a member of each, lists them, newest first: as an admin with invited names. */
export async function findAllMembers(
  db: Reader,
  groupIds: readonly string[],
  readerId: string,
): Promise<MemberRow[]> {
  const rows = await db.all(allMembersQuery(groupIds, readerId));
  return rows.sort((a, b) => (a.id < b.id ? 1 : -1));
}

export function allMembersQuery(groupIds: readonly string[], readerId: string): Statement<MemberRow> {
  const ids = list(padded(groupIds));
  return sql`${joined(readerId)} WHERE s.group_id IN (${ids})
    UNION ALL ${INVITED} JOIN members me ON me.user_id = ${readerId} AND me.group_id = i.group_id AND me.role = 'admin'
    WHERE i.group_id IN (${ids}) AND ${IS_FIRST}`;
}

/** Finds a member of the group, or an invited name. */
export async function findMember(
  db: Reader,
  groupId: string,
  memberId: string,
  readerId: string | null,
): Promise<MemberRow | undefined> {
  // One statement, because an invited user may join between two.
  return db.get(
    sql`${joined(readerId)} WHERE s.group_id = ${groupId} AND s.member_id = ${memberId}
      UNION ALL ${INVITED} WHERE i.group_id = ${groupId} AND i.member_id = ${memberId} AND ${IS_FIRST}`,
  );
}

/** Returns those of the ids that belong to members who have joined, in their order. */
export async function findMembers(
  db: Reader,
  groupId: string,
  memberIds: readonly string[],
  readerId: string,
): Promise<MemberRow[]> {
  const rows = await db.all<MemberRow>(
    sql`${joined(readerId)} WHERE s.group_id = ${groupId} AND s.member_id IN (${list(padded(memberIds))})`,
  );
  return memberIds.flatMap((id) => rows.find((row) => row.id === id) ?? []);
}

interface InviteMember {
  groupId: string;
  userId: string;
  invited: NewInvitation;
  /** How many members a group may have, including invited ones. */
  maxMembers: number;
  entry: NewEntry;
}

interface NameInGroup {
  /** The seat of the member with that name; null if there is none. */
  member_id: string | null;
  /** The member id of the invited name; null if it is not invited. */
  invited_id: string | null;
  invited_username: string | null;
  /** 1 if nothing is to be done: the caller has already invited the name, or its user has declined. */
  is_settled: number;
  count: number;
}

/**
 * Invites a name and returns the id of the member. Nothing changes if the name is a member, is invited, or has declined. The
 * reads and writes are the same no matter who has the name. Throws what `getAdminSeat` throws, and `count_limit_reached`.
 */
const inviteMember = write(
  { publishesEvents: true, serializeBy: ({ groupId }) => groupId },
  function* ({ groupId, userId, invited, maxMembers, entry }: InviteMember): Write<{ id: string }> {
    const { conversation_id: conversationId } = yield* getAdminSeat(groupId, userId);
    const { usernameKey } = invited;
    const ofName = sql`FROM invitations i WHERE i.group_id = ${groupId} AND i.username_key = ${usernameKey}`;
    const found = (yield* get<NameInGroup>(
      sql`SELECT (SELECT s.member_id FROM members s JOIN users u ON u.id = s.user_id
            WHERE s.conversation_id = ${conversationId} AND u.username_key = ${usernameKey}) AS member_id,
          (SELECT MIN(i.member_id) ${ofName}) AS invited_id, (SELECT MIN(i.username) ${ofName}) AS invited_username,
          CASE WHEN EXISTS (SELECT 1 ${ofName} AND (i.inviter_id = ${userId} OR i.declined_at IS NOT NULL))
            THEN 1 ELSE 0 END AS is_settled,
          (SELECT COUNT(*) FROM members s WHERE s.conversation_id = ${conversationId})
            + (SELECT COUNT(DISTINCT i.member_id) FROM invitations i WHERE i.group_id = ${groupId}) AS count`,
    ))!;
    if (found.member_id !== null) return { id: found.member_id };
    const id = found.invited_id ?? invited.memberId;
    if (found.is_settled === 1) return { id };
    if (found.invited_id === null && found.count >= maxMembers) throw tooManyMembers(maxMembers);
    const username = found.invited_username ?? invited.username;
    yield* batch([
      ...invite(groupId, userId, { ...invited, memberId: id, username }, entry.at),
      recordEntry(entry, "member.invited", id, { group_id: groupId }),
    ]);
    return { id };
  },
);

interface RemoveMember extends ChangeMember {
  /** How many rows are erased at once; the eraser does the rest. */
  limit: number;
}

/** Removes a member, or withdraws all invitations of a name. Throws what `getAdminSeat` and `findExpectedSeat` throw. */
const removeMember = write(
  { publishesEvents: true, serializeBy: ({ groupId }) => groupId },
  function* ({ groupId, userId, memberId, messageId, expected, limit, entry }: RemoveMember): Write<void> {
    yield* getAdminSeat(groupId, userId);
    const seat = yield* findExpectedSeat(groupId, memberId, expected);
    if (!seat) {
      yield* batch([
        ...withdraw(groupId, memberId, entry.at),
        recordEntry(entry, "member.withdrawn", memberId, { group_id: groupId }),
      ]);
      return;
    }
    const action = recordEntry(entry, "member.removed", memberId, { group_id: groupId });
    yield* leave(seat, userId, { messageId, now: entry.at, limit }, [action]);
  },
);

/** Finds the member's own seat. */
export function findOwnSeat(db: Reader, groupId: string, userId: string): Promise<GroupSeat | undefined> {
  return db.get(groupSeat(groupId, userId));
}

/** Returns those of the users who are members of the group. */
export async function findSeated(db: Reader, groupId: string, userIds: readonly string[]): Promise<string[]> {
  const rows = await db.all<{ user_id: string }>(
    sql`SELECT user_id FROM members WHERE group_id = ${groupId} AND user_id IN (${list(padded(userIds))})`,
  );
  return rows.map(({ user_id }) => user_id);
}

export const memberWrites = { inviteMember, removeMember };
