// The local copy and the outbox against a real server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Parley } from "../../packages/parley-client/src/index.ts";
import { type Batch, memoryStore, type SyncMessage } from "../../packages/parley-sync/src/index.ts";
import { deleteUser } from "../../src/core/people/users.ts";
import { sharedApp } from "../support/app.ts";
import { eventually } from "../support/files-on-disk.ts";
import { pair, say, trio } from "../support/people.ts";
import { proxy } from "../support/proxy.ts";
import { fillStore, openDevice, plain, settled, show } from "./device.ts";

const server = sharedApp();

const texts = (messages: readonly SyncMessage[]) => messages.map(({ text, state }) => `${text} ${state}`);

test("a device shows the inbox and messages, and follows changes", async (t) => {
  const app = await server();
  const { ann, bob, conversation } = await pair(app);
  const first = await say(app, bob, conversation, "first");
  const device = await openDevice(t, { url: app.url, token: ann.token });
  const view = show(t, device, conversation);
  assert.ok(await eventually(async () => view.getSnapshot().messages.length === 1));
  assert.equal(device.sync.inbox().getSnapshot().items[0]!.unread_count, 1);
  const second = await say(app, bob, conversation, "second");
  assert.ok(await eventually(async () => view.getSnapshot().messages.length === 2));
  const inbox = () => device.sync.inbox().getSnapshot().items[0]!;
  assert.deepEqual([inbox().unread_count, inbox().last_message!.id], [2, second]);
  await device.client.messages.delete(first, { for: "me" });
  assert.ok(await eventually(async () => inbox().unread_count === 1));
  assert.deepEqual(texts(view.getSnapshot().messages), ["second sent"]);
  device.sync.read(conversation, second);
  assert.equal(inbox().unread_count, 0);
  assert.ok(await settled(device));
  assert.equal((await device.client.conversations.retrieve(conversation)).unread_count, 0);
  const page = await device.client.messages.list({ conversation_id: conversation });
  assert.equal(plain(view.getSnapshot().messages), plain(page.data.toReversed()));
});

test("a device that was away is live once it has everything that it missed", async (t) => {
  const app = await server();
  const { ann, bob, conversation } = await pair(app);
  await say(app, bob, conversation, "first");
  const store = memoryStore();
  const at = { url: app.url, token: ann.token };
  await fillStore(t, at, store);
  // More than a snapshot has.
  const missed = Array.from({ length: 25 }, (_, i) => String(i));
  for (const text of missed) await say(app, bob, conversation, text);
  const device = await openDevice(t, at, { store });
  const view = show(t, device, conversation);
  const connection = device.sync.connection();
  await new Promise<void>((resolve) => {
    t.after(connection.subscribe(() => connection.getSnapshot().state === "live" && resolve()));
  });
  assert.deepEqual(
    view.getSnapshot().messages.map(({ text }) => text),
    ["first", ...missed],
  );
});

test("a snapshot of a view stays the same object until it changes", async (t) => {
  const app = await server();
  const { ann, bob, conversation } = await pair(app);
  await say(app, bob, conversation, "first");
  const device = await openDevice(t, { url: app.url, token: ann.token });
  const view = show(t, device, conversation);
  assert.ok(await eventually(async () => view.getSnapshot().messages.length === 1));
  assert.ok(await settled(device));
  const before = view.getSnapshot();
  assert.equal(view.getSnapshot(), before);
  await say(app, bob, conversation, "second");
  assert.ok(await eventually(async () => view.getSnapshot().messages.length === 2));
  assert.equal(view.getSnapshot().messages[0], before.messages[0]);
});

test("a message is shown at once, sent once and in order, although answers are lost", async (t) => {
  const app = await server();
  const { ann, conversation } = await pair(app);
  let isAway = true;
  let attempts = 0;
  const between = await proxy(t, app.url, (path) => {
    if (path !== "/v1/messages" || !isAway) return "pass";
    return attempts++ % 2 === 0 ? "lose the answer" : { status: 502 };
  });
  const at = { url: between.url, token: ann.token };
  // The client repeats nothing, so that the outbox does.
  const device = await openDevice(t, at, { client: new Parley({ ...at, maxRetries: 0 }) });
  const view = show(t, device, conversation);
  const sent = device.sync.send(conversation, { text: "0" });
  assert.deepEqual([sent.state, sent.text], ["waiting", "0"]);
  for (let i = 1; i < 5; i++) device.sync.send(conversation, { text: String(i) });
  assert.deepEqual(
    view.getSnapshot().messages.map(({ text }) => text),
    ["0", "1", "2", "3", "4"],
  );
  assert.ok(await eventually(async () => attempts > 2));
  isAway = false;
  assert.ok(await settled(device));
  const listed = await device.client.messages.list({ conversation_id: conversation });
  assert.deepEqual(
    listed.data.map(({ text }) => text),
    ["4", "3", "2", "1", "0"],
  );
  assert.ok(await eventually(async () => view.getSnapshot().messages.length === 5));
  assert.equal(plain(view.getSnapshot().messages), plain(listed.data.toReversed()));
});

test("an edit shows and sends its mentions, and without any keeps those of the message", async (t) => {
  const app = await server();
  const { ann, bob, conversation } = await pair(app);
  const device = await openDevice(t, { url: app.url, token: ann.token });
  const view = show(t, device, conversation);
  const { id } = await device.client.messages.create({ conversation_id: conversation, text: "a" });
  assert.ok(await eventually(async () => view.getSnapshot().messages.length === 1));
  const mentions = () => view.getSnapshot().messages[0]!.mentions;
  for (const wanted of [[bob.id], []]) {
    device.sync.edit(conversation, id, `to ${wanted.length}`, wanted);
    assert.deepEqual(mentions(), wanted);
    device.sync.edit(conversation, id, `again to ${wanted.length}`);
    assert.ok(await settled(device));
    assert.deepEqual(mentions(), wanted);
    assert.deepEqual((await device.client.messages.retrieve(id)).mentions, wanted);
  }
});

test("what waits survives a kill, and is sent by the next process", async (t) => {
  const app = await server();
  const { ann, conversation } = await pair(app);
  const store = memoryStore();
  const away = { url: "http://127.0.0.1:1", token: ann.token };
  const first = await openDevice(t, away, { store });
  const file = new File(["hello"], "hello.txt", { type: "text/plain" });
  first.sync.send(conversation, { text: "later", files: [file] });
  assert.ok(await eventually(async () => (await store.scan("out/")).length === 1));
  await first.sync.close();
  const second = await openDevice(t, { url: app.url, token: ann.token }, { store });
  assert.ok(await settled(second));
  assert.ok(await eventually(async () => (await store.scan("file/")).length === 0));
  const { data } = await second.client.messages.list({ conversation_id: conversation });
  assert.deepEqual(
    data.map(({ text, attachments }) => [text, attachments[0]!.filename]),
    [["later", "hello.txt"]],
  );
});

test("a refused message is kept with its reason until it is sent again or discarded", async (t) => {
  const app = await server();
  const { ann, conversation } = await pair(app);
  const device = await openDevice(t, { url: app.url, token: ann.token });
  const view = show(t, device, conversation);
  device.sync.send(conversation, { text: "a reply", replyTo: `msg_${"0".repeat(26)}` });
  device.sync.send(conversation, { text: "x".repeat(10_001) });
  device.sync.send(conversation, { text: "" });
  device.sync.send(conversation, { text: "fine" });
  assert.ok(await settled(device));
  const failed = device.sync.outbox().getSnapshot();
  assert.deepEqual(
    failed.map(({ reason }) => reason!.code),
    ["message_not_found", "invalid_parameter", "missing_parameter"],
  );
  assert.deepEqual(
    view.getSnapshot().messages.map(({ state }) => state),
    ["sent", "failed", "failed", "failed"],
  );
  const reply = view.getSnapshot().messages.find(({ text }) => text === "a reply");
  await device.sync.retry(reply!.key);
  for (const { key } of failed.slice(1)) await device.sync.discard(key);
  assert.ok(await eventually(async () => device.sync.outbox().getSnapshot().length === 0));
  assert.deepEqual(texts(view.getSnapshot().messages), ["fine sent", "a reply sent"]);
});

test("a message with more files than one request may have is sent with all of them", async (t) => {
  const app = await server();
  const { ann, conversation } = await pair(app);
  const device = await openDevice(t, { url: app.url, token: ann.token });
  const files = Array.from({ length: 12 }, (_, i) => new File([String(i)], `${i}.txt`));
  device.sync.send(conversation, { files });
  assert.ok(await settled(device));
  const { data } = await device.client.messages.list({ conversation_id: conversation });
  assert.deepEqual(
    data.map(({ attachments }) => attachments.map(({ filename }) => filename)),
    [files.map(({ name }) => name)],
  );
});

test("a conversation has its contact, though the first page of contacts has not", async (t) => {
  const app = await server();
  const { ann, bob, conversation } = await pair(app);
  await say(app, bob, conversation, "hello");
  const at = { url: app.url, token: ann.token };
  const client = new Parley(at);
  await client.contacts.create({ username: `zoe-${conversation.slice(-8)}`, phone_number: "+15550100" });
  const { list } = client.contacts;
  client.contacts.list = (query, options) => list.call(client.contacts, { ...query, limit: 1 }, options);
  const device = await openDevice(t, at, { client });
  assert.ok(await settled(device));
  assert.equal(device.sync.contacts().getSnapshot().items.length, 1);
  assert.equal(device.sync.conversation(conversation).getSnapshot().contact?.conversation_id, conversation);
  await device.sync.contacts().loadOlder();
  assert.equal(device.sync.contacts().getSnapshot().items.length, 2);
});

test("a conversation that the user leaves is gone, and sign-out erases the store", async (t) => {
  const app = await server();
  const { ann, bob, conversation, contact } = await pair(app);
  await say(app, bob, conversation, "secret");
  const device = await openDevice(t, { url: app.url, token: ann.token });
  const view = show(t, device, conversation);
  assert.ok(await eventually(async () => view.getSnapshot().messages.length === 1));
  await device.client.contacts.delete(contact);
  assert.ok(await eventually(async () => view.getSnapshot().messages.length === 0));
  assert.ok(await eventually(async () => !JSON.stringify(await device.store.scan("")).includes("secret")));
  await device.sync.signOut();
  assert.deepEqual(await device.store.scan(""), []);
});

test("a token of another user erases the copy and sends nothing of it", async (t) => {
  const app = await server();
  const [one, other] = [await pair(app), await pair(app)];
  await say(app, one.bob, one.conversation, "secret");
  const store = memoryStore();
  await fillStore(t, { url: app.url, token: one.ann.token }, store);
  const offline = await openDevice(t, { url: "http://127.0.0.1:1", token: one.ann.token }, { store });
  offline.sync.send(one.conversation, { text: "of Ann" });
  await offline.sync.close();
  assert.match(JSON.stringify(await store.scan("")), /secret.*of Ann|of Ann.*secret/);
  const second = await openDevice(t, { url: app.url, token: other.ann.token }, { store });
  assert.ok(await settled(second));
  assert.doesNotMatch(JSON.stringify(await store.scan("")), /secret|of Ann/);
  assert.deepEqual(second.sync.outbox().getSnapshot(), []);
  assert.equal(second.sync.connection().getSnapshot().me!.id, other.ann.id);
});

test("a message is stored before it is sent", async (t) => {
  const app = await server();
  const { ann, conversation } = await pair(app);
  const seen: string[] = [];
  let onSend = () => {};
  const between = await proxy(t, app.url, (path) => {
    if (path !== "/v1/messages") return "pass";
    seen.push("sent");
    onSend();
    return "pass";
  });
  const store = memoryStore();
  const slow = {
    ...store,
    async write(batch: Batch) {
      const stored = [...batch].filter(([key, value]) => key.startsWith("out/") && value !== null);
      // Time for a request that does not wait.
      if (stored.length > 0) await new Promise((resolve) => setTimeout(resolve, 500));
      await store.write(batch);
      seen.push(...stored.map(() => "stored"));
    },
  };
  const device = await openDevice(t, { url: between.url, token: ann.token }, { store: slow });
  assert.ok(await settled(device));
  device.sync.send(conversation, { text: "hello" });
  assert.ok(await settled(device));
  assert.deepEqual(seen, ["stored", "sent"]);
  // The second message is next in its lane while the store is still writing it.
  onSend = () => {
    onSend = () => {};
    device.sync.send(conversation, { files: [new File(["two"], "two.txt")] });
  };
  device.sync.send(conversation, { text: "one" });
  assert.ok(await eventually(async () => seen.length === 6));
  assert.ok(await settled(device));
  assert.deepEqual(seen.slice(2), ["stored", "sent", "stored", "sent"]);
  assert.deepEqual(device.sync.outbox().getSnapshot(), []);
});

test("a message with a file is sent although the store can't be written", async (t) => {
  const app = await server();
  const { ann, conversation } = await pair(app);
  const full = async () => {
    throw new Error("The disk is full.");
  };
  const at = { url: app.url, token: ann.token };
  const device = await openDevice(t, at, { store: { ...memoryStore(), write: full } });
  assert.ok(await settled(device));
  device.sync.send(conversation, { files: [new File(["content"], "note.txt")] });
  assert.ok(await settled(device));
  assert.deepEqual(device.sync.outbox().getSnapshot(), []);
  assert.equal(device.sync.connection().getSnapshot().isStored, false);
});

test("after close nothing hangs, and signOut says that it erases nothing", async (t) => {
  const app = await server();
  const { ann, conversation } = await pair(app);
  const device = await openDevice(t, { url: app.url, token: ann.token });
  assert.ok(await settled(device));
  await device.sync.close();
  const { sync } = device;
  const calls = [
    () => sync.signOut(),
    () => sync.retry("out/1"),
    () => sync.conversation(conversation).loadOlder(),
  ];
  for (const call of calls) await assert.rejects(call, /The copy is closed/);
  assert.throws(() => sync.send(conversation, { text: "late" }), /The copy is closed/);
});

test("close ends a pause that the server asked for", async (t) => {
  const app = await server();
  const { ann } = await pair(app);
  const headers = { "retry-after": "60" };
  const between = await proxy(t, app.url, () => ({ status: 503, headers }));
  const timers = new Set<() => void>();
  const platform = {
    ...{ now: () => Date.now(), random: () => 0 },
    after(_: number, callback: () => void) {
      timers.add(callback);
      return () => timers.delete(callback);
    },
  };
  const at = { url: between.url, token: ann.token };
  const device = await openDevice(t, at, { platform, client: new Parley({ ...at, maxRetries: 0 }) });
  assert.ok(await eventually(async () => timers.size === 1));
  device.sync.wake();
  assert.equal(timers.size, 1);
  await device.sync.close();
  assert.equal(timers.size, 0);
});

test("the name of an erased user leaves the copy", async (t) => {
  const app = await server();
  const { ann, bob, conversation } = await trio(app);
  await say(app, bob, conversation, "from Bob");
  const device = await openDevice(t, { url: app.url, token: ann.token });
  const view = show(t, device, conversation);
  const sender = () => view.getSnapshot().messages.find(({ text }) => text === "from Bob")?.sender;
  assert.ok(await eventually(async () => sender()?.id === bob.id));
  await deleteUser(app.app.core, null, bob.id);
  assert.ok(await eventually(async () => sender() === null));
});

test("a conversation that is shown again has changes without events, and all messages", async (t) => {
  const app = await server();
  const { ann, bob, cat, conversation, group } = await trio(app);
  await say(app, bob, conversation, "from Bob");
  const device = await openDevice(t, { url: app.url, token: ann.token });
  const view = device.sync.conversation(conversation);
  const hide = view.subscribe(() => {});
  const { data } = await device.client.groups.listMembers(group.split("/").at(-1)!);
  const seat = data.find(({ user_id }) => user_id === cat.id)!;
  await device.client.groups.removeMember(seat.group_id, seat.id);
  const removed = () => view.getSnapshot().messages.find(({ type }) => type === "removed");
  assert.ok(await eventually(async () => removed() !== undefined));
  assert.ok(await settled(device));
  hide();
  // No member any more, so there is no event.
  await deleteUser(app.app.core, null, cat.id);
  assert.notEqual(removed()!.data!.user, null);
  show(t, device, conversation);
  assert.ok(await eventually(async () => removed()?.data?.user === null));
  const page = await device.client.messages.list({ conversation_id: conversation });
  assert.equal(plain(view.getSnapshot().messages), plain(page.data.toReversed()));
});

test("wake replaces a connection that other streams of the app share, and misses nothing", async (t) => {
  const app = await server();
  const { ann, bob, conversation } = await pair(app);
  let isAway = false;
  const between = await proxy(t, app.url, () => (isAway ? { status: 502 } : "pass"));
  const device = await openDevice(t, { url: between.url, token: ann.token });
  const view = show(t, device, conversation);
  assert.ok(await settled(device));
  const stop = new AbortController();
  t.after(() => stop.abort());
  const ready = Promise.withResolvers<void>();
  const onState = (state: string) => state === "ready" && ready.resolve();
  const next = device.client.events.stream({ signal: stop.signal, onState }).next();
  await ready.promise;
  const opened = () => between.seen.filter(({ path }) => path === "/v1/events").length;
  const before = opened();
  device.sync.wake();
  assert.ok(await eventually(async () => opened() > before));
  await say(app, bob, conversation, "hello");
  assert.equal((await next).done, false);
  assert.ok(await eventually(async () => view.getSnapshot().messages.length === 1));
  const state = () => device.sync.connection().getSnapshot().state;
  isAway = true;
  between.cut();
  assert.ok(await eventually(async () => state() === "connecting"));
  // More than a snapshot has.
  for (let i = 0; i < 25; i++) await say(app, bob, conversation, String(i));
  const live = new Promise<void>((resolve) => {
    t.after(device.sync.connection().subscribe(() => state() === "live" && resolve()));
  });
  isAway = false;
  device.sync.wake();
  await live;
  assert.equal(view.getSnapshot().messages.length, 26);
});
