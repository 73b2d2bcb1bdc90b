// Events in a world of sharing-world.ts: users get events of what they saw, in its current form, and a client that
// applies them has what the lists have.

import assert from "node:assert/strict";
import { published } from "../../support/published.ts";
import { checkGroup, rowsOf, toShown } from "./group-operations.ts";
import { checkFile } from "./sharing-files.ts";
import { checkMessage, listMessages } from "./sharing-messages.ts";
import { isThere, seesFile } from "./sharing-model.ts";
import { checkUserPayload, rebuildUser } from "./sharing-profiles.ts";
import { reactionsFor, rebuildReaction, toSet } from "./sharing-reactions.ts";
import type { User } from "./sharing-types.ts";
import type { Page, Rebuilt, Shown, World } from "./sharing-world.ts";

/** Checks the events since the last time. */
export async function checkEvents(world: World): Promise<void> {
  await published(world.server);
  for (const user of world.model.users.values()) {
    const events = await readEvents(world, user);
    const found = events.map(({ type, payload }) => `${type} ${idOf(payload as Shown)}`);
    assert.deepEqual(found.sort(), user.events.splice(0).sort(), `events of ${user.name}`);
    for (const event of events) checkPayload(world, user, event);
    await rebuild(world, user, events);
    checkRebuilt(world, user);
  }
}

/** A reaction has the id of its message. */
function idOf({ id, message_id }: Shown): unknown {
  return id ?? message_id;
}

/** Events are oldest first. */
async function rebuild(world: World, user: User, events: readonly Shown[]): Promise<void> {
  const empty = {
    ...{ messages: new Map([[user.notes.id, new Map()]]), groups: new Map(), members: new Map() },
    blockChanges: 0,
  };
  const state: Rebuilt = world.rebuilt.get(user) ?? empty;
  world.rebuilt.set(user, state);
  for (const event of events) {
    const payload = event.payload as Shown;
    const type = event.type as string;
    const id = event.conversation_id as string;
    if (type === "contact.deleted") state.messages.delete(id);
    if (type === "contact.created") await readMessages(world, user, id, state);
    if (type.startsWith("group.")) await rebuildGroup(world, user, event, state);
    if (type.startsWith("member.")) rebuildMember(payload, state);
    if (type === "user.updated") rebuildUser(payload, state.members.values());
    if (type.startsWith("reaction.")) rebuildReaction(event, state);
    if (!type.startsWith("message.")) continue;
    if ("text" in payload) state.messages.get(id)?.set(payload.id as string, payload);
    else state.messages.get(id)?.delete(payload.id as string);
  }
  // The visible reactions have changed.
  if (user.blockChanges !== state.blockChanges)
    for (const id of state.messages.keys()) await readMessages(world, user, id, state);
  state.blockChanges = user.blockChanges;
}

/** A later change may have removed it again. */
async function readMessages(world: World, user: User, id: string, state: Rebuilt): Promise<void> {
  if (!world.model.conversationsOf(user).some((each) => each.id === id)) return;
  const found = await listMessages(world, user, id);
  state.messages.set(id, new Map(found.map((message) => [message.id as string, message])));
}

async function rebuildGroup(world: World, user: User, event: Shown, state: Rebuilt): Promise<void> {
  const payload = event.payload as Shown;
  const id = payload.id as string;
  if (event.type === "group.deleted" || !("name" in payload)) {
    state.groups.delete(id);
    state.members.delete(id);
    state.messages.delete(event.conversation_id as string);
    return;
  }
  const isNew = event.type === "group.created" && payload.role !== "invited";
  state.groups.set(id, payload);
  if (!isNew) return;
  await readMessages(world, user, payload.conversation_id as string, state);
  const members = (await world.ask(user, "GET", `/v1/groups/${id}/members?limit=100`, 200)) as Page;
  const joined = members.data.filter(({ role }) => role !== "invited");
  state.members.set(id, new Map(joined.map((member) => [member.id as string, member])));
}

function rebuildMember(payload: Shown, state: Rebuilt): void {
  const members = state.members.get(payload.group_id as string);
  if ("role" in payload) members?.set(payload.id as string, payload);
  else members?.delete(payload.id as string);
}

function checkRebuilt(world: World, user: User): void {
  const { model, rebuilt } = world;
  const state = rebuilt.get(user)!;
  const conversations = model.conversationsOf(user);
  assert.deepEqual([...state.messages.keys()].sort(), conversations.map(({ id }) => id).sort());
  for (const conversation of conversations) {
    const shown = [...state.messages.get(conversation.id)!.values()];
    const toParts = (message: Shown) => [message.id, message.text, withoutUser(message), message.edited_at];
    const wanted = model
      .messagesSeenBy(user, conversation)
      .map((message) => [
        ...[message.id, message.text, message.data],
        message.editedAt === null ? null : Math.floor(message.editedAt / 1000),
        message.files.map(({ id, filename }) => [id, filename]),
        toSet(world, reactionsFor(world, user, message)),
      ]);
    const found = shown.map((message) => [
      ...toParts(message),
      (message.attachments as Shown[]).map(({ id, filename }) => [id, filename]),
      toSet(world, message.reactions),
    ]);
    const byId = (a: unknown[], b: unknown[]) => (String(a[0]) < String(b[0]) ? -1 : 1);
    assert.deepEqual(found.sort(byId), wanted.sort(byId), `events of ${user.name}`);
  }
  checkRebuiltGroups(world, user);
}

/** Removes the users that a system message names: no event reports that a user was erased. */
function withoutUser({ type, data }: Shown): unknown {
  if (type === "text" || data === null) return data;
  const { user: _, users: __, ...facts } = data as Shown;
  return Object.keys(facts).length === 0 ? null : facts;
}

function checkRebuiltGroups(world: World, user: User): void {
  const { groups, members } = world.rebuilt.get(user)!;
  const seen = world.groups.seenBy(user);
  const known = new Set([...world.model.users.values()].map(({ id }) => id));
  const toKnown = (inviter: Shown | null) =>
    inviter && known.has(inviter.id as string) ? inviter.id : undefined;
  // A client counts members from their events. No event reports the profile of an inviter with whom the user shares no conversation,
  // nor that a user was erased.
  const shared = ({ member_count: _, invited_by: inviter, ...rest }: Shown) => ({
    ...rest,
    invited_by: toKnown(inviter as Shown | null),
  });
  assert.deepEqual(
    [...groups.values()].map(shared).sort(byNewest),
    seen.map((group) => shared(toShown(world, user, group))),
    `groups by events of ${user.name}`,
  );
  const joined = seen.filter((group) => group.members.has(user));
  assert.deepEqual([...members.keys()].sort(), joined.map(({ id }) => id).sort());
  for (const group of joined) {
    const found = [...members.get(group.id)!.values()].sort(byNewest);
    const wanted = rowsOf(world, user, group).filter(({ role }) => role !== "invited");
    // No event of a member has the read position.
    const withoutRead = ({ read_message_id: _, ...member }: Shown) => member;
    assert.deepEqual(found.map(withoutRead), wanted.map(withoutRead), `members by events of ${user.name}`);
  }
}

const byNewest = (a: Shown, b: Shown) => ((a.id as string) < (b.id as string) ? 1 : -1);

/** Oldest first. */
async function readEvents(world: World, user: User): Promise<Shown[]> {
  const found: Shown[] = [];
  for (;;) {
    const last = world.lastEvents.get(user);
    const after = last === undefined ? "" : `&ending_before=${last.id}`;
    const { data } = (await world.ask(user, "GET", `/v1/events?limit=100${after}`, 200)) as Page;
    found.push(...data.toReversed());
    const next = last === undefined ? 1 : Number(last.sequence) + 1;
    assert.deepEqual(
      data.map(({ sequence }) => sequence).reverse(),
      data.map((_, i) => next + i),
    );
    if (data.length > 0) world.lastEvents.set(user, data[0]!);
    if (data.length < 100 || last === undefined) return found;
  }
}

/** Checks that an event has its subject as its recipient sees it now, or only its id. */
function checkPayload(world: World, user: User, event: Shown): void {
  const { model } = world;
  const payload = event.payload as Shown;
  const type = event.type as string;
  const reference = { id: payload.id, conversation_id: event.conversation_id };
  const isDeleted = type.endsWith(".deleted");
  if (type.startsWith("message.")) {
    const message = model.messages.find(({ id }) => id === payload.id)!;
    if (message.seenBy.has(user) && !isDeleted) checkMessage(world, user, message, payload);
    else assert.deepEqual(payload, reference);
  }
  if (type.startsWith("attachment.")) {
    const file = model.files.find(({ id }) => id === payload.id);
    if (seesFile(user, file) && !isDeleted) checkFile(user, file, payload);
    else assert.deepEqual(payload, reference);
  }
  if (type.startsWith("group.")) {
    const group = model.groups.find(({ id }) => id === payload.id)!;
    if (world.groups.view(user, group) && !isDeleted) checkGroup(world, user, group, payload);
    else assert.deepEqual(payload, reference);
  }
  if (type.startsWith("member.")) checkMemberPayload(world, user, payload, isDeleted);
  if (type === "user.updated") checkUserPayload(world, user, payload);
  if (type.startsWith("reaction.")) checkReactionPayload(world, user, payload, isDeleted);
}

function checkReactionPayload(world: World, user: User, payload: Shown, isDeleted: boolean): void {
  const { model } = world;
  const { message_id, conversation_id, emoji, user_id, ...rest } = payload;
  const message = model.messages.find(({ id }) => id === message_id)!;
  assert.deepEqual([conversation_id, rest], [message.conversation.id, {}]);
  if (emoji === undefined) {
    assert.deepEqual(Object.keys(payload), ["message_id", "conversation_id"]);
    return;
  }
  const by = model.everyone.find(({ id }) => id === user_id)!;
  assert.ok(
    model.showsReactions(by, user) && model.users.get(by.name) === by,
    "a reaction that is not shown",
  );
  assert.ok(isDeleted || message.reactions.get(emoji as string)?.includes(by), "a reaction that is gone");
  assert.ok(message.seenBy.has(user) || !isThere(message), "of a message that is not seen");
}

function checkMemberPayload(world: World, user: User, payload: Shown, isDeleted: boolean): void {
  const { id, group_id, user_id, ...rest } = payload;
  const group = world.model.groups.find((each) => each.id === group_id)!;
  const row = group.members.has(user) && rowsOf(world, user, group).find((each) => each.id === id);
  if (isDeleted) assert.deepEqual(Object.keys(payload), ["id", "group_id", "user_id"]);
  else if (row && row.role !== "invited") {
    const { read_message_id: _, ...shown } = row;
    assert.deepEqual(payload, shown);
  } else assert.deepEqual([user_id, rest], [undefined, {}]);
}
