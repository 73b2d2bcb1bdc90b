import {
  findAllMembers,
  findMember,
  findMembers,
  findOwnSeat,
  listInvitedRows,
  listMemberRows,
  type MemberRow,
} from "../../db/queries/groups/group-members.ts";
import { MEMBER_VERSIONS } from "../../db/queries/groups/group-roles.ts";
import { findGroups } from "../../db/queries/groups/groups.ts";
import type { NewInvitation } from "../../db/queries/people/invitations.ts";
import { findNamed } from "../../db/queries/people/users.ts";
import type { QuickReader } from "../../db/sql.ts";
import { ParleyError } from "../../errors.ts";
import { toSeconds } from "../../util/clock.ts";
import type { Caller } from "../node/caller.ts";
import type { DataAccess } from "../node/core.ts";
import { newEntry } from "../record/audit-trail.ts";
import { isReplay, writeIdempotent } from "../record/idempotency.ts";
import {
  choice,
  describedField,
  missingField,
  newUsername,
  optional,
  type Parsed,
  trueOrFalse,
} from "../resource/fields.ts";
import { usernames } from "../resource/list-fields.ts";
import { type Page, type PageEnvelope, toMergedPage } from "../resource/page.ts";
import { type Expected, readBack, type Versioned, versioned } from "../resource/resource.ts";
import {
  anyOf,
  described,
  id,
  listOf,
  object,
  oneOf,
  orNull,
  resource,
  type TypeOf,
  textOrNull,
  time,
  withOptional,
} from "../resource/schema.ts";
import { type Origin, toAvatarUrl, userKind } from "../resource/senders.ts";
import { demandJoining, newInvitation, newInvitations } from "./groups.ts";

export const memberResource = withOptional(
  resource("Member", {
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
    read_message_id: described(
      textOrNull,
      "The message up to which the member has read, as far as you may know. Events do not have it.",
    ),
  }),
  "read_message_id",
);

/** The fields of an invitation or, with `joined`, of new members. */
export const invitationFields = {
  username: optional(describedField(newUsername, "Required, unless `members` is given.")),
  members: optional(
    describedField(
      usernames,
      "With `joined`, instead of `username`: up to 100 names, also by repeating it in a form.",
    ),
  ),
  joined: optional(
    describedField(
      trueOrFalse,
      "True makes the user a member at once, without an invitation. Needs the scope `act_as`.",
    ),
  ),
};

/** The answer to `members`. */
export const addedMembers = object({ data: listOf(anyOf(memberResource)) });

/** The fields of a member that admins can change. */
export const memberChanges = { role: choice("admin", "member") };

function toMember(core: Origin, row: MemberRow): TypeOf<typeof memberResource> {
  return {
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
}

/** Returns the JSON text of a member as the reader of the row sees it. */
function toJson(core: Origin, row: MemberRow): string {
  return JSON.stringify({ ...toMember(core, row), read_message_id: row.read_id });
}

function toVersioned(core: DataAccess, row: MemberRow): Versioned {
  return versioned(toJson(core, row), MEMBER_VERSIONS[row.role]);
}

/** Returns the JSON text of a member who has joined, as all members see it; undefined if the member has left. */
export async function renderMember(
  core: DataAccess,
  groupId: string,
  memberId: string,
): Promise<string | undefined> {
  const row = await findMember(core.db, groupId, memberId, null);
  return row && row.role !== "invited" ? JSON.stringify(toMember(core, row)) : undefined;
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
  const rows = await listMemberRows(core.db, groupId, caller.userId, page);
  if (seat.role === "admin") rows.push(...(await listInvitedRows(core.db, groupId, page)));
  return toMergedPage(
    page,
    rows,
    ({ id }) => id,
    (row) => toJson(core, row),
  );
}

/** Returns the JSON texts of all members of groups of the user, by group, in the order of `listMembers`. */
export async function renderMembers(
  core: DataAccess<QuickReader>,
  userId: string,
  groupIds: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const rows = groupIds.length === 0 ? [] : await findAllMembers(core.db, groupIds, userId);
  const members = new Map(groupIds.map((id) => [id, [] as string[]]));
  for (const row of rows) members.get(row.group_id)?.push(toJson(core, row));
  return members;
}

/** Throws `group_not_found` or `not_admin` if the caller has left the group since the first request, or is no longer an admin. */
async function checkAdmin(core: DataAccess, caller: Caller, groupId: string): Promise<void> {
  const seat = await findOwnSeat(core.db, groupId, caller.userId);
  if (seat?.role !== "admin") throw new ParleyError(seat ? "not_admin" : "group_not_found");
}

/** Throws `member_not_found`. */
async function readMember(
  core: DataAccess,
  caller: Caller,
  groupId: string,
  memberId: string,
): Promise<Versioned> {
  const row = await findMember(core.db, groupId, memberId, caller.userId);
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
  const row = await findMember(core.db, groupId, memberId, caller.userId);
  if (!row || (row.role === "invited" && seat.role !== "admin")) throw new ParleyError("member_not_found");
  return toVersioned(core, row);
}

/**
 * Invites a username or, with `joined`, makes users members at once. Returns the member, or a list if `members` is given. Throws what
 * `inviteMember` and `addMembers` throw, `missing_parameter` and `invalid_parameter`.
 */
export async function createMembers(
  core: DataAccess,
  caller: Caller,
  groupId: string,
  { username, members, joined = false }: Parsed<typeof invitationFields>,
  key?: string,
): Promise<Versioned> {
  const named = username === undefined ? [] : [newInvitation(core, username)];
  const names = members ? newInvitations(core, members) : named;
  if (members && (!joined || username !== undefined)) {
    const detail = "Send members only with joined, and without username.";
    throw new ParleyError("invalid_parameter", detail, { param: "members" });
  }
  if (members?.length === 0) {
    throw new ParleyError("invalid_parameter", "members must not be empty. Name at least one user.", {
      param: "members",
    });
  }
  if (!names[0]) throw missingField("username", newUsername);
  if (!joined) return inviteMember(core, caller, groupId, names[0], key);
  const { rows, replayed } = await addMembers(core, caller, groupId, names, key);
  if (members)
    return { ...versioned(`{"data":[${rows.map((row) => toJson(core, row)).join(",")}]}`, 1), replayed };
  if (!rows[0]) throw new ParleyError("member_not_found");
  return { ...toVersioned(core, rows[0]), replayed };
}

/**
 * Makes users members at once. Those who are members already stay so. Returns them in the order of the names. Throws `user_not_found`,
 * `group_not_found`, `not_admin`, `count_limit_reached`, and what `demandJoining` throws.
 */
async function addMembers(
  core: DataAccess,
  caller: Caller,
  groupId: string,
  names: readonly NewInvitation[],
  key: string | undefined,
): Promise<{ rows: MemberRow[]; replayed: boolean }> {
  demandJoining(caller, names);
  const { userId } = caller;
  if (key === undefined || !(await isReplay(core, caller, key))) await prepare(core, userId, groupId, names);
  const asked = ["addMembers", groupId, names.map(({ username }) => username)];
  const { result, replayed } = await writeIdempotent(core, { caller, key, asked }, "addMembers", {
    groupId,
    userId,
    names,
    messageId: core.newId("msg"),
    maxMembers: core.limits.maxMembers,
    limit: core.limits.erasedRowsAtOnce,
    entry: newEntry(core, caller),
  });
  core.wakeEraser();
  if (replayed) await readBack(checkAdmin(core, caller, groupId));
  return { rows: await readBack(findMembers(core.db, groupId, result.ids, caller.userId)), replayed };
}

/** Takes the steps that come before joining. Throws `user_not_found`. */
async function prepare(
  core: DataAccess,
  adminId: string,
  groupId: string,
  names: readonly NewInvitation[],
): Promise<void> {
  const seat = await findOwnSeat(core.db, groupId, adminId);
  const [group] = await findGroups(core.db, [groupId]);
  // The write finds the reason to refuse it.
  if (seat?.role !== "admin" || group?.history !== "all") return;
  const limit = core.limits.erasedRowsAtOnce;
  for (const { id: userId } of await findNamed(core.db, names)) {
    const isReady = () =>
      core.db.write("prepareJoin", {
        groupId,
        userId,
        isAdded: true,
        now: core.clock(),
        messageId: core.newId("msg"),
        limit,
      });
    while (!(await isReady()));
  }
}

/**
 * Invites a username. The answer is the same whether it belongs to a contact, a stranger, somebody who has blocked the
 * caller, or nobody. Throws `group_not_found`, `not_admin` and `count_limit_reached`.
 */
async function inviteMember(
  core: DataAccess,
  caller: Caller,
  groupId: string,
  invited: NewInvitation,
  key?: string,
): Promise<Versioned> {
  const asked = ["inviteMember", groupId, invited.username];
  const { result, replayed } = await writeIdempotent(core, { caller, key, asked }, "inviteMember", {
    groupId,
    userId: caller.userId,
    invited,
    maxMembers: core.limits.maxMembers,
    entry: newEntry(core, caller),
  });
  if (replayed) await readBack(checkAdmin(core, caller, groupId));
  return { ...(await readBack(readMember(core, caller, groupId, result.id))), replayed };
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
  return readBack(readMember(core, caller, groupId, memberId));
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
