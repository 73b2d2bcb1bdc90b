import { ParleyError } from "../../../errors.ts";
import { laterId } from "../../../util/ids.ts";
import { usernameKey } from "../../../util/text.ts";
import { type Page, pageClause } from "../../page.ts";
import { list, type Reader, type Statement, sql } from "../../sql.ts";
import { checkVersion, type Expected } from "../../version.ts";
import { batch, get, type Write, write } from "../../write.ts";
import { publishEvent, publishToMembers, toMemberReference, toReference } from "../events/events.ts";
import { findLastId, MessageIds, systemMessage } from "../messages/message-system.ts";
import { invite, type NewInvitation, publishUpdateToInvited, seenInvitation } from "../people/invitations.ts";
import { getNamed, getUser, type UserKind } from "../people/users.ts";
import { type NewEntry, recordEntry } from "../record/audit-trail.ts";
import { positionOf } from "../visibility/seats.ts";

export type Role = "admin" | "member";

/** A group as one of its members sees it. */
export interface GroupRow {
  id: string;
  name: string;
  description: string | null;
  avatar_url: string | null;
  conversation_id: string;
  history: "joined" | "all";
  created_at: number;
  version: number;
  member_count: number;
}

export interface JoinedGroupRow extends GroupRow {
  role: Role;
  /** The user who has invited or added the member; null if there is none, or the user was erased. */
  inviter_id: string | null;
  inviter_username: string | null;
  inviter_display_name: string | null;
  inviter_avatar_url: string | null;
  inviter_avatar_id: string | null;
  inviter_kind: UserKind | null;
}

const COLUMNS = sql`g.id, g.name, g.description, g.avatar_url, g.conversation_id, g.history, g.created_at, g.version,
  (SELECT COUNT(*) FROM members o WHERE o.conversation_id = g.conversation_id) AS member_count`;

const JOINED = sql`SELECT ${COLUMNS}, s.role, u.id AS inviter_id, u.username AS inviter_username,
    u.display_name AS inviter_display_name, u.avatar_url AS inviter_avatar_url, u.avatar_id AS inviter_avatar_id,
    u.kind AS inviter_kind
  FROM members s JOIN groups g ON g.id = s.group_id LEFT JOIN users u ON u.id = s.inviter_id`;

/** Returns groups by their ids, without checking who sees them. */
export function findGroups(db: Reader, ids: readonly string[]): Promise<GroupRow[]> {
  return db.all(sql<GroupRow>`SELECT ${COLUMNS} FROM groups g WHERE g.id IN (${list(ids)})`);
}

/** Returns those of the groups that the user is a member of. */
export function findJoined(db: Reader, userId: string, ids: readonly string[]): Promise<JoinedGroupRow[]> {
  return db.all(sql<JoinedGroupRow>`${JOINED} WHERE s.user_id = ${userId} AND s.group_id IN (${list(ids)})`);
}

/** Returns the groups of a page that the user is a member of, and one more if there is one. */
export function listJoined(db: Reader, userId: string, page: Page): Promise<JoinedGroupRow[]> {
  return db.all(joinedQuery(userId, page));
}

export function joinedQuery(userId: string, page: Page): Statement<JoinedGroupRow> {
  return sql`${JOINED} WHERE s.user_id = ${userId} AND ${pageClause(page, sql`s.group_id`)}`;
}

/** Finds the invitation that shows the group to the user. */
export function findInvitation(db: Reader, userId: string, groupId: string) {
  return db.get(seenInvitation(userId, groupId));
}

/** A member's seat in a group. */
export interface GroupSeat {
  group_id: string;
  user_id: string;
  member_id: string;
  conversation_id: string;
  role: Role;
}

/** Selects the seat of a user in a group. */
export function groupSeat(groupId: string, userId: string): Statement<GroupSeat> {
  return sql`SELECT s.group_id, s.user_id, s.member_id, s.conversation_id, s.role FROM members s
    WHERE s.user_id = ${userId} AND s.group_id = ${groupId}`;
}

/**
 * Part of other writes: returns the seat of an admin. Throws `group_not_found` if the user does not see the group, and `not_admin`
 * for other members and invited users.
 */
export function* getAdminSeat(groupId: string, userId: string): Write<GroupSeat> {
  const seat = yield* get(groupSeat(groupId, userId));
  if (seat?.role === "admin") return seat;
  const isSeen = seat ?? (yield* get(seenInvitation(userId, groupId)));
  throw new ParleyError(isSeen ? "not_admin" : "group_not_found");
}

export interface CreateGroup {
  id: string;
  conversationId: string;
  /** The seat of the creator. */
  memberId: string;
  /** The first message of the conversation. */
  messageId: string;
  userId: string;
  name: string;
  description: string | null;
  avatarUrl: string | null;
  history: "joined" | "all";
  /** Names that differ from each other. */
  invited: readonly NewInvitation[];
  /** Whether they are members at once. */
  areJoined: boolean;
  /** How many members a group may have, including invited ones. */
  maxMembers: number;
  entry: NewEntry;
}

/** Throws `count_limit_reached`, and what `getNamed` throws if the others are members at once. */
const createGroup = write({ publishesEvents: true }, function* (input: CreateGroup): Write<{
  id: string;
}> {
  const { id, conversationId, userId, messageId, entry } = input;
  const { at } = entry;
  const own = usernameKey((yield* getUser(userId)).username);
  const others = input.invited.filter((each) => each.usernameKey !== own);
  if (others.length >= input.maxMembers) throw tooManyMembers(input.maxMembers);
  const added = input.areJoined && others.length > 0 ? yield* getAdded(input) : [];
  const seat = {
    group_id: id,
    user_id: userId,
    member_id: input.memberId,
    conversation_id: conversationId,
    role: "admin",
  } as const;
  const joined = { type: "joined", senderId: userId, targetId: null, data: null } as const;
  yield* batch([
    sql`INSERT INTO groups (id, conversation_id, name, description, avatar_url, history, created_at, version)
      VALUES (${id}, ${conversationId}, ${input.name}, ${input.description}, ${input.avatarUrl}, ${input.history},
        ${at}, 1)`,
    ...seatStatements(seat, null, "", messageId, at),
    ...(added.length > 0 ? [] : yield* systemMessage(conversationId, messageId, joined, at)),
    publishEvent("group.created", at, userId, conversationId, toReference(id, conversationId)),
    publishToMembers("member.created", at, conversationId, toMemberReference(input.memberId, id)),
    recordEntry(entry, "group.created", id),
    ...(added.length > 0 ? yield* addStatements(seat, added, messageId, entry) : []),
    ...(input.areJoined ? [] : others.flatMap((each) => invite(id, userId, each, at))),
  ]);
  return { id };
});

/** Returns the other users who are members of a new group at once. They see all of it. */
function* getAdded({ invited, userId }: CreateGroup): Write<Added[]> {
  const users = yield* getNamed(invited);
  return users.flatMap(({ id }, i) =>
    id === userId ? [] : [{ id, memberId: invited[i]!.memberId, sinceId: "" }],
  );
}

/** A user who becomes a member without an invitation. */
export interface Added {
  id: string;
  memberId: string;
  /** The last message before what the user sees. */
  sinceId: string;
}

/**
 * Part of other writes: returns the statements that make users members, with one system message about all. Each of them gets an event
 * of the group, and those who were members before one of each new member.
 */
export function* addStatements(
  { group_id: groupId, user_id: adminId, conversation_id: conversationId }: GroupSeat,
  added: readonly Added[],
  messageId: string,
  entry: NewEntry,
): Write<Statement[]> {
  const { at } = entry;
  const message = {
    type: "joined",
    senderId: adminId,
    targetId: added.map(({ id }) => id),
    data: null,
  } as const;
  let entryId = entry.id;
  const statements = added.map(({ memberId }) =>
    publishToMembers("member.created", at, conversationId, toMemberReference(memberId, groupId)),
  );
  for (const { id: userId, memberId, sinceId } of added) {
    entryId = laterId(entryId, entryId);
    const seat = { group_id: groupId, user_id: userId, member_id: memberId, role: "member" } as const;
    statements.push(
      ...seatStatements({ ...seat, conversation_id: conversationId }, adminId, sinceId, messageId, at),
      publishEvent("group.created", at, userId, conversationId, toReference(groupId, conversationId)),
      recordEntry({ ...entry, id: entryId }, "member.added", memberId, {
        group_id: groupId,
        user_id: userId,
      }),
    );
  }
  return [...statements, ...(yield* systemMessage(conversationId, messageId, message, at))];
}

/** Part of other writes: seats a member, for whom messages up to this one count as read. */
export function seatStatements(
  seat: GroupSeat,
  inviterId: string | null,
  sinceId: string,
  messageId: string,
  now: number,
): Statement[] {
  const { conversation_id: conversationId, user_id: userId } = seat;
  return [
    sql`INSERT INTO members (conversation_id, user_id, joined_at, since_id, group_id, member_id, role, inviter_id)
      VALUES (${conversationId}, ${userId}, ${now}, ${sinceId}, ${seat.group_id}, ${seat.member_id}, ${seat.role},
        ${inviterId})`,
    sql`INSERT INTO places (user_id, conversation_id, position)
      VALUES (${userId}, ${conversationId}, ${positionOf(messageId)})`,
    sql`INSERT INTO marks (user_id, conversation_id, last_read_id) VALUES (${userId}, ${conversationId}, ${messageId})`,
  ];
}

export function tooManyMembers(maxMembers: number): ParleyError {
  return new ParleyError(
    "count_limit_reached",
    `A group may have ${maxMembers} members, with those who are invited. Withdraw an invitation, or ask the operator to raise PARLEY_MAX_MEMBERS.`,
  );
}

interface UpdateGroup {
  groupId: string;
  userId: string;
  /** Undefined leaves it unchanged. */
  name: string | undefined;
  description: string | null | undefined;
  avatarUrl: string | null | undefined;
  /** The id of the system message about a new name. */
  messageId: string;
  expected: Expected;
  entry: NewEntry;
}

/** Throws `group_not_found`, `not_admin` and `precondition_failed`. */
const updateGroup = write({ publishesEvents: true }, function* (input: UpdateGroup): Write<void> {
  const { groupId, userId, entry } = input;
  const { conversation_id: conversationId } = yield* getAdminSeat(groupId, userId);
  const was = (yield* get<Pick<GroupRow, "name" | "description" | "avatar_url" | "version">>(
    sql`SELECT name, description, avatar_url, version FROM groups WHERE id = ${groupId}`,
  ))!;
  checkVersion(input.expected, was.version);
  const { name = was.name, description = was.description, avatarUrl = was.avatar_url } = input;
  if (name === was.name && description === was.description && avatarUrl === was.avatar_url) return;
  const renamed = { type: "renamed", senderId: userId, targetId: null, data: { name } } as const;
  const ids = new MessageIds(input.messageId, yield* findLastId(conversationId));
  yield* batch([
    sql`UPDATE groups SET name = ${name}, description = ${description}, avatar_url = ${avatarUrl}, version = version + 1
      WHERE id = ${groupId}`,
    ...(name === was.name ? [] : yield* systemMessage(conversationId, ids.next(), renamed, entry.at)),
    publishToMembers("group.updated", entry.at, conversationId, toReference(groupId, conversationId)),
    publishUpdateToInvited(entry.at, groupId),
    recordEntry(entry, "group.updated", groupId),
  ]);
});

export const groupWrites = { createGroup, updateGroup };
