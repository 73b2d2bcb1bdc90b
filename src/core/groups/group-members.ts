import {
  findMember,
  findOwnSeat,
  listInvitedRows,
  listMemberRows,
  type MemberRow,
} from "../../db/queries/groups/group-members.ts";
import { MEMBER_VERSIONS } from "../../db/queries/groups/group-roles.ts";
import { ParleyError } from "../../errors.ts";
import { toSeconds } from "../../util/clock.ts";
import { usernameKey } from "../../util/text.ts";
import type { Caller } from "../node/caller.ts";
import type { DataAccess } from "../node/core.ts";
import { newEntry } from "../record/audit-trail.ts";
import { writeIdempotent } from "../record/idempotency.ts";
import { choice, newUsername, type Parsed } from "../resource/fields.ts";
import { type Page, type PageEnvelope, toMergedPage } from "../resource/page.ts";
import { type Expected, readBack, type Versioned, versioned } from "../resource/resource.ts";
import { described, id, oneOf, orNull, resource, type TypeOf, textOrNull, time } from "../resource/schema.ts";
import { toAvatarUrl, userKind } from "../resource/senders.ts";

export const memberResource = resource("Member", {
  id: id("mem"),
  group_id: id("grp"),
  user_id: described(textOrNull, "`usr_…`; null of somebody who is invited."),
  username: described(
    textOrNull,
    "Of somebody who is invited as it was typed; null after the user was erased.",
  ),
  display_name: textOrNull,
  avatar_url: textOrNull,
  kind: described(orNull(userKind), "Null of somebody who is invited, and after the user was erased."),
  role: oneOf("admin", "member", "invited"),
  created_at: described(time, "When the member joined, or was invited."),
});

/** The fields of an invitation. */
export const invitationFields = { username: newUsername };

/** The fields of a member that admins can change. */
export const memberChanges = { role: choice("admin", "member") };

function toJson(core: DataAccess, row: MemberRow): string {
  const member: TypeOf<typeof memberResource> = {
    id: row.id,
    group_id: row.group_id,
    user_id: row.user_id,
    username: row.username,
    display_name: row.display_name,
    avatar_url: row.user_id === null ? null : toAvatarUrl(core, { ...row, id: row.user_id }),
    kind: row.kind,
    role: row.role,
    created_at: toSeconds(row.created_at),
  };
  return JSON.stringify(member);
}

function toVersioned(core: DataAccess, row: MemberRow): Versioned {
  return versioned(toJson(core, row), MEMBER_VERSIONS[row.role]);
}

/** Returns the JSON text of a member who has joined; undefined if the member has left. */
export async function renderMember(
  core: DataAccess,
  groupId: string,
  memberId: string,
): Promise<string | undefined> {
  const row = await findMember(core.db, groupId, memberId);
  return row && row.role !== "invited" ? toJson(core, row) : undefined;
}

/** Returns one page of the members, for an admin including invited names. Throws `group_not_found`. */
export async function listMembers(
  core: DataAccess,
  caller: Caller,
  groupId: string,
  page: Page,
): Promise<PageEnvelope> {
  const seat = await findOwnSeat(core.db, groupId, caller.userId);
  if (!seat) throw new ParleyError("group_not_found");
  const rows = await listMemberRows(core.db, groupId, page);
  if (seat.role === "admin") rows.push(...(await listInvitedRows(core.db, groupId, page)));
  return toMergedPage(
    page,
    rows,
    ({ id }) => id,
    (row) => toJson(core, row),
  );
}

/** Throws `group_not_found` or `not_admin` if the caller has left the group since the first request, or is no longer an admin. */
async function checkAdmin(core: DataAccess, caller: Caller, groupId: string): Promise<void> {
  const seat = await findOwnSeat(core.db, groupId, caller.userId);
  if (seat?.role !== "admin") throw new ParleyError(seat ? "not_admin" : "group_not_found");
}

/** Throws `member_not_found`. */
async function readMember(core: DataAccess, groupId: string, memberId: string): Promise<Versioned> {
  const row = await findMember(core.db, groupId, memberId);
  if (!row) throw new ParleyError("member_not_found");
  return toVersioned(core, row);
}

/** Throws `group_not_found` and `member_not_found`, the latter also for an invitation if the caller is not an admin. */
export async function getMember(
  core: DataAccess,
  caller: Caller,
  groupId: string,
  memberId: string,
): Promise<Versioned> {
  const seat = await findOwnSeat(core.db, groupId, caller.userId);
  if (!seat) throw new ParleyError("group_not_found");
  const row = await findMember(core.db, groupId, memberId);
  if (!row || (row.role === "invited" && seat.role !== "admin")) throw new ParleyError("member_not_found");
  return toVersioned(core, row);
}

/**
 * Invites a username. The answer is the same whether it belongs to a contact, a stranger, somebody who has blocked the
 * caller, or nobody. Throws `group_not_found`, `not_admin` and `count_limit_reached`.
 */
export async function inviteMember(
  core: DataAccess,
  caller: Caller,
  groupId: string,
  { username }: Parsed<typeof invitationFields>,
  key?: string,
): Promise<Versioned> {
  const asked = ["inviteMember", groupId, username];
  const { result, replayed } = await writeIdempotent(core, { caller, key, asked }, "inviteMember", {
    groupId,
    userId: caller.userId,
    invited: { memberId: core.newId("mem"), username, usernameKey: usernameKey(username) },
    maxMembers: core.limits.maxMembers,
    entry: newEntry(core, caller),
  });
  if (replayed) await readBack(checkAdmin(core, caller, groupId));
  return { ...(await readBack(readMember(core, groupId, result.id))), replayed };
}

/** Changes the role of a member. Throws `group_not_found`, `not_admin`, `member_not_found` and `precondition_failed`. */
export async function updateMember(
  core: DataAccess,
  caller: Caller,
  groupId: string,
  memberId: string,
  { role }: Parsed<typeof memberChanges>,
  expected: Expected,
): Promise<Versioned> {
  await core.db.write("updateMember", {
    groupId,
    userId: caller.userId,
    memberId,
    role,
    messageId: core.newId("msg"),
    expected,
    entry: newEntry(core, caller),
  });
  return readBack(readMember(core, groupId, memberId));
}

/** Removes a member, or withdraws an invitation. Throws what `updateMember` throws. */
export async function removeMember(
  core: DataAccess,
  caller: Caller,
  groupId: string,
  memberId: string,
  expected: Expected,
): Promise<void> {
  await core.db.write("removeMember", {
    groupId,
    userId: caller.userId,
    memberId,
    messageId: core.newId("msg"),
    expected,
    limit: core.limits.erasedRowsAtOnce,
    entry: newEntry(core, caller),
  });
  core.wakeEraser();
}
