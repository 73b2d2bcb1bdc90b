// Contacts and blocks in a world of sharing-world.ts.
import assert from "node:assert/strict";
import type { Contact, User } from "./sharing-types.ts";
import { type Page, type Shown, UNKNOWN, type World } from "./sharing-world.ts";

export const PHONE = "+1 555";

export async function createContact(world: World, user: User, name: string, spare: number): Promise<void> {
  const { model } = world;
  const username = spare % 2 ? name : name.toUpperCase();
  const blocked = spare % 5 === 0;
  const fields = { username, phone_number: PHONE, ...(spare % 3 || blocked ? { blocked } : {}) };
  if (name === user.name) {
    const problem = await world.refused(user, "POST", "/v1/contacts", 400, "invalid_parameter", fields);
    assert.equal(problem.param, "username");
    return;
  }
  const made = model.addContact(user, username, blocked, world.clock.now, PHONE);
  if (!made) {
    const problem = await world.refused(user, "POST", "/v1/contacts", 409, "contact_exists", fields);
    assert.equal(problem.existing_id, user.contacts.get(name)!.id);
    return;
  }
  const answer = (await world.ask(user, "POST", "/v1/contacts", 201, fields)) as Shown;
  enterContact(world, made, answer);
  await enterContacts(world);
  checkContact(world, made, answer);
}

/** Records the id of a new contact. */
export function enterContact({ model }: World, contact: Contact, answer: Shown): void {
  contact.id = answer.id as string;
  contact.owner.events.push(`contact.created ${contact.id}`);
  // A conversation new to the model must be new on the server.
  const known = model.conversations.some(({ id }) => id === answer.conversation_id);
  assert.equal(known, contact.conversation.id !== "", "a conversation of its own, or the peer's");
  contact.conversation.id ||= answer.conversation_id as string;
}

/** Records the ids of contacts that users have because others have added them. */
export async function enterContacts(world: World): Promise<void> {
  for (const contact of world.model.contacts) {
    if (contact.id !== "") continue;
    const { data } = (await world.ask(contact.owner, "GET", "/v1/contacts?limit=100", 200)) as Page;
    enterContact(world, contact, data.find(({ username }) => username === contact.username)!);
    world.count("addedBack");
  }
}

export function checkContact({ model }: World, contact: Contact, shown: Shown): void {
  const { last_active_at: seen, ...rest } = shown;
  assert.deepEqual(rest, {
    id: contact.id,
    username: contact.username,
    phone_number: contact.phone,
    avatar_url: null,
    display_name: contact.displayName,
    profile_name: model.openPeer(contact)?.owner.displayName ?? null,
    conversation_id: contact.conversation.id,
    created_at: Math.floor(contact.createdAt / 1000),
  });
  // The newest time appears within two seconds; until then an earlier one, or none.
  if (seen !== null) {
    const mayBeShown = model.presenceOf(contact);
    assert.ok(mayBeShown.includes(seen as number), `${seen} is none of ${mayBeShown}`);
  }
}

export async function changeContact(
  world: World,
  user: User,
  contact: Contact | undefined,
  kind: string,
  spare: number,
): Promise<void> {
  const path = `/v1/contacts/${contact?.id ?? `con_${UNKNOWN}`}`;
  const [method, at, status, fields] = (
    {
      removeContact: ["DELETE", path, 204],
      updateContact: ["PUT", path, 200, { display_name: `"conversation_id":"${spare}"` }],
      readContact: ["GET", path, 200],
      block: ["PUT", `${path}/block`, 204],
      unblock: ["DELETE", `${path}/block`, 204],
    } as Record<string, [string, string, number, { display_name: string }?]>
  )[kind]!;
  if (!contact || contact.owner !== user || !world.model.isThere(contact)) {
    await world.refused(user, method, at, 404, "contact_not_found", fields);
    return;
  }
  const key = contact.username.toLowerCase();
  if (kind === "removeContact") {
    world.model.removeContact(contact);
    user.events.push(`contact.deleted ${contact.id}`);
  }
  if (kind === "block") world.model.block(user, key, world.clock.now);
  if (kind === "unblock") world.model.unblock(user, key);
  if (fields && contact.displayName !== fields.display_name) {
    contact.displayName = fields.display_name;
    user.events.push(`contact.updated ${contact.id}`);
  }
  const shown = await world.ask(user, method, at, status, fields);
  if (status === 200) checkContact(world, contact, shown as Shown);
}

/** By name: a contact, a stranger or nobody. */
export async function changeBlocks(
  world: World,
  user: User,
  name: string,
  kind: "blockName" | "unblockName",
): Promise<void> {
  if (kind === "blockName") world.model.block(user, name, world.clock.now);
  else world.model.unblock(user, name);
  const method = kind === "blockName" ? "PUT" : "DELETE";
  await world.ask(user, method, `/v1/blocks/${name.toUpperCase()}`, 204);
  const { data } = (await world.ask(user, "GET", "/v1/blocks?limit=100", 200)) as Page;
  const names = data.map(({ username }) => (username as string).toLowerCase());
  assert.deepEqual(names, [...user.blocks.keys()].sort());
}

export async function checkContacts(world: World, user: User, active: boolean | undefined): Promise<void> {
  const { model } = world;
  const query = active === undefined ? "" : `&active=${active}`;
  const { data } = (await world.ask(user, "GET", `/v1/contacts?limit=100${query}`, 200)) as Page;
  const wanted = model.contacts
    .filter((each) => each.owner === user && model.isThere(each) && model.isBlocked(each) !== active)
    .reverse();
  assert.deepEqual(
    data.map(({ id }) => id),
    wanted.map(({ id }) => id),
  );
  for (const [i, contact] of wanted.entries()) checkContact(world, contact, data[i]!);
}

/** Checks the presence of each contact after all activity is stored. */
export async function checkPresence(world: World): Promise<void> {
  const { model } = world;
  const shownOf = (contact: Contact) => model.presenceOf(contact).at(-1) ?? null;
  const before = new Map(model.contacts.map((each) => [each.id, shownOf(each)]));
  for (const user of model.users.values()) {
    const { data } = (await world.ask(user, "GET", "/v1/contacts?limit=100", 200)) as Page;
    for (const contact of user.contacts.values()) {
      const seen = data.find(({ id }) => id === contact.id)!.last_active_at as number | null;
      // Reading counts as activity, which may already be stored.
      if (seen !== before.get(contact.id)) assert.equal(seen, shownOf(contact), `presence of ${contact.id}`);
    }
  }
}
