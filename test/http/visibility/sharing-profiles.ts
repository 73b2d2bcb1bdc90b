// Profiles in a world of sharing-world.ts: each change is an event for those who share a conversation with the user.
import assert from "node:assert/strict";
import { findProfileChange } from "../../../src/db/queries/people/profile-readers.ts";
import { eventually } from "../../support/files-on-disk.ts";
import type { User } from "./sharing-types.ts";
import type { Shown, World } from "./sharing-world.ts";

/** Returns the user as others see them. */
export function toShownUser({ id, name, displayName }: User): Shown {
  return { id, username: name, display_name: displayName, avatar_url: null, kind: "person" };
}

/** Reports whether the user gets events of changes of the other's profile. */
function isReader(world: World, reader: User, user: User): boolean {
  return (
    reader === user ||
    world.model
      .conversationsOf(reader)
      .some(({ seats, left, group }) => seats.has(user) || (!group && left.has(user)))
  );
}

export async function updateProfile(world: World, user: User, spare: number): Promise<void> {
  const display_name = spare % 4 === 0 ? null : `Name ${spare % 4}`;
  if (display_name !== user.displayName)
    for (const reader of world.model.users.values())
      if (isReader(world, reader, user)) reader.events.push(`user.updated ${user.id}`);
  user.displayName = display_name;
  const me = (await world.ask(user, "PUT", "/v1/me", 200, { display_name })) as Shown;
  assert.equal(me.display_name, display_name);
  // Changes before it is published would be one event.
  const { db } = world.server.app.core;
  assert.ok(await eventually(async () => (await findProfileChange(db, "")) === undefined));
}

/** Checks the payload of an event about a user. */
export function checkUserPayload(world: World, reader: User, payload: Shown): void {
  const user = world.model.everyone.find(({ id }) => id === payload.id)!;
  const isSeen = world.model.users.get(user.name) === user && isReader(world, reader, user);
  assert.deepEqual(payload, isSeen ? toShownUser(user) : { id: user.id });
}

/** Changes the members of groups that a client has by what an event says of a user. */
export function rebuildUser({ id, ...shown }: Shown, groups: Iterable<Map<string, Shown>>): void {
  if (!("username" in shown)) return;
  for (const members of groups)
    for (const member of members.values()) if (member.user_id === id) Object.assign(member, shown);
}
