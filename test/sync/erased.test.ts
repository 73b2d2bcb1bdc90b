// A device that was away for longer than the server keeps events.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Parley } from "../../packages/parley-client/src/index.ts";
import { memoryStore } from "../../packages/parley-sync/src/index.ts";
import { startApp } from "../support/app.ts";
import { eventually } from "../support/files-on-disk.ts";
import { pair, say } from "../support/people.ts";
import { proxy } from "../support/proxy.ts";
import { fillStore, openDevice, plain, settled, show } from "./device.ts";

const DAY_MS = 24 * 3600 * 1000;

test("after a month offline the copy is read again, and what waited is sent in order, once", async (t) => {
  let now = Date.UTC(2026, 0, 1);
  const app = await startApp(t, {}, { clock: () => now });
  const { ann, bob, conversation } = await pair(app);
  const ids: string[] = [];
  for (let i = 0; i < 30; i++) ids.push(await say(app, bob, conversation, String(i)));
  const store = memoryStore();
  const at = { url: app.url, token: ann.token };
  const first = await openDevice(t, at, { store });
  const view = show(t, first, conversation);
  assert.ok(await eventually(async () => view.getSnapshot().messages.length === 20));
  await view.loadOlder();
  assert.ok(await settled(first));
  await first.sync.close();
  const offline = await openDevice(t, { ...at, url: "http://127.0.0.1:1" }, { store });
  const shown = show(t, offline, conversation);
  assert.ok(await eventually(async () => shown.getSnapshot().messages.length === 30));
  for (let i = 0; i < 200; i++) offline.sync.send(conversation, { text: `queued ${i}` });
  assert.ok(await eventually(async () => (await store.scan("out/")).length === 200));
  await offline.sync.close();
  const { client } = await openDevice(t, { url: app.url, token: bob.token });
  for (const id of [ids[1]!, ids[29]!]) await client.messages.delete(id);
  await client.messages.update(ids[0]!, { text: "edited" });
  now += 30 * DAY_MS;
  await say(app, bob, conversation, "new");
  const back = await openDevice(t, at, { store });
  const after = show(t, back, conversation);
  assert.ok(await settled(back));
  while (after.getSnapshot().hasOlder) await after.loadOlder();
  const list = async () =>
    (await Array.fromAsync(back.client.messages.list({ conversation_id: conversation }))).reverse();
  assert.ok(await eventually(async () => plain(after.getSnapshot().messages) === plain(await list())));
  assert.deepEqual(
    (await list()).flatMap(({ text }) => (text!.startsWith("queued") ? [text] : [])),
    Array.from({ length: 200 }, (_, i) => `queued ${i}`),
  );
});

test("a message whose answer was lost is not sent again after a month", async (t) => {
  let now = Date.UTC(2026, 0, 1);
  const app = await startApp(t, {}, { clock: () => now });
  const { ann, conversation } = await pair(app);
  const between = await proxy(t, app.url, (path) => (path === "/v1/messages" ? "lose the answer" : "pass"));
  const store = memoryStore();
  const first = await openDevice(t, { url: between.url, token: ann.token }, { store });
  // Without its event, the device does not know that the message was sent.
  first.client.events.stream = async function* () {
    await new Promise(() => {});
  };
  first.sync.send(conversation, { text: "once" });
  const list = () => first.client.messages.list({ conversation_id: conversation });
  assert.ok(await eventually(async () => (await list()).data.length === 1));
  await first.sync.close();
  assert.equal((await store.scan("out/")).length, 1);
  now += 30 * DAY_MS;
  const back = await openDevice(t, { url: app.url, token: ann.token }, { store });
  assert.ok(await settled(back));
  assert.equal((await list()).data.length, 1);
});

test("a row that was requested before the copy was read again does not replace it", async (t) => {
  let now = Date.UTC(2026, 0, 1);
  const app = await startApp(t, {}, { clock: () => now });
  const { ann, bob, conversation } = await pair(app);
  await say(app, bob, conversation, "first");
  const store = memoryStore();
  const at = { url: app.url, token: ann.token };
  await fillStore(t, at, store);
  await store.write(new Map([[`stale/${conversation}`, { what: "row" }]]));
  await say(app, bob, conversation, "second");
  now += 30 * DAY_MS;
  const client = new Parley(at);
  const [said, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  // The contact is read after the row: a message comes meanwhile, and all is read again before the answer.
  const { retrieve } = client.contacts;
  client.contacts.retrieve = async (...given) => {
    const contact = await retrieve.apply(client.contacts, given);
    await say(app, bob, conversation, "third");
    said.resolve();
    await release.promise;
    return contact;
  };
  const { snapshot } = client;
  let snapshots = 0;
  client.snapshot = async (...given) => {
    if (++snapshots === 2) await said.promise;
    return snapshot.apply(client, given);
  };
  const back = await openDevice(t, at, { store, client });
  const row = () =>
    back.sync
      .inbox()
      .getSnapshot()
      .items.find(({ id }) => id === conversation);
  assert.ok(await eventually(async () => row()?.unread_count === 3));
  client.contacts.retrieve = retrieve;
  release.resolve();
  const last = await say(app, bob, conversation, "fourth");
  assert.ok(await eventually(async () => row()?.last_message?.id === last));
  assert.ok(await eventually(async () => row()?.unread_count === 4));
});
