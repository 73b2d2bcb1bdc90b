// Changes rendered once for all waiting recipients: each recipient gets the result of a separate read.

import assert from "node:assert/strict";
import { test } from "node:test";
import { renderRows } from "../../../src/core/events/events.ts";
import { EventHub, type Listener } from "../../../src/core/node/event-hub.ts";
import type { Database } from "../../../src/db/database.ts";
import {
  eventsAfter,
  groupByChange,
  isSameForAll,
  lastEvent,
} from "../../../src/db/queries/events/events.ts";
import { startApp, type TestApp } from "../../support/app.ts";
import { allEvents, eventPage, listen, type TestEvent } from "../../support/event-stream.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { onEachEngine } from "../../support/on-engines.ts";
import { add, done, give, type Person, read, say, send, trio } from "../../support/people.ts";
import { published } from "../../support/published.ts";

const ALL = 1000;

/** Creates a group of Ann's that Bob has joined and Cat left, with events of all families. */
async function busyGroup(server: TestApp) {
  const { ann, bob, cat, id: groupId, conversation, group: groupPath } = await trio(server);
  const people = [ann, bob, cat] as [Person, Person, Person];
  const group = { id: groupId, conversation_id: conversation };
  const path = `/v1/conversations/${group.conversation_id}`;
  await read(send(server, bob, "PUT", path, { muted_until: 4_000_000_000 }), 200);
  const first = await say(server, ann, conversation, "Where?");
  // Bob has muted the conversation, and still gets the same events.
  await say(server, ann, conversation, "Anyone?");
  await say(server, ann, conversation, "Bob, you know.", { mentions: [bob.id] });
  await read(send(server, ann, "PUT", `/v1/messages/${first}`, { text: "Where to?" }), 200);
  const reactions = `/v1/messages/${first}/reactions`;
  for (const who of people) await done(send(server, who, "PUT", `${reactions}/x`));
  await done(send(server, ann, "DELETE", `${reactions}/x`));
  await done(send(server, bob, "PUT", `/v1/blocks/${cat.name}`));
  await read(send(server, ann, "PUT", `/v1/messages/${first}`, { text: "Where shall we go?" }), 200);
  const gone = await say(server, bob, conversation, "No idea.");
  await done(send(server, bob, "DELETE", `/v1/messages/${gone}`));
  await give(server, cat, conversation, "map");
  await read(send(server, ann, "PUT", groupPath, { name: "Hiking" }), 200);
  await done(send(server, cat, "DELETE", groupPath));
  await say(server, bob, conversation, "She left.");
  return { people, group };
}

onEachEngine("events rendered once for all recipients equal what each would read", async (server) => {
  const { people } = await busyGroup(server);
  const shown = new Map<string, TestEvent>();
  await published(server);
  for (const who of people) for (const event of await allEvents(server, who)) shown.set(event.id, event);
  const rows = await eventsAfter(server.app.core.db, 0, ALL);
  const shared = rows.filter(({ type }) => isSameForAll(type));
  const { changes } = groupByChange(shared, shared.length + 1)!;
  let partlySeen = 0;
  const notified = new Set<boolean | undefined>();
  for (const change of changes) {
    const events = (await renderRows(server.app.core, change)).map(
      ({ json }) => JSON.parse(json) as TestEvent,
    );
    for (const event of events) assert.deepEqual(event, shown.get(event.id));
    const sizes = new Set(events.map(({ payload }) => Object.keys(payload).length));
    if (sizes.size > 1) partlySeen++;
    if (change[0]!.type === "message.created") for (const { notify } of events) notified.add(notify);
  }
  assert.ok(partlySeen > 0, "no change is seen by some only");
  assert.deepEqual(notified, new Set([true, false]));
});

const READS = new Set<unknown>(["all", "get", "allValues", "getValues"]);

/** Returns a database that changes just before its read of this number. `isDone` reports whether that happened. */
function changedBefore(db: Database, turn: number, change: () => Promise<unknown>) {
  let reads = 0;
  const between = new Proxy(db, {
    get(target, name) {
      const method = Reflect.get(target, name, target);
      if (typeof method !== "function") return method;
      return async (...args: unknown[]) => {
        if (READS.has(name) && reads++ === turn) await change();
        return method.apply(target, args);
      };
    },
  });
  return { db: between, isDone: () => reads > turn };
}

test("an edit during rendering shows the new text to nobody who has blocked the sender", async (t) => {
  const server = await startApp(t);
  const { core } = server.app;
  const { people, group } = await busyGroup(server);
  const [ann, bob] = people;
  for (const [sender, blocker] of [
    [ann, bob],
    [bob, ann],
  ] as const) {
    for (let turn = 0, isDone = true; isDone; turn++) {
      const id = await say(server, sender, group.conversation_id, "old");
      await done(send(server, blocker, "PUT", `/v1/blocks/${sender.name}`));
      const rows = (await eventsAfter(core.db, 0, ALL)).filter(({ payload }) => payload.includes(id));
      const edit = () => read(send(server, sender, "PUT", `/v1/messages/${id}`, { text: "new" }), 200);
      const changed = changedBefore(core.db, turn, edit);
      const events = await renderRows({ ...core, db: changed.db }, rows);
      const shown = (who: Person) =>
        JSON.parse(events[rows.findIndex((row) => row.recipient_id === who.id)]!.json).payload.text;
      assert.match(shown(sender), /^(old|new)$/, `${turn}`);
      assert.notEqual(shown(blocker), "new", `${turn}`);
      isDone = changed.isDone();
      assert.ok(isDone || turn > 0, "nothing was read");
      await done(send(server, blocker, "DELETE", `/v1/blocks/${sender.name}`));
    }
  }
});

test("waiting streams get the event types they ask for, each event once and in order", async (t) => {
  const server = await startApp(t);
  const { people, group } = await busyGroup(server);
  const [ann, bob] = people;
  const all = await listen(t, server, ann);
  const files = await listen(t, server, ann, { query: "?types=attachment.created" });
  const theirs = await listen(t, server, bob);
  const last = (await eventPage(server, ann, "?limit=1")).data[0]!.id;
  for (let i = 0; i < 5; i++) {
    await Promise.all([
      say(server, ann, group.conversation_id, `${i}`),
      say(server, bob, group.conversation_id, `and ${i}`),
      give(server, bob, group.conversation_id, `file ${i}`),
    ]);
  }
  const { data } = await eventPage(server, ann, `?limit=100&ending_before=${last}`);
  const wanted = data.toReversed().map(({ id, type, payload }) => [id, type, payload.id]);
  const sent = ({ id, type, payload }: TestEvent) => [id, type, payload.id];
  assert.deepEqual((await all.wait(wanted.length)).map(sent), wanted);
  const filed = wanted.filter(([, type]) => type === "attachment.created");
  assert.equal(filed.length, 5);
  assert.deepEqual((await files.wait(5)).map(sent), filed);
  const created = (await theirs.wait(20)).filter(({ type }) => type === "message.created");
  assert.equal(new Set(created.map(({ payload }) => payload.id)).size, 15);
});

/** Adds a listener to the test's hub that waits after its last event, or at another number. */
async function waitingListener(
  server: TestApp,
  who: Person,
  {
    skipped = 0,
    findRefusal = async () => undefined,
  }: Partial<Pick<Listener, "findRefusal">> & { skipped?: number } = {},
) {
  const { core } = server.app;
  const { number } = await lastEvent(core.db, who.id);
  const seen = { sent: [] as string[], woken: [] as number[], ended: 0 };
  let at = number - skipped;
  const hub = new EventHub();
  const listener: Listener = {
    userId: who.id,
    transport: "sse",
    waitsAfter: () => at,
    send: (events, upTo) => {
      seen.sent.push(...events.map(({ type }) => type));
      at = upTo;
    },
    wake: (upTo) => seen.woken.push(upTo - number),
    sendTyping() {},
    findRefusal,
    end: () => seen.ended++,
  };
  await hub.add(core, listener);
  const look = () => hub.look(core, (change) => renderRows(core, change));
  // Triggers the first check of the token.
  await look();
  const read = () => {
    at++;
  };
  return { seen, look, read };
}

test("a stream reads events itself after a gap, or if there are too many or mixed ones", async (t) => {
  const server = await startApp(t);
  const { people, group } = await busyGroup(server);
  const [ann] = people;
  const next = await waitingListener(server, ann);
  const behind = await waitingListener(server, ann, { skipped: 1 });
  const revoked = await waitingListener(server, ann, { findRefusal: async () => "invalid_token" });
  await say(server, ann, group.conversation_id, "Hello");
  for (const { look } of [next, behind, revoked]) await look();
  assert.deepEqual(next.seen, { sent: ["message.created"], woken: [], ended: 0 });
  assert.deepEqual(behind.seen, { sent: [], woken: [1], ended: 0 });
  assert.deepEqual([revoked.seen.sent, revoked.seen.woken], [[], []]);
  assert.ok(revoked.seen.ended > 0);
  const slow = await waitingListener(server, ann);
  for (let i = 0; i < 11; i++) await say(server, ann, group.conversation_id, `Hello ${i}`);
  await slow.look();
  assert.deepEqual(slow.seen, { sent: [], woken: [11], ended: 0 }, "too many to wait for a slow client");
  const mixed = await waitingListener(server, ann);
  await say(server, ann, group.conversation_id, "Hello again");
  await add(server, ann, "bob");
  await mixed.look();
  assert.deepEqual(mixed.seen, { sent: [], woken: [2], ended: 0 });
});

test("a stream that has read ahead is sent later events only", async (t) => {
  const server = await startApp(t);
  const { people, group } = await busyGroup(server);
  const [ann] = people;
  const ahead = await waitingListener(server, ann, { skipped: -1 });
  await say(server, ann, group.conversation_id, "This it has read");
  await ahead.look();
  assert.deepEqual(ahead.seen, { sent: [], woken: [], ended: 0 });
  const between = await waitingListener(server, ann, { skipped: -1 });
  await say(server, ann, group.conversation_id, "This, too");
  await send(server, ann, "PUT", `/v1/groups/${group.id}`, { name: "Sailing" });
  await say(server, ann, group.conversation_id, "But not this");
  await between.look();
  // The rename has two events: a system message, and the group, which is rendered for each member.
  assert.deepEqual(between.seen, { sent: [], woken: [4], ended: 0 });
  const twice = await waitingListener(server, ann, { skipped: -1 });
  for (const text of ["One", "Two"]) await say(server, ann, group.conversation_id, text);
  await twice.look();
  assert.deepEqual(twice.seen, { sent: ["message.created"], woken: [], ended: 0 });
});

test("of two changes during the check of a token, the first is sent and the other read", async (t) => {
  const server = await startApp(t);
  const { people, group } = await busyGroup(server);
  const [ann] = people;
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const stream = await waitingListener(server, ann, { findRefusal: () => promise });
  for (const text of ["One", "Two"]) {
    await say(server, ann, group.conversation_id, text);
    await stream.look();
  }
  assert.deepEqual(stream.seen, { sent: [], woken: [], ended: 0 });
  resolve(undefined);
  assert.ok(await eventually(async () => stream.seen.woken.length > 0));
  assert.deepEqual(stream.seen, { sent: ["message.created"], woken: [2], ended: 0 });
});

test("a stream that reads during the check of its token is not sent the same event again", async (t) => {
  const server = await startApp(t);
  const { people, group } = await busyGroup(server);
  const [ann] = people;
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const stream = await waitingListener(server, ann, { findRefusal: () => promise });
  await say(server, ann, group.conversation_id, "Hello");
  await stream.look();
  stream.read();
  resolve(undefined);
  assert.ok(await eventually(async () => stream.seen.woken.length > 0));
  assert.deepEqual(stream.seen, { sent: [], woken: [1], ended: 0 });
});
