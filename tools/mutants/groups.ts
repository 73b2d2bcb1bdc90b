// Groups: who sees an invitation, who decides, what a new member sees, and that nothing is left behind.
import type { Mutant } from "./mutant.ts";

export const groups: readonly Mutant[] = [
  {
    name: "groups: a member retrieves an invitation",
    find: '|| (row.role === "invited" && seat.role !== "admin")',
    replace: "",
    tests: ["acceptance/group-members"],
  },
  {
    name: "groups: an invitation shows to somebody who has blocked the inviter",
    find: "inviter.username_key AND c.blocked_at IS NULL WHERE inviter.id = ${userId})",
    replace: "inviter.username_key WHERE inviter.id = ${userId})",
    tests: ["contract/group-invitations"],
  },
  {
    name: "groups: an invitation shows to a stranger",
    find: "const IS_SEEN = sql`${STANDS} AND ${knows(sql`i.inviter_id`)}`;",
    replace: "const IS_SEEN = sql`${STANDS} AND (1 = 1 OR ${knows(sql`i.inviter_id`)})`;",
    tests: ["acceptance/group-members"],
  },
  {
    name: "groups: whoever has the name of a user who is being erased gets the invitations",
    find: "AND (SELECT 1 FROM erasing e WHERE e.username_key = i.username_key LIMIT 1) IS NULL`;",
    replace: "`;",
    tests: ["contract/group-erasing"],
  },
  {
    name: "groups: a later user of an erased name gets the invitations",
    find: "(left: number) => declineAll(user.username_key, now, left),",
    replace: "",
    tests: ["contract/group-erasing"],
  },
  {
    name: "groups: the refusal of an admin's request tells a stranger that the group is there",
    find: 'throw new ParleyError(isSeen ? "not_admin" : "group_not_found");',
    replace: 'throw new ParleyError("not_admin");',
    tests: ["http/matrix"],
  },
  {
    name: "groups: members who are no admins see who is invited",
    find: 'if (seat.role === "admin") rows.push',
    replace: "rows.push",
    tests: ["acceptance/group-members"],
  },
  {
    name: "groups: a new member sees what was sent before, though history is joined",
    find: 'group.history === "all" && group.departed === 0',
    replace: "group.departed === 0",
    tests: ["acceptance/group-messages"],
  },
  {
    name: "groups: who comes back sees what was sent before",
    find: 'group.history === "all" && group.departed === 0',
    replace: 'group.history === "all"',
    tests: ["acceptance/group-messages"],
  },
  {
    name: "groups: a new member gets what blocked users had sent",
    find: "mayWithhold: seesAll && group.blocked > 0,",
    replace: "mayWithhold: false,",
    tests: ["contract/group-invitations"],
  },
  {
    name: "groups: blocking somebody while joining withholds nothing of them",
    find: "WHERE ${isThis} AND blocks = ${blocks}`",
    replace: "WHERE ${isThis}`",
    tests: ["contract/group-invitations"],
  },
];
