// Events of a world of sharing-world.ts: each user is given those of what the user saw, with what the user still sees.
import assert from "node:assert/strict";
import { hasUnnumbered } from "../../src/db/queries/events.ts";
import { eventually } from "../support/files-on-disk.ts";
import { checkFile } from "./sharing-files.ts";
import { checkMessage } from "./sharing-messages.ts";
import { seesFile, type User } from "./sharing-model.ts";
import type { Page, Shown, World } from "./sharing-world.ts";

/** Those that came since the last time. */
export async function checkEvents(world: World): Promise<void> {
  const { db } = world.server.app.core;
  assert.ok(await eventually(async () => !(await hasUnnumbered(db))), "events wait for their numbers");
  for (const user of world.model.users.values()) {
    const events = await readEvents(world, user);
    const found = events.map(({ type, payload }) => `${type} ${(payload as Shown).id}`);
    assert.deepEqual(found.sort(), user.events.splice(0).sort(), `events of ${user.name}`);
    for (const event of events) checkPayload(world, user, event);
  }
}

async function readEvents(world: World, user: User): Promise<Shown[]> {
  const found: Shown[] = [];
  for (;;) {
    const last = world.lastEvents.get(user);
    const after = last === undefined ? "" : `&ending_before=${last}`;
    const { data } = (await world.ask(user, "GET", `/v1/events?limit=100${after}`, 200)) as Page;
    found.push(...data);
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
