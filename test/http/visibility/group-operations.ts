// Groups in a world of sharing-world.ts: what members and invited users do and see.
import assert from "node:assert/strict";
import { toShownUser } from "./sharing-profiles.ts";
import type { Group, Message, User } from "./sharing-types.ts";
import { oneOf, type Page, type Shown, UNKNOWN, type World } from "./sharing-world.ts";

/** Few at a time, so that their members interact. */
const MAX_GROUPS = 3;

/** Returns a name to invite, in one case of nobody. */
export function nameOf({ names }: World, number: number): string {
  const name = [...names, `nobody of ${names[0]}`][number % (names.length + 1)]!;
  return number % 4 === 0 ? name.toUpperCase() : name;
}

export async function createGroup(world: World, user: User, spare: number): Promise<void> {
  const { groups, clock } = world;
  if (groups.live().length >= MAX_GROUPS) return;
  const fields = {
    name: `group ${spare % 50}`,
    description: spare % 2 ? `What for\n${spare}` : null,
    avatar_url: spare % 3 ? null : `https://example.com/${spare}.png`,
    history: spare % 10 < 3 ? ("joined" as const) : ("all" as const),
  };
  const members = Array.from({ length: spare % 5 }, (_, i) => nameOf(world, spare + i));
  const others = new Set(members.map((name) => name.toLowerCase()));
  others.delete(user.name);
  if (others.size >= world.maxMembers) {
    await world.refused(user, "POST", "/v1/groups", 409, "count_limit_reached", { ...fields, members });
    return;
  }
  const { avatar_url: avatarUrl, ...rest } = fields;
  const group = groups.create(user, { ...rest, avatarUrl }, members, clock.now);
  const { description, ...given } = fields;
  const body = { ...given, members, ...(description === null ? {} : { description }) };
  const shown = (await world.ask(user, "POST", "/v1/groups", 201, body)) as Shown;
  group.id = shown.id as string;
  group.conversation.id = shown.conversation_id as string;
  const { data } = (await world.ask(user, "GET", `/v1/groups/${group.id}/members?limit=100`, 200)) as Page;
  group.members.get(user)!.id = data.find(({ role }) => role === "admin")!.id as string;
  for (const { seat, username } of group.invitations)
    seat.id = data.find((each) => each.role === "invited" && each.username === username)!.id as string;
  await settle(world, group);
  checkGroup(world, user, group, shown);
}

/** Records the ids that the server assigned, and the events that were published. */
export async function settle(world: World, group: Group): Promise<void> {
  await enterMessages(world, group);
  enterEvents(world);
}

/** Records the ids of system messages. */
export async function enterMessages(world: World, group: Group): Promise<void> {
  const { conversation, members } = group;
  const said = conversation.messages.filter(({ id }) => id === "");
  const [member] = members.keys();
  if (member && said.length > 0) {
    const path = `/v1/messages?conversation_id=${conversation.id}&limit=${said.length + 1}`;
    const { data } = (await world.ask(member, "GET", path, 200)) as Page;
    for (const [i, message] of said.toReversed().entries()) {
      assert.equal(data[i]?.type, message.type);
      message.id = data[i]!.id as string;
    }
    const before = conversation.messages.at(-said.length - 1)?.id ?? "";
    assert.ok(said[0]!.id > before, "ids rise");
  }
}

export function enterEvents({ groups }: World): void {
  for (const { type, what, to } of groups.published.splice(0)) {
    for (const user of to) user.events.push(`${type} ${what.id}`);
  }
}

/** Returns whether the user is an admin. Asserts that the server refuses the request of anybody else. */
async function isAdmin(
  world: World,
  user: User,
  group: Group | undefined,
  request: [method: string, path: string, body?: object],
): Promise<boolean> {
  const view = group && world.groups.view(user, group);
  if (view === "admin") return true;
  const [method, path, body] = request;
  if (view) await world.refused(user, method, path, 403, "not_admin", body);
  else await world.refused(user, method, path, 404, "group_not_found", body);
  return false;
}

export const pathOf = (group: Group | undefined) => `/v1/groups/${group?.id ?? `grp_${UNKNOWN}`}`;

export async function inviteMember(
  world: World,
  user: User,
  group: Group | undefined,
  spare: number,
): Promise<void> {
  const { groups, clock, maxMembers } = world;
  const path = `${pathOf(group)}/members`;
  const telling = group && spare % 2 ? oneOf(groups.peopleToInvite(user, group), spare) : undefined;
  const username = telling?.name ?? nameOf(world, spare);
  const body = { username };
  if (!(await isAdmin(world, user, group, ["POST", path, body])) || !group) return;
  const isMember = [...group.members.keys()].some(({ name }) => name === username.toLowerCase());
  const isKnown = isMember || groups.invitationsOf(username, group).length > 0;
  if (!isKnown && groups.size(group) >= maxMembers) {
    groups.met.crowded++;
    await world.refused(user, "POST", path, 409, "count_limit_reached", body);
    return;
  }
  const seat = groups.invite(user, group, username, clock.now);
  const shown = (await world.ask(user, "POST", path, 201, body)) as Shown;
  const isTaken = rowsOf(world, user, group).some(({ id }) => id === shown.id);
  assert.ok(isKnown || !isTaken, "a seat of its own");
  seat.id ||= shown.id as string;
  assert.deepEqual(
    shown,
    rowsOf(world, user, group).find(({ id }) => id === seat.id),
  );
}

/** Returns the members list as this member sees it, newest first. */
export function rowsOf(world: World, user: User, group: Group): Shown[] {
  const { seats, messages } = group.conversation;
  const since = seats.get(user)?.since ?? 0;
  const joined = [...group.members].map(([member, { id, role, joinedAt }]) => {
    const { disclosed } = seats.get(member)!;
    // Blocks do not matter, in neither direction.
    const isKnown = disclosed && messages.indexOf(disclosed) >= since;
    return {
      ...{ id, group_id: group.id, user_id: member.id, username: member.name },
      ...{ display_name: member.displayName, avatar_url: null, kind: "person", role },
      created_at: Math.floor(joinedAt / 1000),
      read_message_id: isKnown ? disclosed.id : null,
    };
  });
  const firsts = group.invitations.filter(
    (each) => group.invitations.find(({ seat }) => seat === each.seat) === each,
  );
  const invited = firsts.map(({ seat, username, createdAt }) => ({
    ...{ id: seat.id, group_id: group.id, user_id: null, username, display_name: null, avatar_url: null },
    ...{ kind: null, role: "invited", created_at: Math.floor(createdAt / 1000), read_message_id: null },
  }));
  const isShown = world.groups.view(user, group) === "admin";
  return [...joined, ...(isShown ? invited : [])].sort((a, b) => (a.id < b.id ? 1 : -1));
}

export async function joinGroup(world: World, user: User, group: Group | undefined): Promise<void> {
  const { groups, clock } = world;
  const path = `${pathOf(group)}/join`;
  const view = group && groups.view(user, group);
  if (!view) {
    await world.refused(user, "POST", path, 404, "group_not_found");
    return;
  }
  if (view === "invited") groups.join(user, group, clock.now);
  const shown = (await world.ask(user, "POST", path, 200)) as Shown;
  await settle(world, group);
  checkGroup(world, user, group, shown);
}

/** Leaves, or declines. */
export async function leaveGroup(world: World, user: User, group: Group | undefined): Promise<void> {
  const { groups, clock } = world;
  const view = group && groups.view(user, group);
  if (!view) {
    await world.refused(user, "DELETE", pathOf(group), 404, "group_not_found");
    return;
  }
  if (view === "invited") groups.decline(user, group);
  else groups.leave(user, group, user, clock.now);
  await world.ask(user, "DELETE", pathOf(group), 204);
  await settle(world, group);
}

export async function updateGroup(
  world: World,
  user: User,
  group: Group | undefined,
  spare: number,
): Promise<void> {
  const body = [
    { name: `renamed ${spare % 3}` },
    { description: `described ${spare % 2}` },
    { avatar_url: `https://example.com/${spare % 2}.png` },
    { name: `renamed ${spare % 3}`, description: "" },
  ][spare % 4]!;
  if (!(await isAdmin(world, user, group, ["PUT", pathOf(group), body])) || !group) return;
  const {
    avatar_url: avatarUrl = group.avatarUrl,
    description = group.description,
    name = group.name,
  } = body;
  const changes = { name, description: description || null, avatarUrl };
  world.groups.update(user, group, changes, world.clock.now);
  const shown = (await world.ask(user, "PUT", pathOf(group), 200, body)) as Shown;
  await settle(world, group);
  checkGroup(world, user, group, shown);
}

/** Sets a role, removes, or withdraws. */
export async function changeMember(
  world: World,
  user: User,
  group: Group | undefined,
  kind: "setRole" | "removeMember",
  spare: number,
): Promise<void> {
  const { groups, clock } = world;
  const seats = [...(group?.members ?? [])];
  const invited = (group?.invitations ?? []).map(({ seat }) => seat);
  const chosen = oneOf<{ id: string }>([...seats.map(([, member]) => member), ...invited], spare);
  const path = `${pathOf(group)}/members/${spare % 10 === 0 ? `mem_${UNKNOWN}` : (chosen?.id ?? `mem_${UNKNOWN}`)}`;
  const role = spare % 3 ? ("admin" as const) : ("member" as const);
  const request = kind === "setRole" ? (["PUT", path, { role }] as const) : (["DELETE", path] as const);
  if (!(await isAdmin(world, user, group, [...request])) || !group) return;
  const [method, , body] = request;
  const target = seats.find(([, member]) => member === chosen)?.[0];
  if (path.endsWith(UNKNOWN)) {
    await world.refused(user, method, path, 404, "member_not_found", body);
  } else if (kind === "removeMember") {
    if (target) groups.leave(target, group, user, clock.now);
    else groups.withdraw(chosen!, group);
    await world.ask(user, method, path, 204);
  } else if (target) {
    groups.setRole(target, group, role, user, clock.now);
    const shown = await world.ask(user, method, path, 200, body);
    assert.deepEqual(
      shown,
      rowsOf(world, user, group).find(({ id }) => id === chosen!.id),
    );
  } else {
    await world.refused(user, method, path, 400, "invalid_parameter", body);
  }
  await settle(world, group);
}

export async function readGroup(world: World, user: User, group: Group | undefined): Promise<void> {
  const view = group && world.groups.view(user, group);
  if (view) checkGroup(world, user, group, (await world.ask(user, "GET", pathOf(group), 200)) as Shown);
  else await world.refused(user, "GET", pathOf(group), 404, "group_not_found");
}

export function checkGroup(world: World, user: User, group: Group, shown: Shown): void {
  assert.deepEqual(shown, toShown(world, user, group), `${group.id} of ${user.name}`);
}

/** Returns the group as the user sees it. */
export function toShown(world: World, user: User, group: Group): Shown {
  const view = world.groups.view(user, group);
  const inviter = world.groups.shownInviter(user, group);
  return {
    id: group.id,
    name: group.name,
    description: group.description,
    avatar_url: group.avatarUrl,
    conversation_id: view === "invited" ? null : group.conversation.id,
    history: group.history,
    role: view,
    invited_by: inviter ? toShownUser(inviter) : null,
    member_count: group.members.size,
    created_at: Math.floor(group.createdAt / 1000),
  };
}

/** Checks the whole list, by pages in both directions. */
export async function checkGroups(world: World, user: User): Promise<void> {
  const wanted = world.groups.seenBy(user).map((group) => toShown(world, user, group));
  const lists = [
    walk(world, user, "/v1/groups", "starting_after"),
    walk(world, user, "/v1/groups", "ending_before"),
  ];
  for (const list of lists) assert.deepEqual(await list, wanted, `groups of ${user.name}`);
}

export async function checkMembers(world: World, user: User, group: Group | undefined): Promise<void> {
  const path = `${pathOf(group)}/members`;
  if (!group?.members.has(user)) {
    await world.refused(user, "GET", path, 404, "group_not_found");
    return;
  }
  const admins = [...group.members.values()].filter(({ role }) => role === "admin");
  assert.ok(admins.length > 0, "there is always an admin");
  const wanted = rowsOf(world, user, group);
  for (const cursor of ["starting_after", "ending_before"] as const)
    assert.deepEqual(await walk(world, user, path, cursor), wanted, `members for ${user.name}`);
}

/** Returns all pages, newest first. */
async function walk(
  world: World,
  user: User,
  path: string,
  cursor: "starting_after" | "ending_before",
): Promise<Shown[]> {
  const found: Shown[] = [];
  const isUp = cursor === "ending_before";
  const kind = path.endsWith("/members") ? "mem" : "grp";
  for (let at = isUp ? `${kind}_00000000000000000000000000` : ""; ; ) {
    const page = (await world.ask(user, "GET", `${path}?limit=2${at && `&${cursor}=${at}`}`, 200)) as Page;
    if (isUp) found.unshift(...page.data);
    else found.push(...page.data);
    if (!page.has_more) return found;
    at = page.data.at(isUp ? 0 : -1)!.id as string;
  }
}

/** Returns the data shown with a message. For a system message this includes its subject. */
export function systemData({ model }: World, { type, about, added, data }: Message): object | null {
  if (type === "text") return data;
  if (added) return { users: added.filter((each) => model.users.get(each.name) === each).map(toShownUser) };
  const user = about && {
    user: model.users.get(about.name) === about ? toShownUser(about) : null,
  };
  return user || data ? { ...user, ...data } : null;
}
