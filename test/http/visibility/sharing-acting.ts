// What only a back end does in a world of sharing-world.ts: it connects users, and makes them members of groups.
import assert from "node:assert/strict";
import { nameOf, pathOf, rowsOf, settle } from "./group-operations.ts";
import { checkContact, enterContact, enterContacts, PHONE } from "./sharing-contacts.ts";
import type { Group, User } from "./sharing-types.ts";
import type { Shown, World } from "./sharing-world.ts";

/** Gives two users each other as contacts. */
export async function connect(world: World, user: User, name: string, spare: number): Promise<void> {
  const { model, clock } = world;
  const phone = spare % 3 ? { phone_number: PHONE } : {};
  const fields = { username: spare % 2 ? name : name.toUpperCase(), mutual: true, ...phone };
  const other = model.users.get(name);
  if (!other) {
    assert.equal((await world.act(user, "POST", "/v1/contacts", 404, fields)).code, "user_not_found");
    return;
  }
  if (other === user) {
    assert.equal((await world.act(user, "POST", "/v1/contacts", 400, fields)).code, "invalid_parameter");
    return;
  }
  const known = user.contacts.get(name);
  if (known && other.contacts.has(user.name)) {
    assert.equal((await world.act(user, "POST", "/v1/contacts", 409, fields)).existing_id, known.id);
    return;
  }
  const { username, phone_number = "" } = fields as { username: string; phone_number?: string };
  const contact = known ?? model.addContact(user, username, false, clock.now, phone_number)!;
  model.addBack(other, user, clock.now);
  const shown = await world.act(user, "POST", "/v1/contacts", 201, fields);
  if (!known) enterContact(world, contact, shown);
  await enterContacts(world);
  checkContact(world, contact, shown);
  world.count(known ? "completed" : "connected");
  if (other.blocks.has(user.name)) world.count("stillBlocked");
}

/** Makes users members of a group. */
export async function addMembers(
  world: World,
  user: User,
  group: Group | undefined,
  spare: number,
): Promise<void> {
  const { groups, model, clock, maxMembers } = world;
  const path = `${pathOf(group)}/members`;
  const names = Array.from({ length: 1 + (spare % 3) }, (_, i) => nameOf(world, spare + i));
  const keys = [...new Set(names.map((name) => name.toLowerCase()))];
  const body = { members: names, joined: true };
  if (!group || groups.view(user, group) !== "admin") {
    await refuseOthers(world, user, group, path, body);
    return;
  }
  const users = keys.map((key) => model.users.get(key));
  const index = users.indexOf(undefined);
  if (index >= 0) {
    const problem = await world.act(user, "POST", path, 404, body);
    assert.deepEqual([problem.code, problem.index], ["user_not_found", index]);
    return;
  }
  const added = (users as User[]).filter((each) => !group.members.has(each));
  const uninvited = added.filter(({ name }) => groups.invitationsOf(name, group).length === 0);
  if (uninvited.length > 0 && groups.size(group) + uninvited.length > maxMembers) {
    assert.equal((await world.act(user, "POST", path, 409, body)).code, "count_limit_reached");
    return;
  }
  if (added.length > 0) groups.add(user, group, added, clock.now);
  const { data } = (await world.act(user, "POST", path, 200, body)) as { data: Shown[] };
  for (const [i, each] of (users as User[]).entries()) group.members.get(each)!.id ||= data[i]!.id as string;
  await settle(world, group);
  const rows = rowsOf(world, user, group);
  assert.deepEqual(
    data,
    (users as User[]).map((each) => rows.find(({ user_id }) => user_id === each.id)),
  );
  if (added.length > 0) world.count("added");
  if (uninvited.length < added.length) world.count("invitedBefore");
}

/** Asserts that the server refuses users who are no admins. */
async function refuseOthers(
  world: World,
  user: User,
  group: Group | undefined,
  path: string,
  body: object,
): Promise<void> {
  const isSeen = group !== undefined && world.groups.view(user, group) !== undefined;
  const problem = await world.act(user, "POST", path, isSeen ? 403 : 404, body);
  assert.equal(problem.code, isSeen ? "not_admin" : "group_not_found");
}
