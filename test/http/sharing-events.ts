// Events of a world of sharing-world.ts: each user is given those of what the user saw, with what the user still sees, and
// what a client makes of them is what the lists have.
import assert from "node:assert/strict";
import { hasUnnumbered } from "../../src/db/queries/events.ts";
import { eventually } from "../support/files-on-disk.ts";
import { checkFile } from "./sharing-files.ts";
import { checkMessage, listMessages } from "./sharing-messages.ts";
import { seesFile, type User } from "./sharing-model.ts";
import type { Page, Rebuilt, Shown, World } from "./sharing-world.ts";

/** Those that came since the last time. */
export async function checkEvents(world: World): Promise<void> {
  const { db } = world.server.app.core;
  assert.ok(await eventually(async () => !(await hasUnnumbered(db))), "events wait for their numbers");
  for (const user of world.model.users.values()) {
    const events = await readEvents(world, user);
    const found = events.map(({ type, payload }) => `${type} ${(payload as Shown).id}`);
    assert.deepEqual(found.sort(), user.events.splice(0).sort(), `events of ${user.name}`);
    for (const event of events) checkPayload(world, user, event);
    await rebuild(world, user, events);
    checkRebuilt(world, user);
  }
}

/** Events are oldest first. */
async function rebuild(world: World, user: User, events: readonly Shown[]): Promise<void> {
  const state: Rebuilt = world.rebuilt.get(user) ?? new Map([[user.notes.id, new Map()]]);
  world.rebuilt.set(user, state);
  for (const event of events) {
    const payload = event.payload as Shown;
    const type = event.type as string;
    const id = event.conversation_id as string;
    if (type === "contact.deleted") state.delete(id);
    // What follows may have ended it again.
    if (type === "contact.created" && world.model.conversationsOf(user).some((each) => each.id === id)) {
      const found = await listMessages(world, user, id);
      state.set(id, new Map(found.map((message) => [message.id as string, message])));
    }
    if (!type.startsWith("message.")) continue;
    if ("text" in payload) state.get(id)?.set(payload.id as string, payload);
    else state.get(id)?.delete(payload.id as string);
  }
}

function checkRebuilt({ model, rebuilt }: World, user: User): void {
  const state = rebuilt.get(user)!;
  const conversations = model.conversationsOf(user);
  assert.deepEqual([...state.keys()].sort(), conversations.map(({ id }) => id).sort());
  for (const conversation of conversations) {
    const shown = [...state.get(conversation.id)!.values()];
    const told = (message: Shown) => [message.id, message.text, message.data, message.edited_at];
    const wanted = model
      .messagesSeenBy(user, conversation)
      .map((message) => [
        ...[message.id, message.text, message.data],
        message.editedAt === null ? null : Math.floor(message.editedAt / 1000),
        message.files.map(({ id, filename }) => [id, filename]),
      ]);
    const found = shown.map((message) => [
      ...told(message),
      (message.attachments as Shown[]).map(({ id, filename }) => [id, filename]),
    ]);
    const byId = (a: unknown[], b: unknown[]) => (String(a[0]) < String(b[0]) ? -1 : 1);
    assert.deepEqual(found.sort(byId), wanted.sort(byId), `what events tell ${user.name}`);
  }
}

/** Oldest first. */
async function readEvents(world: World, user: User): Promise<Shown[]> {
  const found: Shown[] = [];
  for (;;) {
    const last = world.lastEvents.get(user);
    const after = last === undefined ? "" : `&ending_before=${last}`;
    const { data } = (await world.ask(user, "GET", `/v1/events?limit=100${after}`, 200)) as Page;
    found.push(...data.toReversed());
    if (data.length > 0) world.lastEvents.set(user, data[0]!.id as string);
    if (data.length < 100 || last === undefined) return found;
  }
}

/** What is told of a message or a file is what its recipient sees now, or no more than its id. */
function checkPayload({ model }: World, user: User, event: Shown): void {
  const payload = event.payload as Shown;
  const type = event.type as string;
  const reference = { id: payload.id, conversation_id: event.conversation_id };
  const isDeleted = type.endsWith(".deleted");
  if (type.startsWith("message.")) {
    const message = model.messages.find(({ id }) => id === payload.id)!;
    if (message.seenBy.has(user) && !isDeleted) checkMessage({ model } as World, message, payload);
    else assert.deepEqual(payload, reference);
  }
  if (type.startsWith("attachment.")) {
    const file = model.files.find(({ id }) => id === payload.id);
    if (seesFile(user, file) && !isDeleted) checkFile(file, payload);
    else assert.deepEqual(payload, reference);
  }
}
