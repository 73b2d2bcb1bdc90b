// Groups: who sees an invitation, who decides, what a new member sees, and that all rows are erased.
import type { Mutant } from "./mutant.ts";

export const groups: readonly Mutant[] = [
  {
    name: "groups: a member who is no admin retrieves an invitation",
    find: '|| (row.role === "invited" && seat.role !== "admin")',
    replace: "",
    tests: ["acceptance/group-members"],
  },
  {
    name: "groups: a user who blocked the inviter sees the invitation",
    find: "inviter.username_key AND c.blocked_at IS NULL WHERE inviter.id = ${userId})",
    replace: "inviter.username_key WHERE inviter.id = ${userId})",
    tests: ["contract/group-invitations"],
  },
  {
    name: "groups: a user who does not know the inviter sees the invitation",
    find: "const IS_SEEN = sql`${STANDS} AND ${knows(sql`i.inviter_id`)}`;",
    replace: "const IS_SEEN = sql`${STANDS} AND (1 = 1 OR ${knows(sql`i.inviter_id`)})`;",
    tests: ["acceptance/group-members"],
  },
  {
    name: "groups: a new user of a name that is being erased gets its invitations",
    find: "AND (SELECT 1 FROM erasing e WHERE e.username_key = i.username_key LIMIT 1) IS NULL`;",
    replace: "`;",
    tests: ["contract/group-erasing"],
  },
  {
    name: "groups: a later user of an erased name gets its invitations",
    find: "(left: number) => declineAll(user.username_key, now, left),",
    replace: "",
    tests: ["contract/group-erasing"],
  },
  {
    name: "groups: an erased user stays the inviter of members",
    find: "(left: number) => forgetInviter(user.user_id, left),",
    replace: "",
    tests: ["contract/group-erasing"],
  },
  {
    name: "groups: an error reveals to a stranger that the group exists",
    find: 'throw new ParleyError(isSeen ? "not_admin" : "group_not_found");',
    replace: 'throw new ParleyError("not_admin");',
    tests: ["http/matrix"],
  },
  {
    name: "groups: members who are not admins see invitations",
    find: 'if (seat.role === "admin") rows.push',
    replace: "rows.push",
    tests: ["acceptance/group-members"],
  },
  {
    name: 'groups: a new member sees earlier messages although history is "joined"',
    find: 'group.history === "all" && group.departed === 0',
    replace: "group.departed === 0",
    tests: ["acceptance/group-messages"],
  },
  {
    name: "groups: a member who comes back sees earlier messages",
    find: 'group.history === "all" && group.departed === 0',
    replace: 'group.history === "all"',
    tests: ["acceptance/group-messages"],
  },
  {
    name: "groups: a new member gets messages of blocked users",
    find: "mayWithhold: seesAll && group.blocked > 0,",
    replace: "mayWithhold: false,",
    tests: ["contract/group-invitations"],
  },
  {
    name: "groups: a block during joining withholds nothing",
    find: "WHERE ${isThis} AND blocks = ${blocks}`",
    replace: "WHERE ${isThis}`",
    tests: ["contract/group-invitations"],
  },
  {
    name: "groups: joining does not wait until all messages of blocked users are withheld",
    find: "return looked.length < limit;",
    replace: "return true;",
    tests: ["contract/group-invitations"],
  },
  {
    name: "groups: a new member gets messages that only a deleted user sees",
    find: "OR EXISTS (SELECT 1 ${erasedMembers(sql`g.conversation_id`)})",
    replace: "",
    tests: ["contract/group-erasing"],
  },
  {
    name: "groups: joining ignores a member who left meanwhile",
    find: "if (!group.mustErase && (!group.mayWithhold",
    replace: "if ((!group.mayWithhold",
    tests: ["contract/group-erasing"],
  },
  {
    name: "groups: a replay shows a member to an admin who has left",
    find: "if (replayed) await readBack(checkAdmin(core, caller, groupId)); return { ...(await",
    replace: "return { ...(await",
    tests: ["acceptance/group-members"],
  },
];
