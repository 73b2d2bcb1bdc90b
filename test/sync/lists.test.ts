// What the views of the inbox and of a conversation have beyond the messages, and when they are read again.
import assert from "node:assert/strict";
import { test } from "node:test";
import { sharedApp } from "../support/app.ts";
import { eventually } from "../support/files-on-disk.ts";
import { add, pair, person, read, say, send } from "../support/people.ts";
import { openDevice, settled, show } from "./device.ts";

const server = sharedApp();

test("pinned conversations are in the inbox, however old", async (t) => {
  const app = await server();
  const ann = await person(app, "ann-who-pins");
  const ids: string[] = [];
  for (let i = 0; i < 23; i++) {
    const { conversation_id } = await add(app, ann, `pinned friend ${i}`);
    await say(app, ann, conversation_id, "hello");
    ids.push(conversation_id);
  }
  const pin = (id: string, is_pinned: boolean) =>
    read(send(app, ann, "PUT", `/v1/conversations/${id}`, { is_pinned }), 200);
  await pin(ids[0]!, true);
  const device = await openDevice(t, { url: app.url, token: ann.token });
  assert.ok(await settled(device));
  const shown = () =>
    device.sync
      .inbox()
      .getSnapshot()
      .items.map(({ id }) => id);
  const newest = ids.slice(3).reverse();
  assert.deepEqual(shown(), [...newest, ids[0]]);
  await pin(ids[1]!, true);
  assert.ok(await eventually(async () => shown().length === 22));
  await pin(ids[0]!, false);
  assert.ok(await eventually(async () => String(shown()) === String([...newest, ids[1]])));
});

test("the members of files that are asked for are there", async (t) => {
  const app = await server();
  const { ann, bob, conversation } = await pair(app);
  const form = new FormData();
  form.append("conversation_id", conversation);
  form.append("file", new File(["text"], "a.txt"));
  await read(fetch(`${app.url}/v1/messages`, { method: "POST", headers: bob.headers, body: form }), 201);
  const device = await openDevice(t, { url: app.url, token: ann.token }, { include: "image" });
  const view = show(t, device, conversation);
  const images = () =>
    view.getSnapshot().messages.flatMap(({ attachments }) => attachments.map(({ image }) => image));
  assert.ok(await eventually(async () => images().length === 1));
  assert.deepEqual(images(), [null]);
});

test("a contact who writes has joined", async (t) => {
  const app = await server();
  const [ann, bob] = [await person(app, "ann-first"), await person(app, "bob-later")];
  const { conversation_id } = await add(app, ann, bob.name);
  const device = await openDevice(t, { url: app.url, token: ann.token });
  const view = show(t, device, conversation_id);
  const hasJoined = () => view.getSnapshot().conversation?.contact_joined;
  assert.ok(await eventually(async () => hasJoined() === false));
  const back = await add(app, bob, ann.name);
  await say(app, bob, back.conversation_id, "now I am");
  assert.ok(await eventually(async () => hasJoined() === true));
});

test("a conversation is read again when it is opened, if need be later, but not at each connection", async (t) => {
  const app = await server();
  const { ann, bob, conversation } = await pair(app);
  await say(app, bob, conversation, "kept");
  const device = await openDevice(t, { url: app.url, token: ann.token });
  assert.ok(await settled(device));
  const { messages } = device.client;
  const { list } = messages;
  let reads = 0;
  let isAway = true;
  messages.list = (...request) => {
    reads++;
    if (isAway) throw new Error("away");
    return list.apply(messages, request);
  };
  const view = show(t, device, conversation);
  assert.ok(await eventually(async () => reads === 1));
  isAway = false;
  device.sync.wake();
  assert.ok(await eventually(async () => reads === 2));
  device.sync.wake();
  await say(app, bob, conversation, "new");
  assert.ok(await eventually(async () => view.getSnapshot().messages.at(-1)?.text === "new"));
  assert.equal(reads, 2);
});
