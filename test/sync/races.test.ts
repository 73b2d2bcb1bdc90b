// Answers that arrive after the events that they do not know, and events that do not arrive.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Parley } from "../../packages/parley-client/src/index.ts";
import { sharedApp } from "../support/app.ts";
import { eventually } from "../support/files-on-disk.ts";
import { pair, say } from "../support/people.ts";
import { proxy } from "../support/proxy.ts";
import { openDevice, plain, settled, show } from "./device.ts";

const server = sharedApp();

test("a page that was requested before changes does not undo them", async (t) => {
  const app = await server();
  const { ann, bob, conversation } = await pair(app);
  const ids: string[] = [];
  for (let i = 0; i < 30; i++) ids.push(await say(app, bob, conversation, String(i)));
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const between = await proxy(t, app.url, () => "pass");
  const device = await openDevice(t, { url: between.url, token: ann.token });
  const view = show(t, device, conversation);
  assert.ok(await eventually(async () => view.getSnapshot().messages.length === 20));
  // The page is read, and its answer waits while the messages change.
  const { list } = device.client.messages;
  device.client.messages.list = (query, options) => {
    const page = list.call(device.client.messages, query, options);
    const answer = (async () => {
      const data = await page;
      await held;
      return data;
    })();
    return Object.assign(answer, page) as unknown as ReturnType<typeof list>;
  };
  const loading = view.loadOlder();
  assert.ok(await eventually(async () => between.seen.some(({ path }) => path.includes("starting_after"))));
  const writer = (await openDevice(t, { url: app.url, token: bob.token })).client;
  await writer.messages.delete(ids[0]!);
  await writer.messages.update(ids[1]!, { text: "edited" });
  await writer.messages.addReaction(ids[2]!, "👍");
  const last = await say(app, bob, conversation, "last");
  assert.ok(await eventually(async () => view.getSnapshot().messages.at(-1)?.id === last));
  release();
  await loading;
  device.client.messages.list = list;
  const all = await Array.fromAsync(device.client.messages.list({ conversation_id: conversation }));
  assert.equal(plain(view.getSnapshot().messages), plain(all.reverse()));
  assert.equal(view.getSnapshot().hasOlder, false);
});

test("a late answer does not undo a newer change", async (t) => {
  const app = await server();
  const { ann, conversation } = await pair(app);
  const id = await say(app, ann, conversation, "first");
  const device = await openDevice(t, { url: app.url, token: ann.token });
  const elsewhere = (await openDevice(t, { url: app.url, token: ann.token })).client;
  const view = show(t, device, conversation);
  assert.ok(await eventually(async () => view.getSnapshot().messages.length === 1));
  assert.ok(await settled(device));
  const updates: (string | null)[] = [];
  device.sync.onEvent((event) => {
    if (event.type === "message.updated" && "text" in event.payload) updates.push(event.payload.text);
  });
  const late = Promise.withResolvers<void>();
  const { update } = device.client.messages;
  device.client.messages.update = async (...request) => {
    const answer = await update.apply(device.client.messages, request);
    await late.promise;
    return answer;
  };
  device.sync.edit(conversation, id, "here");
  assert.ok(await eventually(async () => updates.length === 1));
  await elsewhere.messages.update(id, { text: "elsewhere" });
  assert.ok(await eventually(async () => updates.length === 2));
  late.resolve();
  assert.ok(await settled(device));
  assert.deepEqual(
    view.getSnapshot().messages.map(({ text }) => text),
    ["elsewhere"],
  );
});

test("a window around an old message follows changes, and grows at both ends", async (t) => {
  const app = await server();
  const { ann, bob, conversation } = await pair(app);
  const ids: string[] = [];
  for (let i = 0; i < 120; i++) ids.push(await say(app, bob, conversation, String(i)));
  const device = await openDevice(t, { url: app.url, token: ann.token });
  assert.ok(await settled(device));
  const around = await device.sync.around(conversation, ids[60]!);
  t.after(around.close);
  const shown = () => around.getSnapshot().messages;
  assert.ok(shown().some(({ id }) => id === ids[60]));
  const { hasOlder, hasNewer } = around.getSnapshot();
  assert.deepEqual([hasOlder, hasNewer], [true, true]);
  await device.client.messages.addReaction(ids[60]!, "👍");
  await device.client.messages.delete(ids[61]!, { for: "me" });
  assert.ok(await eventually(async () => shown().find(({ id }) => id === ids[60])!.reactions.length === 1));
  assert.ok(await eventually(async () => !shown().some(({ id }) => id === ids[61])));
  // Two calls at once add a page once.
  while (around.getSnapshot().hasOlder) await Promise.all([around.loadOlder(), around.loadOlder()]);
  while (around.getSnapshot().hasNewer) await Promise.all([around.loadNewer(), around.loadNewer()]);
  const last = await say(app, bob, conversation, "last");
  assert.ok(await eventually(async () => shown().at(-1)?.id === last));
  const all = await Array.fromAsync(device.client.messages.list({ conversation_id: conversation }));
  assert.equal(plain(shown()), plain(all.reverse()));
});

test("a window around an old message is read again after events were missed", async (t) => {
  const app = await server();
  const { ann, bob, conversation } = await pair(app);
  const ids: string[] = [];
  for (let i = 0; i < 3; i++) ids.push(await say(app, bob, conversation, String(i)));
  const client = new Parley({ url: app.url, token: ann.token });
  const { stream } = client.events;
  const missed = Promise.withResolvers<void>();
  let isErased = true;
  client.events.stream = async function* (options) {
    if (!isErased) yield* stream.call(client.events, options);
    options?.onState?.("ready");
    await missed.promise;
    isErased = false;
    throw Object.assign(new Error("erased"), { code: "events_erased", status: 410, detail: "" });
  };
  const device = await openDevice(t, { url: app.url, token: ann.token }, { client });
  assert.ok(await settled(device));
  const around = await device.sync.around(conversation, ids[1]!);
  t.after(around.close);
  const texts = () => around.getSnapshot().messages.map(({ text }) => text);
  assert.deepEqual(texts(), ["0", "1", "2"]);
  const writer = (await openDevice(t, { url: app.url, token: bob.token })).client;
  await writer.messages.delete(ids[0]!);
  await writer.messages.update(ids[2]!, { text: "edited" });
  missed.resolve();
  assert.ok(await eventually(async () => String(texts()) === "1,edited"));
});

test("an app hears that everything was read again", async (t) => {
  const app = await server();
  const { ann } = await pair(app);
  const client = new Parley({ url: app.url, token: ann.token });
  const { stream } = client.events;
  let isErased = false;
  client.events.stream = async function* (options) {
    if (isErased) yield* stream.call(client.events, options);
    isErased = true;
    throw Object.assign(new Error("erased"), { code: "events_erased", status: 410, detail: "" });
  };
  let missed = 0;
  const device = await openDevice(t, { url: app.url, token: ann.token }, { client });
  device.sync.onMissed(() => missed++);
  assert.ok(await settled(device));
  // The first time, there was nothing yet.
  assert.equal(missed, 2);
});

test("a missing event is noticed by its sequence, and everything is read again", async (t) => {
  const app = await server();
  const { ann, bob, conversation } = await pair(app);
  const client = new Parley({ url: app.url, token: ann.token });
  const { stream } = client.events;
  let created = 0;
  client.events.stream = async function* (options) {
    for await (const event of stream.call(client.events, options))
      if (event.type !== "message.created" || ++created !== 2) yield event;
  };
  const device = await openDevice(t, { url: app.url, token: ann.token }, { client });
  const view = show(t, device, conversation);
  assert.ok(await settled(device));
  // A snapshot has no sequence: the first event after it says which one follows.
  for (const text of ["first", "lost", "next"]) await say(app, bob, conversation, text);
  const texts = () => view.getSnapshot().messages.map(({ text }) => text);
  assert.ok(await eventually(async () => String(texts()) === "first,lost,next"));
});
