import { list, padded, sql } from "../../sql.ts";
import { all, batch, get, type Write, write } from "../../write.ts";
import { MessageIds } from "../messages/message-system.ts";
import { grantFiles } from "../people/conversation-joining.ts";
import type { NewInvitation } from "../people/invitations.ts";
import { getNamed } from "../people/users.ts";
import type { NewEntry } from "../record/audit-trail.ts";
import { demandReady, getJoined, type Joined } from "./group-joining.ts";
import { type Added, addStatements, getAdminSeat, tooManyMembers } from "./groups.ts";

interface AddMembers {
  groupId: string;
  /** An admin. */
  userId: string;
  /** Names that differ from each other. */
  names: readonly NewInvitation[];
  /** The id of the system message about it, unless the conversation already has a later one. */
  messageId: string;
  /** How many members a group may have, including invited ones. */
  maxMembers: number;
  /** How many rows to look at or write at once. */
  limit: number;
  /** The entry after which those of the members follow. */
  entry: NewEntry;
}

/**
 * Makes users members without an invitation, with one system message, and returns the ids of the members in the order of the names.
 * Nothing changes for a name that is a member. Throws what `getAdminSeat` and `getNamed` throw, `count_limit_reached`, and
 * `unavailable` if `prepareJoin` meanwhile has more to do.
 */
const addMembers = write(
  { publishesEvents: true, serializeBy: ({ groupId }) => groupId },
  function* ({ groupId, userId, names, maxMembers, limit, entry, ...input }: AddMembers): Write<{
    ids: string[];
  }> {
    const admin = yield* getAdminSeat(groupId, userId);
    const { conversation_id: conversationId } = admin;
    const users = yield* getNamed(names);
    const known = yield* findKnown(groupId, conversationId, users, names);
    const ids = names.map(({ memberId }, i) => known.ids[i] ?? memberId);
    const added = users.flatMap((user, i) =>
      known.seated.has(user.id) ? [] : [{ id: user.id, memberId: ids[i]! }],
    );
    if (added.length === 0) return { ids };
    const uninvited = added.filter(({ memberId }) => !known.invited.has(memberId));
    if (uninvited.length > 0 && known.count + uninvited.length > maxMembers) throw tooManyMembers(maxMembers);
    const joining: (Added & { joined: Joined })[] = [];
    for (const each of added) {
      const joined = yield* getJoined(groupId, each.id, each.memberId);
      yield* demandReady(joined, each.id, limit);
      joining.push({ ...each, sinceId: joined.seesAll ? "" : joined.last_id, joined });
    }
    const messageId = new MessageIds(input.messageId, joining[0]!.joined.last_id).next();
    const isNew = sql`user_id IN (${list(padded(joining.map(({ id }) => id)))})`;
    const keys = users.map(({ username_key }) => username_key);
    yield* batch([
      sql`DELETE FROM invitations WHERE group_id = ${groupId} AND username_key IN (${list(padded(keys))})`,
      sql`DELETE FROM preparing WHERE conversation_id = ${conversationId} AND ${isNew}`,
      ...(yield* addStatements(admin, joining, messageId, entry)),
    ]);
    const share = Math.ceil(limit / joining.length);
    for (const { id, joined } of joining)
      if (joined.seesAll) yield* batch(yield* grantFiles(conversationId, id, share));
    return { ids };
  },
);

/** Finds those of the users who are members or invited, and counts the members and the invited names of the group. */
function* findKnown(
  groupId: string,
  conversationId: string,
  users: readonly { id: string; username_key: string }[],
  names: readonly NewInvitation[],
) {
  const seats = yield* all<{ user_id: string; member_id: string }>(
    sql`SELECT user_id, member_id FROM members
      WHERE conversation_id = ${conversationId} AND user_id IN (${list(padded(users.map(({ id }) => id)))})`,
  );
  const invitations = yield* all<{ username_key: string; member_id: string }>(
    sql`SELECT username_key, MIN(member_id) AS member_id FROM invitations
      WHERE group_id = ${groupId} AND username_key IN (${list(padded(names.map((name) => name.usernameKey)))})
      GROUP BY username_key`,
  );
  const counted = yield* get<{ count: number }>(
    sql`SELECT (SELECT COUNT(*) FROM members s WHERE s.conversation_id = ${conversationId})
      + (SELECT COUNT(DISTINCT i.member_id) FROM invitations i WHERE i.group_id = ${groupId}) AS count`,
  );
  const seatOf = new Map(seats.map(({ user_id, member_id }) => [user_id, member_id]));
  const invitationOf = new Map(invitations.map(({ username_key, member_id }) => [username_key, member_id]));
  return {
    seated: new Set(seatOf.keys()),
    invited: new Set(invitationOf.values()),
    ids: users.map(({ id, username_key }) => seatOf.get(id) ?? invitationOf.get(username_key)),
    count: counted!.count,
  };
}

export const addingWrites = { addMembers };
