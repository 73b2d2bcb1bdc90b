// Groups: who sees an invitation, who decides, what a new member sees, and that nothing is left behind.
import type { Mutant } from "./mutant.ts";

const INVITATIONS = "src/db/queries/people/invitations.ts";
const GROUPS = "src/db/queries/groups/groups.ts";
const MEMBERS = "src/db/queries/groups/group-members.ts";
const ROLES = "src/db/queries/groups/group-roles.ts";
const JOINING = "src/db/queries/groups/group-joining.ts";
const LEAVING = "src/db/queries/groups/group-leaving.ts";
const MESSAGES = "src/db/queries/messages/message-read.ts";
const HTTP = ["http/groups/groups"];
const MATRIX = ["http/visibility/matrix"];
const BLACK_BOX = ["acceptance/groups/group-members"];
const SAID = ["acceptance/groups/group-messages"];
const ERASING = ["contract/groups/group-erasing"];
const INVITING = ["contract/groups/group-invitations"];

const invited: readonly Mutant[] = [
  {
    name: "groups: a member retrieves an invitation",
    file: "src/core/groups/group-members.ts",
    find: ' || (row.role === "invited" && seat.role !== "admin")',
    replace: "",
    tests: BLACK_BOX,
  },
  {
    name: "groups: an invitation shows to somebody who has blocked the inviter",
    file: INVITATIONS,
    find: "inviter.username_key AND c.blocked_at IS NULL\n  WHERE inviter.id = ${userId})",
    replace: "inviter.username_key\n  WHERE inviter.id = ${userId})",
    tests: HTTP,
  },
  {
    name: "groups: an invitation shows to a stranger",
    file: INVITATIONS,
    find: "const IS_SEEN = sql`${STANDS} AND ${knows(sql`i.inviter_id`)}`;",
    replace: "const IS_SEEN = sql`${STANDS} AND (1 = 1 OR ${knows(sql`i.inviter_id`)})`;",
    tests: [...HTTP, ...BLACK_BOX],
  },
  {
    name: "groups: a declined invitation shows again",
    file: INVITATIONS,
    find: "const STANDS = sql`i.declined_at IS NULL\n  AND ",
    replace: "const STANDS = sql`1 = 1\n  AND ",
    tests: [...HTTP, ...BLACK_BOX],
  },
  {
    name: "groups: inviting again undoes that the user has declined",
    file: MEMBERS,
    find: " OR i.declined_at IS NOT NULL",
    replace: "",
    tests: INVITING,
  },
  {
    name: "groups: whoever has the name of a user who is being erased gets the invitations",
    file: INVITATIONS,
    find: "  AND (SELECT 1 FROM erasing e WHERE e.username_key = i.username_key LIMIT 1) IS NULL`;",
    replace: "`;",
    tests: ERASING,
  },
  {
    name: "groups: a later user of an erased name gets the invitations",
    file: "src/db/queries/upkeep/erasing.ts",
    find: "    (left: number) => declineAll(user.username_key, now, left),\n",
    replace: "",
    tests: ERASING,
  },
  {
    name: "groups: erasing a user declines invitations of the name that came later",
    file: INVITATIONS,
    find: "\n      AND created_at <= (${whenErased(usernameKey)})",
    replace: "\n     ",
    tests: ERASING,
  },
  {
    name: "groups: somebody who is not invited any more by one inviter hears so, though another's invitation stands",
    file: INVITATIONS,
    find: "CASE WHEN EXISTS (${OTHERS}) THEN 'group.updated' ELSE ${type} END",
    replace: "${type}",
    tests: ERASING,
  },
  {
    name: "groups: somebody who is invited hears of an inviter who is not shown",
    file: INVITATIONS,
    find: "${STANDS} AND ${knowsInviter} AND ${IS_SHOWN}`",
    replace: "${STANDS} AND ${knowsInviter}`",
    tests: INVITING,
  },
  {
    name: "groups: blocking an inviter who is not shown is an event",
    file: INVITATIONS,
    find: "${IS_SEEN} AND ${IS_SHOWN} LIMIT",
    replace: "${IS_SEEN} LIMIT",
    tests: INVITING,
  },
  {
    name: "groups: nobody hears that an erased inviter's invitation has ended",
    file: INVITATIONS,
    find: "${STANDS} AND ${knowsInviter} AND",
    replace: "${IS_SEEN} AND ${knowsInviter} AND",
    tests: ERASING,
  },
  {
    name: "groups: inviting a user takes another step than inviting nobody",
    file: MEMBERS,
    find: "    const username = found.invited_username ?? invited.username;\n",
    replace:
      "    if (yield* get(sql`SELECT id FROM users WHERE username_key = ${usernameKey}`)) yield* get(sql`SELECT 1 AS one`);\n    const username = found.invited_username ?? invited.username;\n",
    tests: ["http/groups/inviting"],
  },
  {
    name: "groups: an invited user is shown by the name that the user has",
    file: MEMBERS,
    find: "i.group_id, NULL AS user_id,",
    replace: "i.group_id, (SELECT id FROM users WHERE username_key = i.username_key) AS user_id,",
    tests: ["http/groups/inviting", ...BLACK_BOX],
  },
  {
    name: "groups: invitations count for no limit",
    file: MEMBERS,
    find: "found.invited_id === null && found.count >= maxMembers",
    replace: "found.invited_id === null && found.count > maxMembers",
    tests: HTTP,
  },
  {
    name: "groups: a new group has more members than the limit",
    file: GROUPS,
    find: "others.length >= input.maxMembers",
    replace: "others.length > input.maxMembers",
    tests: HTTP,
  },
];

const deciding: readonly Mutant[] = [
  {
    name: "groups: every member is an admin",
    file: GROUPS,
    find: 'if (seat?.role === "admin") return seat;',
    replace: "if (seat) return seat;",
    tests: [...MATRIX, ...BLACK_BOX],
  },
  {
    name: "groups: the refusal of an admin's request tells a stranger that the group is there",
    file: GROUPS,
    find: 'throw new ParleyError(isSeen ? "not_admin" : "group_not_found");',
    replace: 'throw new ParleyError("not_admin");',
    tests: MATRIX,
  },
  {
    name: "groups: members who are no admins see who is invited",
    file: "src/core/groups/group-members.ts",
    find: 'if (seat.role === "admin") rows.push',
    replace: "rows.push",
    tests: [...HTTP, ...BLACK_BOX],
  },
  {
    name: "groups: a replay shows a member to somebody who has left",
    file: "src/core/groups/group-members.ts",
    find: "  if (replayed) await readBack(checkAdmin(core, caller, groupId));\n",
    replace: "",
    tests: BLACK_BOX,
  },
  {
    name: "groups: the last admin leaves without another",
    file: LEAVING,
    find: 'if (heir && heir.role !== "admin") yield*',
    replace: 'if (heir && heir.role === "member" && limit < 0) yield*',
    tests: [...HTTP, ...ERASING],
  },
  {
    name: "groups: the last admin steps down without another",
    file: ROLES,
    find: 'if (heir.role !== "admin") yield*',
    replace: 'if (heir.role === "admin") yield*',
    tests: [...HTTP, ...BLACK_BOX],
  },
  {
    name: "groups: somebody who is alone steps down",
    file: ROLES,
    find: "      if (!heir) return;\n      if (heir.role",
    replace: "      if (heir && heir.role",
    tests: [...HTTP, ...BLACK_BOX],
  },
  {
    name: "groups: leaving says by another step whether a group is there",
    file: LEAVING,
    find: "    if (!seat && !(yield* get(seenInvitation(userId, groupId)))) throw",
    replace:
      "    const isThere = seat ?? (yield* get(sql`SELECT 1 FROM groups WHERE id = ${groupId}`));\n    if (!seat && !(isThere && (yield* get(seenInvitation(userId, groupId))))) throw",
    tests: MATRIX,
  },
  {
    name: "groups: a member is changed whatever If-Match says",
    file: ROLES,
    find: '  checkVersion(expected, MEMBER_VERSIONS[seat?.role ?? "invited"]);\n',
    replace: "",
    tests: BLACK_BOX,
  },
];

const joining: readonly Mutant[] = [
  {
    name: "groups: a new member sees what was sent before, though history is joined",
    file: JOINING,
    find: 'group.history === "all" && group.departed === 0',
    replace: "group.departed === 0",
    tests: [...HTTP, ...SAID],
  },
  {
    name: "groups: who comes back sees what was sent before",
    file: JOINING,
    find: 'group.history === "all" && group.departed === 0',
    replace: 'group.history === "all"',
    tests: [...HTTP, ...SAID],
  },
  {
    name: "groups: a new member gets what blocked users had sent",
    file: JOINING,
    find: "mayWithhold: seesAll && group.blocked > 0,",
    replace: "mayWithhold: false,",
    tests: HTTP,
  },
  {
    name: "groups: joining does not wait until all is withheld",
    file: JOINING,
    find: "  return looked.length < limit;",
    replace: "  return true;",
    tests: HTTP,
  },
  {
    name: "groups: who joins gets what nobody sees any more and is being erased",
    file: JOINING,
    find: "mustErase: seesAll && group.has_remains === 1,",
    replace: "mustErase: false,",
    tests: ERASING,
  },
  {
    name: "groups: who joins gets what only a user sees who is being erased",
    file: JOINING,
    find: "\n        OR EXISTS (SELECT 1 ${erasedMembers(sql`g.conversation_id`)})",
    replace: "",
    tests: ERASING,
  },
  {
    name: "groups: joining does not look whether somebody has left meanwhile",
    file: JOINING,
    find: "if (group.mustErase || (group.mayWithhold",
    replace: "if ((group.mayWithhold",
    tests: ERASING,
  },
  {
    name: "groups: blocking somebody while joining withholds nothing of them",
    file: JOINING,
    find: "WHERE ${isThis} AND blocks = ${blocks}`",
    replace: "WHERE ${isThis}`",
    tests: INVITING,
  },
  {
    name: "groups: all that was sent before is unread for a new member",
    file: GROUPS,
    find: "VALUES (${userId}, ${conversationId}, ${messageId})`",
    replace: "VALUES (${userId}, ${conversationId}, '')`",
    tests: SAID,
  },
  {
    name: "groups: members who have left can be mentioned",
    file: "src/db/queries/messages/message-send.ts",
    find: "m.conversation_id = d.conversation_id AND m.group_id IS NOT NULL",
    replace: "m.conversation_id = d.conversation_id AND m.group_id = ''",
    tests: SAID,
  },
  {
    name: "groups: messages of the system are edited",
    file: MESSAGES,
    find: 'message.sender_id !== userId || message.type !== "text"',
    replace: "message.sender_id !== userId",
    tests: SAID,
  },
];

const leaving: readonly Mutant[] = [
  {
    name: "groups: a member who has left is not noted",
    file: LEAVING,
    find: "        ...(erasedKey !== undefined ? [] : [noteDeparture(conversationId, userId)]),\n",
    replace: "",
    tests: HTTP,
  },
  {
    name: "groups: the invitations of somebody who has left stand",
    file: LEAVING,
    find: "    ...endInvitationsOf(\n      groupId,",
    replace: '    ...endInvitationsOf(\n      "",',
    tests: ERASING,
  },
  {
    name: "groups: a group stays after its last member",
    file: LEAVING,
    find: "    sql`DELETE FROM groups WHERE id = ${groupId}`,\n",
    replace: "",
    tests: ERASING,
  },
  {
    name: "groups: what was withheld from somebody about to join stays after the last member",
    file: LEAVING,
    find: "SELECT p.conversation_id, p.user_id, c.last_id, ''",
    replace: "SELECT p.conversation_id, p.user_id, '', ''",
    tests: ERASING,
  },
  {
    name: "groups: a user who is erased while joining is still about to",
    file: "src/db/queries/upkeep/erasing.ts",
    find: 'eraseSome("preparing", ["conversation_id", "user_id"], sql`user_id = ${user.user_id}`, left)',
    replace: 'eraseSome("preparing", ["conversation_id", "user_id"], sql`user_id = \'\'`, left)',
    tests: ERASING,
  },
  {
    name: "groups: leaving two groups gives two messages one id",
    file: LEAVING,
    find: "taken < 2;",
    replace: "taken < 1;",
    tests: ERASING,
  },
  {
    name: "groups: an erased user gets an event",
    file: LEAVING,
    find: "FROM users WHERE id = ${userId}`,\n",
    replace: "FROM (SELECT ${userId} AS id) u`,\n",
    tests: ERASING,
  },
];

export const groups: readonly Mutant[] = [...invited, ...deciding, ...joining, ...leaving];
