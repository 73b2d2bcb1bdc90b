import { type Reader, type Statement, sql } from "../../sql.ts";
import { all, batch, type Write } from "../../write.ts";
import { INTO_OUTBOX, toReference } from "../events/events.ts";
import { whenErased } from "./peers.ts";

// Invitations are by name. Each request decides who sees one: only a user who has the inviter as a contact that is not blocked.
// Nobody else learns whether that is the case.

/**
 * Holds if the invitation `i` was not declined, and its user is not being erased: it is not for a later user of the name. It
 * uses a scalar, so that a planner looks for the one name.
 */
const STANDS = sql`i.declined_at IS NULL
  AND (SELECT 1 FROM erasing e WHERE e.username_key = i.username_key LIMIT 1) IS NULL`;

/** Holds if `me` has this user as a contact that is not blocked. */
const knows = (userId: Statement) => sql`EXISTS (SELECT 1 FROM users inviter
  JOIN contacts c ON c.owner_id = me.id AND c.username_key = inviter.username_key AND c.blocked_at IS NULL
  WHERE inviter.id = ${userId})`;

/** Holds if the user `me` sees the invitation `i`. */
const IS_SEEN = sql`${STANDS} AND ${knows(sql`i.inviter_id`)}`;

/** Selects the invitations `other` into the group of `i` that `me` sees from other inviters. */
const OTHERS = sql`SELECT 1 FROM invitations other WHERE other.username_key = i.username_key
  AND other.group_id = i.group_id AND other.inviter_id <> i.inviter_id AND other.declined_at IS NULL
  AND ${knows(sql`other.inviter_id`)}`;

/** Holds if `me` sees no earlier invitation into the group of `i`. Only the first inviter is shown. */
const IS_SHOWN = sql`NOT EXISTS (${OTHERS} AND (other.created_at, other.inviter_id) < (i.created_at, i.inviter_id))`;

/** The event when an invitation appears or disappears. If `me` sees another one, only the inviter changes. */
const toEvent = (type: GroupEvent) => sql`CASE WHEN EXISTS (${OTHERS}) THEN 'group.updated' ELSE ${type} END`;

/** An invitation that a user sees. */
export interface SeenInvitation {
  group_id: string;
  member_id: string;
  inviter_id: string;
  created_at: number;
}

const COLUMNS = sql`i.group_id, i.member_id, i.inviter_id, i.created_at`;
const OF_USER = (userId: string) => sql`FROM users me JOIN invitations i ON i.username_key = me.username_key
  WHERE me.id = ${userId}`;

/** Selects the invitation into this group that the user sees: that of the first inviter. */
export function seenInvitation(userId: string, groupId: string): Statement<SeenInvitation> {
  return sql`SELECT ${COLUMNS} ${OF_USER(userId)} AND i.group_id = ${groupId} AND ${IS_SEEN}
    ORDER BY i.created_at, i.inviter_id LIMIT 1`;
}

/** An invitation that the user may see, with its position in a walk through all of them. */
export interface WalkedInvitation extends SeenInvitation {
  is_seen: number;
}

/** A position in the invitations of a user: the group, and the inviter among those of one group. */
export interface InvitationCursor {
  groupId: string;
  inviterId: string;
}

/** Returns the next invitations of the user, seen or not, in the order of their groups. */
export function walkInvitations(
  db: Reader,
  userId: string,
  cursor: InvitationCursor,
  newer: boolean,
  limit: number,
): Promise<WalkedInvitation[]> {
  return db.all(invitationsQuery(userId, cursor, newer, limit));
}

export function invitationsQuery(
  userId: string,
  { groupId, inviterId }: InvitationCursor,
  newer: boolean,
  limit: number,
): Statement<WalkedInvitation> {
  const walk = newer
    ? sql`(i.group_id, i.inviter_id) > (${groupId}, ${inviterId}) ORDER BY i.group_id ASC, i.inviter_id ASC`
    : sql`(i.group_id, i.inviter_id) < (${groupId}, ${inviterId}) ORDER BY i.group_id DESC, i.inviter_id DESC`;
  // A scalar, so that a planner uses the name as a constant to search the index.
  return sql`SELECT ${COLUMNS}, CASE WHEN EXISTS (SELECT 1 FROM users me WHERE me.id = ${userId} AND ${IS_SEEN})
      THEN 1 ELSE 0 END AS is_seen
    FROM invitations i WHERE i.username_key = (SELECT username_key FROM users WHERE id = ${userId}) AND ${walk}
    LIMIT ${limit} + 0`;
}

export interface NewInvitation {
  /** mem_…, if nobody else has invited this name. */
  memberId: string;
  username: string;
  usernameKey: string;
  /** The place of the name in the field `members`; null for the field `username`. */
  index: number | null;
}

/**
 * Part of other writes: invites a name. If another admin has invited it, it keeps the member id that it already has in the
 * group. The steps are the same no matter who has the name.
 */
export function invite(
  groupId: string,
  inviterId: string,
  { memberId, username, usernameKey }: NewInvitation,
  now: number,
): Statement[] {
  return [
    sql`INSERT INTO invitations (group_id, member_id, inviter_id, username_key, username, created_at)
      VALUES (${groupId}, ${memberId}, ${inviterId}, ${usernameKey}, ${username}, ${now})`,
    publishTo(
      toEvent("group.created"),
      now,
      groupId,
      sql`FROM users me JOIN invitations i ON i.username_key = me.username_key WHERE me.username_key = ${usernameKey}
        AND i.group_id = ${groupId} AND i.inviter_id = ${inviterId} AND ${IS_SEEN} AND ${IS_SHOWN}`,
    ),
  ];
}

type GroupEvent = "group.created" | "group.deleted" | "group.updated";

/** Publishes an event about the group to the users `me` of a selection. For them it belongs to no conversation. */
function publishTo(
  type: GroupEvent | Statement,
  at: number,
  groupId: string,
  selection: Statement,
): Statement {
  return sql`${INTO_OUTBOX} SELECT me.id, ${type}, '', ${at}, ${toReference(groupId, null)} ${selection}`;
}

/** Part of other writes: publishes a change of the group to those who see an invitation into it. */
export function publishUpdateToInvited(at: number, groupId: string): Statement {
  return publishTo(
    "group.updated",
    at,
    groupId,
    sql`FROM users me WHERE EXISTS (SELECT 1 FROM invitations i WHERE i.group_id = ${groupId}
      AND i.username_key = me.username_key AND ${IS_SEEN})
      AND me.username_key IN (SELECT username_key FROM invitations WHERE group_id = ${groupId})`,
  );
}

/** Part of other writes: withdraws all invitations of one name into the group. */
export function withdraw(groupId: string, memberId: string, now: number): Statement[] {
  const isThis = sql`i.group_id = ${groupId} AND i.member_id = ${memberId}`;
  return [
    publishTo(
      "group.deleted",
      now,
      groupId,
      sql`FROM users me WHERE me.username_key = (SELECT username_key FROM invitations i WHERE ${isThis} LIMIT 1)
        AND EXISTS (SELECT 1 FROM invitations i WHERE ${isThis} AND ${IS_SEEN})`,
    ),
    sql`DELETE FROM invitations WHERE group_id = ${groupId} AND member_id = ${memberId}`,
  ];
}

/** Part of leaving a group: ends the invitations of this inviter, who has this name, or had it before being erased. */
export function endInvitationsOf(
  groupId: string,
  inviterId: string,
  inviterKey: Statement,
  now: number,
): Statement[] {
  const knowsInviter = sql`EXISTS (SELECT 1 FROM contacts c
    WHERE c.owner_id = me.id AND c.username_key = ${inviterKey} AND c.blocked_at IS NULL)`;
  return [
    publishTo(
      toEvent("group.deleted"),
      now,
      groupId,
      sql`FROM invitations i JOIN users me ON me.username_key = i.username_key
        WHERE i.inviter_id = ${inviterId} AND i.group_id = ${groupId} AND ${STANDS} AND ${knowsInviter} AND ${IS_SHOWN}`,
    ),
    sql`DELETE FROM invitations WHERE inviter_id = ${inviterId} AND group_id = ${groupId}`,
  ];
}

/** Part of other writes: declines an invitation that the user sees, permanently, from all present and future inviters. */
export function decline(userId: string, groupId: string, now: number): Statement[] {
  return [
    publishTo("group.deleted", now, groupId, sql`FROM users me WHERE me.id = ${userId}`),
    sql`UPDATE invitations SET declined_at = ${now} WHERE group_id = ${groupId} AND declined_at IS NULL
      AND username_key = (SELECT username_key FROM users WHERE id = ${userId})`,
  ];
}

/**
 * Part of erasing a user: declines existing invitations of that name, so that no later user of the name gets them. Returns their
 * number.
 */
export function* declineAll(usernameKey: string, now: number, limit: number): Write<number> {
  const found = yield* all<{ group_id: string; inviter_id: string }>(
    sql`SELECT group_id, inviter_id FROM invitations WHERE username_key = ${usernameKey} AND declined_at IS NULL
      AND created_at <= (${whenErased(usernameKey)}) LIMIT ${limit} + 0`,
  );
  yield* batch(
    found.map(
      ({ group_id, inviter_id }) => sql`UPDATE invitations SET declined_at = ${now}
        WHERE username_key = ${usernameKey} AND group_id = ${group_id} AND inviter_id = ${inviter_id}`,
    ),
  );
  return found.length;
}

/** The maximum number of groups that a change of one contact publishes. A client with more must read the list. */
const MAX_PUBLISHED = 1000;

/**
 * Part of writes that change whether the owner has the user of this name as a contact that is not blocked: publishes the
 * groups into which that user has invited the owner. It must run while that is the case: after the change for
 * `group.created`, before it for `group.deleted`.
 */
export function publishInvitationsOf(
  type: "group.created" | "group.deleted",
  at: number,
  ownerId: string,
  usernameKey: string,
): Statement {
  return sql`${INTO_OUTBOX} SELECT me.id, ${toEvent(type)}, '', ${at}, '{"id":"' || i.group_id || '","conversation_id":null}'
    FROM users me JOIN ${invitationsBy(usernameKey, ownerId)} WHERE me.id = ${ownerId} AND ${IS_SEEN} AND ${IS_SHOWN} LIMIT ${MAX_PUBLISHED} + 0`;
}

/** Counts, as a scalar, the invitations of the owner by the user of this name. */
export function countInvitationsBy(usernameKey: string, ownerId: string): Statement {
  return sql`(SELECT COUNT(*) FROM users me JOIN ${invitationsBy(usernameKey, ownerId)} WHERE me.id = ${ownerId})`;
}

/**
 * Joins the invitations `i` of the owner by the user of this name. Uses scalars, so that a planner uses both names as constants to
 * search the index.
 */
function invitationsBy(usernameKey: string, ownerId: string): Statement {
  return sql`invitations i ON i.inviter_id = (SELECT id FROM users WHERE username_key = ${usernameKey})
    AND i.username_key = (SELECT username_key FROM users WHERE id = ${ownerId})`;
}
