import {
  type Group,
  type Member,
  type Parley,
  ParleyApiError,
} from "../../../packages/parley-client/src/index.ts";
import { OperatorError } from "../../errors.ts";
import { usernameKey } from "../../util/text.ts";
import type { Io } from "../io.ts";
import { harmless, isoTime, jsonLine } from "../text.ts";
import { asPerson } from "./access.ts";
import {
  type Column,
  type JsonOption,
  type ListOptions,
  pageSize,
  printFields,
  printList,
} from "./listing.ts";

interface GroupOptions {
  name?: string;
  description?: string;
  avatar?: string;
}

const COLUMNS: readonly Column<Group>[] = [
  ["ID", ({ id }) => id],
  ["NAME", ({ name }) => name],
  ["MEMBERS", ({ member_count }) => String(member_count)],
  ["ROLE", ({ role }) => role],
  ["INVITED BY", ({ invited_by }) => invited_by?.username ?? ""],
];

const MEMBER_COLUMNS: readonly Column<Member>[] = [
  ["ID", ({ id }) => id],
  ["USERNAME", toName],
  ["NAME", ({ display_name }) => display_name ?? ""],
  ["ROLE", ({ role }) => role],
  ["SINCE", ({ created_at }) => isoTime(created_at)],
];

function toName({ username }: Member): string {
  return username ?? "(deleted user)";
}

/** Decides between several groups of the same name: whether the command can be about this one. */
type IsMeant = (group: Group) => boolean;

export const isJoined: IsMeant = ({ role }) => role !== "invited";
const isInvited: IsMeant = ({ role }) => role === "invited";
const isAny: IsMeant = () => true;

/** Lists the groups that the user is a member of or invited to. */
export function listGroups(io: Io, options: ListOptions): Promise<number> {
  return asPerson(io, async (parley) => {
    const list = parley.groups.list({ limit: pageSize(options) }, { signal: io.stop });
    const empty = "You are in no group. Create one: parley groups create NAME";
    await printList(io, list, COLUMNS, options, empty);
    return 0;
  });
}

export function createGroup(
  io: Io,
  name: string,
  {
    invite,
    history,
    description,
    avatar,
    json,
  }: JsonOption & Omit<GroupOptions, "name"> & { invite?: string[]; history?: Group["history"] },
): Promise<number> {
  const fields = { name, description, avatar_url: avatar, history, members: invite };
  return asPerson(io, async (parley) => {
    const group = await parley.groups.create(fields, { signal: io.stop });
    io.print(json ? jsonLine(group) : harmless(`${group.id}  ${group.name}`));
    return 0;
  });
}

export function showGroup(io: Io, who: string, { json }: JsonOption): Promise<number> {
  return asPerson(io, async (parley) => {
    const group = await getGroup(io, parley, who, isAny);
    if (json) {
      io.print(jsonLine(group));
      return 0;
    }
    printFields(io, [
      ["Name", group.name],
      ["Description", (group.description ?? "").replace(/\s+/g, " ")],
      ["Picture", group.avatar_url ?? ""],
      ["Members", String(group.member_count)],
      ["History", group.history],
      ["Role", group.role],
      ["Invited by", group.invited_by?.username ?? ""],
      ["Id", group.id],
      ["Conversation", group.conversation_id ?? ""],
      ["Since", isoTime(group.created_at)],
    ]);
    return 0;
  });
}

export function updateGroup(io: Io, who: string, options: GroupOptions & JsonOption): Promise<number> {
  const { name, description, avatar } = options;
  if (name === undefined && description === undefined && avatar === undefined)
    throw new OperatorError("There is nothing to change. Add --description or --avatar.");
  // The API has no empty URL: null removes the picture.
  const changes = { name, description, avatar_url: avatar === "" ? null : avatar };
  return change(io, who, options, isJoined, async (parley, group) => {
    const changed = await parley.groups.update(group.id, changes, { signal: io.stop });
    const isRenamed = changed.name !== group.name;
    return [changed, isRenamed ? `${group.name} is now called ${changed.name}` : `${group.name} was updated`];
  });
}

export function joinGroup(io: Io, who: string, options: JsonOption): Promise<number> {
  return change(io, who, options, isInvited, async (parley, { id }) => {
    const group = await parley.groups.join(id, { signal: io.stop });
    return [group, `You are now a member of ${group.name}`];
  });
}

/** Leaves a group, or declines an invitation. */
export function leaveGroup(io: Io, who: string, options: JsonOption): Promise<number> {
  return change(io, who, options, isAny, async (parley, group) => {
    await parley.groups.leave(group.id, { signal: io.stop });
    const { name } = group;
    return [group, isInvited(group) ? `You declined the invitation to ${name}` : `You left ${name}`];
  });
}

/** Lists members; admins also see who is invited. */
export function listMembers(io: Io, who: string, options: ListOptions): Promise<number> {
  return asPerson(io, async (parley) => {
    const { id } = await getGroup(io, parley, who, isJoined);
    const list = parley.groups.listMembers(id, { limit: pageSize(options) }, { signal: io.stop });
    await printList(io, list, MEMBER_COLUMNS, options, "No members.");
    return 0;
  });
}

export function inviteMember(io: Io, who: string, username: string, options: JsonOption): Promise<number> {
  return change(io, who, options, isJoined, async (parley, { id, name }) => {
    const member = await parley.groups.inviteMember(id, { username }, { signal: io.stop });
    const state = member.role === "invited" ? "invited to" : "already a member of";
    return [member, `${toName(member)} is ${state} ${name}`];
  });
}

export function changeRole(
  io: Io,
  who: string,
  whose: string,
  role: "admin" | "member",
  options: JsonOption,
): Promise<number> {
  return change(io, who, options, isJoined, async (parley, group) => {
    const { id } = await getMember(io, parley, group, whose);
    const member = await parley.groups.updateMember(group.id, id, { role }, { signal: io.stop });
    // The last member stays an admin, whatever the request says.
    const state = member.role === "admin" ? "an admin" : "an ordinary member";
    return [member, `${toName(member)} is ${state} of ${group.name}`];
  });
}

/** Removes a member, or withdraws an invitation. */
export function removeMember(io: Io, who: string, whom: string, options: JsonOption): Promise<number> {
  return change(io, who, options, isJoined, async (parley, group) => {
    const member = await getMember(io, parley, group, whom);
    await parley.groups.removeMember(group.id, member.id, { signal: io.stop });
    const state = member.role === "invited" ? "no longer invited to" : "no longer a member of";
    return [member, `${toName(member)} is ${state} ${group.name}`];
  });
}

/** Changes a group or a member and reports the result. */
function change(
  io: Io,
  who: string,
  { json }: JsonOption,
  isMeant: IsMeant,
  work: (parley: Parley, group: Group) => Promise<[changed: object, result: string]>,
): Promise<number> {
  return asPerson(io, async (parley) => {
    const [changed, result] = await work(parley, await getGroup(io, parley, who, isMeant));
    if (json) io.print(jsonLine(changed));
    else io.warn(harmless(`${result}.`));
    return 0;
  });
}

/** Returns the group with this id or name, see `findGroup`. Throws `group_not_found` if there is none. */
async function getGroup(io: Io, parley: Parley, who: string, isMeant: IsMeant): Promise<Group> {
  const group = await findGroup(io, parley, who, isMeant);
  if (group) return group;
  const detail = `You have no group called ${JSON.stringify(who)}.`;
  throw new ParleyApiError({ code: "group_not_found", status: 404, detail });
}

/**
 * Finds the group with this id or name, ignoring case. If several have the name, those that `isMeant` accepts take
 * precedence. Throws `OperatorError` if that still leaves several.
 */
export async function findGroup(
  io: Io,
  parley: Parley,
  who: string,
  isMeant: IsMeant,
): Promise<Group | undefined> {
  const options = { signal: io.stop };
  if (isGroupId(who)) return parley.groups.retrieve(who, options);
  const named: Group[] = [];
  for await (const group of parley.groups.list({}, options)) if (isCalled(group.name, who)) named.push(group);
  const meant = named.filter(isMeant);
  const found = meant.length > 0 ? meant : named;
  if (found.length > 1) {
    const ids = found.map(({ id }) => id).join(", ");
    throw new OperatorError(`Several groups are called ${JSON.stringify(who)}. Use an id: ${ids}`);
  }
  return found[0];
}

export function isGroupId(text: string): boolean {
  return /^grp_[0-9a-z]{26}$/.test(text);
}

/** Returns the member with this id or username. Throws `member_not_found` if there is none. */
async function getMember(io: Io, parley: Parley, { id, name }: Group, who: string): Promise<Member> {
  for await (const member of parley.groups.listMembers(id, {}, { signal: io.stop }))
    if (member.id === who || isCalled(member.username, who)) return member;
  const detail = `${JSON.stringify(name)} has no member called ${JSON.stringify(who)}.`;
  throw new ParleyApiError({ code: "member_not_found", status: 404, detail });
}

/** Compares names as the server compares usernames. */
export function isCalled(name: string | null, typed: string): boolean {
  return name !== null && usernameKey(name) === usernameKey(typed);
}
