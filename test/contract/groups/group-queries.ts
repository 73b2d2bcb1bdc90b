import type { Page } from "../../../src/db/page.ts";
import { invitedQuery, membersQuery } from "../../../src/db/queries/groups/group-members.ts";
import { joinedQuery } from "../../../src/db/queries/groups/groups.ts";
import { invitationsQuery } from "../../../src/db/queries/people/invitations.ts";
import type { Statement } from "../../../src/db/sql.ts";

/** Returns the queries of the lists of groups, members and invitations. */
export function groupQueries(page: Page): Statement[] {
  return [
    joinedQuery("usr_x", page),
    membersQuery("grp_7", "usr_x", page),
    invitedQuery("grp_7", page),
    invitationsQuery("usr_x", { groupId: page.cursor, inviterId: "" }, page.newer, page.limit),
  ];
}
