// An event stream delivers each event once and in order, whatever happens to its connection.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Parley, type ParleyOptions, type StreamEvent } from "../../packages/parley-client/src/index.ts";
import { readMessages } from "../../packages/parley-client/src/server-sent-events.ts";
import { startApp, startOn, type TestApp } from "../support/app.ts";
import { eventually } from "../support/files-on-disk.ts";
import { proxy } from "../support/proxy.ts";
import { clientOf, onCarriers, onEngines } from "./engines.ts";
import { failure } from "./failure.ts";
import { add, listen } from "./streams.ts";

/** Returns a user's client, and one without the proxy. */
async function listener(server: TestApp, url: string, options: Partial<ParleyOptions> = {}) {
  const { token } = await server.user();
  return {
    parley: new Parley({ url, token, ...options }),
    direct: new Parley({ url: server.url, token }),
  };
}

onCarriers("a stream resumes after its last event when the server restarts", async (t, carrier, given) => {
  const config = { ...given, secrets: ["s".repeat(32)] };
  const first = await startOn(t, config);
  const again = { ...config, port: first.app.port() };
  const { parley } = await listener(first, first.url, carrier);
  const stream = listen(t, parley);
  await stream.connected(1);
  const ada = await add(parley, "ada");
  assert.ok(await stream.has(1));
  await first.app.stop();
  await startOn(t, again);
  await add(parley, "grace");
  assert.ok(await stream.has(2));
  await stream.connected(2);
  await add(parley, "edsger");
  assert.ok(await stream.has(3));
  assert.deepEqual(stream.events[0]!.payload, ada);
  assert.deepEqual(await stream.close(), ["ada", "grace", "edsger"]);
  const pages = await parley.events.list({ limit: 2 });
  assert.deepEqual([pages.has_more, pages.data], [true, stream.events.slice(1).reverse()]);
});

onCarriers(
  "events during a lost connection are delivered, also before the first",
  async (t, carrier, config) => {
    const server = await startOn(t, config);
    let isAway = false;
    const between = await proxy(t, server.url, () => (isAway ? { status: 502 } : "pass"));
    const { parley, direct } = await listener(server, between.url, carrier);
    const stream = listen(t, parley);
    await stream.connected(1);
    isAway = true;
    between.cut();
    for (const name of ["ada", "grace"]) await add(direct, name);
    await new Promise((resolve) => setTimeout(resolve, 700));
    isAway = false;
    assert.ok(await stream.has(2));
    await stream.connected(2);
    between.cut();
    await add(direct, "edsger");
    assert.ok(await stream.has(3));
    await stream.connected(3);
    assert.deepEqual(stream.states, [
      "connecting",
      ...["ready", "reconnecting"],
      ...["ready", "reconnecting"],
      "ready",
    ]);
    assert.deepEqual(await stream.close(), ["ada", "grace", "edsger"]);
  },
);

onEngines("all changes after a cursor are delivered, whatever is read meanwhile", async (t, config) => {
  const server = await startOn(t, config);
  const parley = await clientOf(server);
  for (const names of [["ada", "grace"], ["edsger"]]) {
    const after = await parley.events.cursor();
    for (const name of names) await add(parley, name);
    assert.equal((await parley.contacts.list()).data[0]!.username, names.at(-1));
    const stream = listen(t, parley, { after });
    assert.ok(await stream.has(names.length));
    assert.deepEqual(await stream.close(), names);
  }
  assert.equal(await parley.events.cursor(), (await parley.events.list()).data[0]!.id);
});

test("a stream of a user without events starts at the first one, even if its first connection is cut", async (t) => {
  const server = await startApp(t);
  const between = await proxy(t, server.url, () => "pass");
  const { parley, direct } = await listener(server, between.url);
  const [next, all] = [listen(t, parley), listen(t, parley, { after: null })];
  for (const stream of [next, all]) await stream.connected(1);
  assert.ok(await eventually(async () => between.underWay() === 1));
  between.cut();
  await add(direct, "ada");
  for (const stream of [next, all]) {
    assert.ok(await stream.has(1));
    assert.deepEqual(await stream.close(), ["ada"]);
  }
});

test("events are filtered by type and start after a known one, and each type has its payload", async (t) => {
  const parley = await clientOf(await startApp(t));
  const [ada] = [await add(parley, "ada"), await add(parley, "grace")];
  const file = await parley.attachments.upload(new File(["x"], "x.txt"), {
    conversation_id: ada.conversation_id,
  });
  const { data } = await parley.events.list();
  const stream = listen(t, parley, {
    after: data.at(-1)!.id,
    types: ["attachment.created", "contact.deleted"],
  });
  // A payload shows the state when the event is sent.
  assert.ok(await stream.has(1));
  await parley.contacts.delete(ada.id);
  assert.ok(await stream.has(2));
  await stream.close();
  const described = stream.events.map((event) =>
    event.type === "attachment.created" && "filename" in event.payload ? event.payload.filename : event.type,
  );
  assert.deepEqual(described, [file.filename, "contact.deleted"]);
  const created = await parley.events.list({ types: ["contact.created"] });
  assert.equal(created.data.length, 2);
  const whole = listen(t, parley, { after: null, types: ["contact.created"] });
  await add(parley, "edsger");
  assert.ok(await whole.has(3));
  assert.deepEqual(await whole.close(), ["ada", "grace", "edsger"]);
});

/** Returns what an event of a group is about. Compiles only if the payload has the type's fields. */
function ofGroup(event: StreamEvent): unknown[] {
  const { type, payload } = event;
  switch (type) {
    case "group.created":
    case "group.updated":
      return [type, payload.id, "name" in payload ? payload.name : null];
    case "group.deleted":
      return [type, payload.id, payload.conversation_id];
    case "member.created":
    case "member.updated":
      return [type, payload.group_id, "role" in payload ? payload.role : null];
    case "member.deleted":
      return [type, payload.group_id, payload.user_id];
    default:
      return [type];
  }
}

test("events of a group and its members match their types", async (t) => {
  const server = await startApp(t);
  const [ann, bob] = [await clientOf(server), await clientOf(server)];
  const [{ username: annsName }, { username, id: bobsId }] = [await ann.me(), await bob.me()];
  await add(bob, annsName);
  const anns = listen(t, ann, { after: null });
  const bobs = listen(t, bob, { after: null, types: ["group.deleted", "member.deleted"] });
  const { id, conversation_id } = await ann.groups.create({ name: "Climbing", members: [username] });
  await bob.groups.join(id);
  // A payload shows the state when the event is sent, so wait for each event.
  assert.ok(await anns.has(5));
  const [seat] = (await ann.groups.listMembers(id)).data;
  await ann.groups.updateMember(id, seat!.id, { role: "admin" });
  assert.ok(await anns.has(7));
  await ann.groups.update(id, { name: "Hills" });
  assert.ok(await anns.has(9));
  await bob.groups.leave(id);
  assert.ok((await anns.has(11)) && (await bobs.has(1)));
  assert.deepEqual(
    anns.events.map(ofGroup).filter(([type]) => type !== "message.created"),
    [
      ["group.created", id, "Climbing"],
      ["member.created", id, "admin"],
      ["member.created", id, "member"],
      ["member.updated", id, "admin"],
      ["group.updated", id, "Hills"],
      ["member.deleted", id, bobsId],
    ],
  );
  assert.deepEqual(bobs.events.map(ofGroup), [["group.deleted", id, conversation_id]]);
  await anns.close();
  await bobs.close();
});

onCarriers(
  "typing events are streamed, and do not move the position of the last stored event",
  async (t, carrier, config) => {
    const server = await startOn(t, config);
    let isAway = false;
    const between = await proxy(t, server.url, () => (isAway ? { status: 502 } : "pass"));
    const { parley: bob, direct } = await listener(server, between.url, carrier);
    const ann = await clientOf(server);
    const [{ id: user_id, username }, me] = [await ann.me(), await direct.me()];
    const { conversation_id } = await add(ann, me.username);
    await add(direct, username);
    const stream = listen(t, bob, { after: null, types: ["contact.created", "typing"] });
    await stream.connected(1);
    assert.equal(await ann.conversations.typing(conversation_id), undefined);
    assert.ok(await stream.has(2));
    const [, typing] = stream.events;
    assert.ok(typing?.type === "typing");
    assert.deepEqual(Object.keys(typing), ["type", "conversation_id", "payload"]);
    const { expires_at, ...payload } = typing.payload;
    assert.deepEqual([typing.conversation_id, payload], [conversation_id, { conversation_id, user_id }]);
    assert.ok(Number.isInteger(expires_at));
    isAway = true;
    between.cut();
    await add(direct, "grace");
    await new Promise((resolve) => setTimeout(resolve, 700));
    isAway = false;
    assert.ok(await stream.has(3));
    assert.deepEqual(await stream.close(), [username, undefined, "grace"]);
    const only = listen(t, ann, { after: null, types: ["typing"] });
    // The stream opens a moment later.
    const types = async () => {
      await direct.conversations.typing(conversation_id);
      return only.events.length > 0;
    };
    assert.ok(await eventually(types));
    await only.close();
    assert.equal(only.events[0]!.type, "typing");
  },
);

onCarriers(
  "leaving the loop closes the connection, and a refusal ends the stream",
  async (t, carrier, config) => {
    const server = await startOn(t, config);
    const between = await proxy(t, server.url, () => "pass");
    const { parley } = await listener(server, between.url, carrier);
    await add(parley, "ada");
    const [first] = (await parley.events.list()).data;
    await add(parley, "grace");
    for await (const event of parley.events.stream({ after: first!.id })) {
      assert.equal((event.payload as { username: string }).username, "grace");
      break;
    }
    assert.ok(await eventually(async () => between.underWay() === 0));
    const bad = await failure(parley.events.stream({ after: "evt_x" }).next());
    assert.equal(bad.code, "invalid_parameter");
    const { token } = await server.user({ scopes: ["contacts:read", "events:read"] });
    const limited = new Parley({ url: between.url, token, ...carrier });
    for (const types of [["message.created"], ["typing"]] as const)
      assert.equal((await failure(limited.events.stream({ types }).next())).code, "insufficient_scope");
    const stranger = new Parley({ url: between.url, token: "none", ...carrier });
    assert.equal((await failure(stranger.events.stream().next())).code, "invalid_token");
    assert.ok(await eventually(async () => between.underWay() === 0));
    const none: StreamEvent[] = [];
    for await (const event of parley.events.stream({ signal: AbortSignal.abort() })) none.push(event);
    assert.deepEqual(none, []);
  },
);

test("events are parsed wherever chunks begin and end", async () => {
  const text =
    ': hello\n\nid: 1\nevent: a\ndata: {"é":1}\n\n:\n\ndata:first\r\ndata: second\r\n\r\nretry: 5\n\ndata: cut off';
  const bytes = new TextEncoder().encode(text);
  for (let size = 1; size <= bytes.length; size++) {
    async function* chunks() {
      for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
    }
    const found: string[] = [];
    for await (const message of readMessages(chunks())) found.push(message);
    assert.deepEqual(found, ['{"é":1}', "first\nsecond"], String(size));
  }
});
