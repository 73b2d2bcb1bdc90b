import {
  findGroups,
  findInvitation,
  findJoined,
  type GroupRow,
  type JoinedGroupRow,
  listJoined,
} from "../../db/queries/groups/groups.ts";
import {
  type NewInvitation,
  type SeenInvitation,
  walkInvitations,
} from "../../db/queries/people/invitations.ts";
import { findSenders } from "../../db/queries/people/users.ts";
import { ParleyError } from "../../errors.ts";
import { toSeconds } from "../../util/clock.ts";
import { usernameKey } from "../../util/text.ts";
import { type Caller, demandScope } from "../node/caller.ts";
import type { DataAccess } from "../node/core.ts";
import { newEntry } from "../record/audit-trail.ts";
import { writeIdempotent } from "../record/idempotency.ts";
import {
  avatarUrl,
  choice,
  describedField,
  description,
  groupName,
  optional,
  type Parsed,
  trueOrFalse,
} from "../resource/fields.ts";
import { usernames } from "../resource/list-fields.ts";
import { type Page, type PageEnvelope, toMergedPage, toPage } from "../resource/page.ts";
import { type Expected, readBack, type Versioned, versioned } from "../resource/resource.ts";
import {
  count,
  described,
  id,
  oneOf,
  orNull,
  resource,
  type TypeOf,
  text,
  textOrNull,
  time,
} from "../resource/schema.ts";
import { shownUser, toShownUser } from "../resource/senders.ts";
import { ROWS_PER_TURN, type Turns } from "../resource/turns.ts";

export const groupResource = resource("Group", {
  id: id("grp"),
  name: text,
  description: textOrNull,
  avatar_url: textOrNull,
  conversation_id: described(textOrNull, "`cnv_…`; null until you have joined."),
  history: described(
    oneOf("joined", "all"),
    "What a new member sees: messages from then on, or also those of before.",
  ),
  role: described(oneOf("admin", "member", "invited"), "Yours."),
  invited_by: described(
    orNull(shownUser),
    "Who has invited or added you; null if you have created the group, or that user was erased. Also null if you joined it in version 0.1.0.",
  ),
  member_count: described(count, "Without those who are invited."),
  created_at: time,
});
type Group = TypeOf<typeof groupResource>;

/** A group of a user, as admins see it. */
export const userGroupResource = resource("UserGroup", {
  id: id("grp"),
  name: text,
  role: described(oneOf("admin", "member"), "That of the user."),
  member_count: described(count, "Without those who are invited."),
  created_at: time,
});

/** The fields of a new group. */
export const groupFields = {
  name: groupName,
  description: optional(description),
  avatar_url: optional(avatarUrl),
  history: optional(choice("joined", "all")),
  members: optional(usernames),
  joined: optional(
    describedField(
      trueOrFalse,
      "True makes the users members at once, without an invitation; at most 100. Needs the scope `act_as`.",
    ),
  ),
};

/** The fields of a group that its admins can change. */
export const groupChanges = {
  name: optional(groupName),
  description: optional(description),
  avatar_url: optional(avatarUrl),
};

/** A group that the user is a member of, or sees an invitation into. */
interface SeenGroup {
  row: GroupRow;
  role: Group["role"];
  invitedBy: Group["invited_by"];
}

function toGroup({ row, role, invitedBy }: SeenGroup): Group {
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    avatar_url: row.avatar_url,
    conversation_id: role === "invited" ? null : row.conversation_id,
    history: row.history,
    role,
    invited_by: invitedBy,
    member_count: row.member_count,
    created_at: toSeconds(row.created_at),
  };
}

function ofMember(core: DataAccess, row: JoinedGroupRow): SeenGroup {
  return { row, role: row.role, invitedBy: toInviter(core, row) };
}

function toInviter(core: DataAccess, row: JoinedGroupRow): Group["invited_by"] {
  if (row.inviter_id === null) return null;
  return toShownUser(core, {
    id: row.inviter_id,
    username: row.inviter_username!,
    display_name: row.inviter_display_name,
    avatar_url: row.inviter_avatar_url,
    avatar_id: row.inviter_avatar_id,
    kind: row.inviter_kind!,
  });
}

/** Lists the groups of which a user is a member, for admins. */
export async function listGroupsOf(core: DataAccess, userId: string, page: Page): Promise<PageEnvelope> {
  return toPage(page, await listJoined(core.db, userId, page), (row) => {
    const group: TypeOf<typeof userGroupResource> = {
      id: row.id,
      name: row.name,
      role: row.role,
      member_count: row.member_count,
      created_at: toSeconds(row.created_at),
    };
    return JSON.stringify(group);
  });
}

async function findInvited(core: DataAccess, invitations: readonly SeenInvitation[]): Promise<SeenGroup[]> {
  if (invitations.length === 0) return [];
  const rows = await findGroups(
    core.db,
    invitations.map(({ group_id }) => group_id),
  );
  const inviters = await findSenders(core.db, [...new Set(invitations.map(({ inviter_id }) => inviter_id))]);
  return rows.map((row) => {
    const invitation = invitations.find(({ group_id }) => group_id === row.id)!;
    const inviter = inviters.find(({ id }) => id === invitation.inviter_id);
    return {
      row,
      role: "invited",
      invitedBy: inviter ? toShownUser(core, inviter) : null,
    };
  });
}

/** Finds those of the groups that the user sees. */
async function findSeen(core: DataAccess, userId: string, ids: readonly string[]): Promise<SeenGroup[]> {
  const joined = await findJoined(core.db, userId, ids);
  const known = new Set(joined.map((row) => row.id));
  const invitations: SeenInvitation[] = [];
  for (const id of ids) {
    const invitation = known.has(id) ? undefined : await findInvitation(core.db, userId, id);
    if (invitation) invitations.push(invitation);
  }
  return [...joined.map((row) => ofMember(core, row)), ...(await findInvited(core, invitations))];
}

/** Returns the JSON texts of the groups that the user sees, by id. */
export async function renderGroups(
  core: DataAccess,
  userId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const seen = await findSeen(core, userId, ids);
  return new Map(seen.map((group) => [group.row.id, JSON.stringify(toGroup(group))]));
}

/** Returns the JSON text of the group without the parts that depend on the reader; undefined if it has ended. */
export async function renderGroupForAll(core: DataAccess, groupId: string): Promise<string | undefined> {
  const [row] = await findGroups(core.db, [groupId]);
  if (!row) return undefined;
  const { role: _, invited_by: __, ...shared } = toGroup({ row, role: "member", invitedBy: null });
  return JSON.stringify(shared);
}

/** Returns one page of the groups that the caller is a member of or sees an invitation into. */
export async function listGroups(
  core: DataAccess,
  caller: Caller,
  page: Page,
  turns: Turns,
): Promise<PageEnvelope> {
  const joined = await listJoined(core.db, caller.userId, page);
  const invitations = await listInvitations(core, caller.userId, page, turns);
  const seen = [...joined.map((row) => ofMember(core, row)), ...(await findInvited(core, invitations))];
  return toMergedPage(
    page,
    seen,
    ({ row }) => row.id,
    (group) => JSON.stringify(toGroup(group)),
  );
}

/** Sorts after all ids of users. */
const LAST_INVITER = "~";

/**
 * Returns the invitation into each group of a page, and one more if there is one: the one by the first inviter whom the user
 * has as a contact. Anybody can invite anybody, so it takes several turns of the event loop.
 */
async function listInvitations(
  core: DataAccess,
  userId: string,
  page: Page,
  turns: Turns,
): Promise<SeenInvitation[]> {
  const { cursor, newer, limit } = page;
  const first = new Map<string, SeenInvitation>();
  // After all invitations into the group of the cursor.
  let at = { groupId: cursor, inviterId: newer ? LAST_INVITER : "" };
  for (; ; await turns.next()) {
    const walked = await walkInvitations(core.db, userId, at, newer, ROWS_PER_TURN);
    for (const invitation of walked) {
      if (invitation.is_seen === 0) continue;
      const known = first.get(invitation.group_id);
      // The walk needs one invitation after the page to know those of its last group.
      if (!known && first.size > limit) return [...first.values()];
      if (!known || isEarlier(invitation, known)) first.set(invitation.group_id, invitation);
    }
    if (walked.length < ROWS_PER_TURN) return [...first.values()];
    const last = walked.at(-1)!;
    at = { groupId: last.group_id, inviterId: last.inviter_id };
  }
}

function isEarlier(a: SeenInvitation, b: SeenInvitation): boolean {
  return a.created_at < b.created_at || (a.created_at === b.created_at && a.inviter_id < b.inviter_id);
}

/** Throws `group_not_found`. */
export async function getGroup(core: DataAccess, caller: Caller, groupId: string): Promise<Versioned> {
  const [group] = await findSeen(core, caller.userId, [groupId]);
  if (!group) throw new ParleyError("group_not_found");
  const json = JSON.stringify(toGroup(group));
  // If-Match compares what admins change, If-None-Match everything.
  return versioned(json, group.row.version);
}

/**
 * Creates a group with the caller as its admin, and invites usernames or, with `joined`, makes their users members. Throws
 * `count_limit_reached`, and what `demandJoining` throws; with `joined` also `user_not_found`.
 */
export async function createGroup(
  core: DataAccess,
  caller: Caller,
  fields: Parsed<typeof groupFields>,
  key?: string,
): Promise<Versioned> {
  const { members, joined = false } = fields;
  // Its id is the smallest, because lists have the newest member first.
  const memberId = core.newId("mem");
  const invited = newInvitations(core, members ?? []);
  if (joined) demandJoining(caller, invited);
  const asked = ["createGroup", { ...fields, members: members && invited.map(({ username }) => username) }];
  const { result, replayed } = await writeIdempotent(core, { caller, key, asked }, "createGroup", {
    id: core.newId("grp"),
    conversationId: core.newId("cnv"),
    memberId,
    messageId: core.newId("msg"),
    userId: caller.userId,
    name: fields.name,
    description: fields.description ?? null,
    avatarUrl: fields.avatar_url ?? null,
    history: fields.history ?? "joined",
    invited,
    areJoined: joined,
    maxMembers: core.limits.maxMembers,
    entry: newEntry(core, caller),
  });
  return { ...(await readBack(getGroup(core, caller, result.id))), replayed };
}

/** How many users a request can make members. */
const MAX_JOINED = 100;

/** Throws `insufficient_scope`, and `invalid_parameter` for too many names. */
export function demandJoining(caller: Caller, names: readonly NewInvitation[]): void {
  demandScope(caller, "act_as", "joined");
  if (names.length <= MAX_JOINED) return;
  throw new ParleyError("invalid_parameter", `With joined, members must be up to ${MAX_JOINED} usernames.`, {
    param: "members",
  });
}

/** Returns the names of the field `members` that differ from each other. */
export function newInvitations(core: DataAccess, members: readonly string[]): NewInvitation[] {
  const byKey = new Map<string, NewInvitation>();
  for (const [index, username] of members.entries()) {
    const invitation = { ...newInvitation(core, username), index };
    if (!byKey.has(invitation.usernameKey)) byKey.set(invitation.usernameKey, invitation);
  }
  return [...byKey.values()];
}

/** Returns the name of the field `username`. */
export function newInvitation(core: DataAccess, username: string): NewInvitation {
  return { memberId: core.newId("mem"), username, usernameKey: usernameKey(username), index: null };
}

/** Changes the group. Throws `group_not_found`, `not_admin` and `precondition_failed`. */
export async function updateGroup(
  core: DataAccess,
  caller: Caller,
  groupId: string,
  changes: Parsed<typeof groupChanges>,
  expected: Expected,
): Promise<Versioned> {
  await core.db.write("updateGroup", {
    groupId,
    userId: caller.userId,
    name: changes.name,
    description: changes.description,
    avatarUrl: changes.avatar_url,
    messageId: core.newId("msg"),
    expected,
    entry: newEntry(core, caller),
  });
  return readBack(getGroup(core, caller, groupId));
}

/** Accepts the invitation that the caller sees; for a member nothing changes. Throws `group_not_found`. */
export async function joinGroup(
  core: DataAccess,
  caller: Caller,
  groupId: string,
  key?: string,
): Promise<Versioned> {
  const limit = core.limits.erasedRowsAtOnce;
  const { userId } = caller;
  const isReady = () =>
    core.db.write("prepareJoin", { groupId, userId, now: core.clock(), messageId: core.newId("msg"), limit });
  while (!(await isReady()));
  const asked = ["joinGroup", groupId];
  const { replayed } = await writeIdempotent(core, { caller, key, asked }, "joinGroup", {
    groupId,
    userId,
    messageId: core.newId("msg"),
    limit,
    entry: newEntry(core, caller),
  });
  core.wakeEraser();
  return { ...(await readBack(getGroup(core, caller, groupId))), replayed };
}

/** Leaves the group, or declines the invitation that the caller sees. Throws `group_not_found` and `precondition_failed`. */
export async function leaveGroup(
  core: DataAccess,
  caller: Caller,
  groupId: string,
  expected: Expected,
): Promise<void> {
  const entry = newEntry(core, caller);
  await core.db.write("leaveGroup", {
    groupId,
    userId: caller.userId,
    messageId: core.newId("msg"),
    now: entry.at,
    limit: core.limits.erasedRowsAtOnce,
    expected,
    entry,
  });
  core.wakeEraser();
}
