// The snapshot that an app begins with, and the stream that continues it.
import assert from "node:assert/strict";
import { startOn } from "../support/app.ts";
import { clientOf, onEngines } from "./engines.ts";

onEngines("a snapshot", async (t, config) => {
  const parley = await clientOf(await startOn(t, config));
  const { conversation_id, id } = await parley.contacts.create({ username: "ada", phone_number: "555-0100" });
  const sent = await parley.messages.create({ conversation_id, text: "x" });
  const snapshot = await parley.snapshot({ conversations: 1, messages: 5, include: "image" });
  assert.deepEqual(snapshot.me, await parley.me());
  const [shown] = snapshot.conversations;
  assert.deepEqual(shown!.messages, [sent]);
  assert.deepEqual([shown!.contact?.id, shown!.members, snapshot.has_more], [id, null, true]);
  await parley.messages.create({ conversation_id, text: "y" });
  const stream = parley.events.stream({ after: snapshot.last_event_id });
  assert.equal((await stream.next()).value?.type, "message.created");
  await stream.return();
  assert.equal((await parley.snapshot()).conversations[0]!.messages.length, 2);
});
