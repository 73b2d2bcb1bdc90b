// Streams over WebSockets: the first frame, the frames of the client, close codes, limits.
import assert from "node:assert/strict";
import { once } from "node:events";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { allTokens, createToken, revokeToken } from "../../../src/core/people/tokens.ts";
import { startApp, startOn, type TestApp, type TestUser, testConfig } from "../../support/app.ts";
import {
  credentialsOf,
  type Frame,
  openRawWebSocket,
  openWebSocket,
  readCloseCode,
  startSocket,
  toFrame,
} from "../../support/event-socket.ts";
import { eventPage, listenAlone, openStream } from "../../support/event-stream.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { onEachEngine, onEachEngineWith } from "../../support/on-engines.ts";
import { add, done, give, pair, person, read, say, send, trio } from "../../support/people.ts";
import { contact } from "../../support/rows.ts";

const without = (frames: Frame[], ...types: string[]) =>
  frames.filter(({ type }) => !types.includes(type as string));

onEachEngine("a WebSocket shows the same bytes as server-sent events", async (server, t) => {
  const { ann, bob, cat, conversation, group } = await trio(server);
  for (const who of [ann, bob, cat]) {
    const stream = await openStream(server, who);
    let text = "";
    stream.on("data", (chunk) => (text += chunk)).resume();
    assert.ok(await eventually(async () => text.endsWith(": listening\n\n")));
    const lastId = /^last-event-id: (\S+)/im.exec(text)![1];
    const socket = await startSocket(t, server, who);
    assert.deepEqual(socket.frames, [{ type: "ready", last_event_id: lastId }]);
    const id = await say(server, ann, conversation, "Wo? 🏔️", { mentions: [bob.id] });
    await done(send(server, bob, "PUT", `/v1/messages/${id}/reactions/x`));
    await give(server, cat, conversation, "map");
    await read(send(server, ann, "PUT", group, { name: "Hiking" }), 200);
    await done(send(server, bob, "POST", `/v1/conversations/${conversation}/typing`));
    const last = await say(server, ann, conversation, "the last");
    const isWhole = async () =>
      text.includes(`"payload":{"id":"${last}"`) && socket.texts.some((each) => each.includes(last));
    assert.ok(await eventually(isWhole));
    const data = [...text.matchAll(/^data: (.*)$/gm)].map(([, json]) => json!);
    assert.ok(data.length >= 5);
    assert.deepEqual(socket.texts.slice(1).sort(), data.sort());
    stream.destroy();
  }
});

test("a WebSocket continues after an event, with the types that it names", async (t) => {
  const server = await startApp(t);
  const ann = await person(server, "ann");
  for (let i = 0; i < 25; i++) await add(server, ann, `friend ${i}`);
  const all = (await eventPage(server, ann, "?limit=100")).data.toReversed();
  const after = all[7]!.id;
  const socket = await startSocket(t, server, ann, { after, types: ["contact.created", "typing"] });
  assert.ok(await eventually(async () => socket.frames.length === 18));
  assert.deepEqual(socket.frames[0], { type: "ready", last_event_id: after });
  assert.deepEqual(socket.frames.slice(1), all.slice(8));
  const others = await startSocket(t, server, ann, { after, types: "contact.deleted" });
  const { data } = await read<{ data: { id: string }[] }>(send(server, ann, "GET", "/v1/contacts"), 200);
  await done(send(server, ann, "DELETE", `/v1/contacts/${data[0]!.id}`));
  await others.find("contact.deleted");
  assert.equal(others.frames.length, 2);
});

test("a first frame that starts no stream is explained, and closes the WebSocket", async (t) => {
  let now = Date.UTC(2026, 0, 1);
  const server = await startApp(t, {}, { clock: () => now });
  const [ann, bob] = [await person(server, "ann"), await person(server, "bob")];
  for (const [i, who] of [ann, ann, bob].entries()) await add(server, who, `friend ${i}`);
  const [first, his] = [
    (await eventPage(server, ann)).data[1]!.id,
    (await eventPage(server, bob)).data[0]!.id,
  ];
  const narrow = await server.user({ scopes: ["contacts:read"] });
  const { token } = ann;
  const bytes = Buffer.from([0xff]);
  const refused = async (frame: unknown, close: number, code: string) => {
    const socket = await openWebSocket(t, server);
    socket.ws.send(typeof frame === "string" || Buffer.isBuffer(frame) ? frame : JSON.stringify(frame));
    const name = JSON.stringify(frame);
    assert.equal(await socket.closing(), close, name);
    assert.deepEqual(
      socket.frames.map((each) => [each.type, each.code]),
      [["error", code]],
      name,
    );
  };
  for (const frame of ["x", "[]", '"x"', '{"token":"a","token":"b"}'])
    await refused(frame, 4400, frame.includes("token") ? "repeated_parameter" : "malformed_body");
  await refused(bytes, 4400, "malformed_body");
  await refused({}, 4401, "missing_token");
  await refused({ type: "ping" }, 4400, "unknown_parameter");
  for (const wrong of ["", "x", "x y", `${token}x`, `Bearer ${token}`])
    await refused({ token: wrong }, 4401, "invalid_token");
  for (const after of ["evt_x", "1", his]) await refused({ token, after }, 4400, "invalid_parameter");
  await refused({ token, types: ["x"] }, 4400, "invalid_parameter");
  await refused({ token: 1 }, 4400, "invalid_parameter");
  await refused({ token, session: 1 }, 4400, "invalid_parameter");
  await refused({ token: narrow.token }, 4403, "insufficient_scope");
  await refused({ token, act_as: bob.id }, 4403, "insufficient_scope");
  now += 8 * 24 * 3600 * 1000;
  await refused({ token, after: first }, 4410, "events_erased");
});

test("a WebSocket without a first frame is closed after a while, complete or not", async (t) => {
  const server = await startApp(t, { socketFirstFrameMs: 200, pendingSocketsPerAddress: 2 });
  const silent = await openWebSocket(t, server);
  assert.equal(await silent.closing(), 4408);
  assert.equal(silent.frames[0]!.code, "request_timeout");
  const slow = await openRawWebSocket(t, server);
  slow.write(toFrame(JSON.stringify({ token: "x" })).subarray(0, 10));
  assert.equal(await readCloseCode(slow), 4408);
  // Their places are free again.
  const ann = await person(server, "ann");
  for (let i = 0; i < 3; i++) await startSocket(t, server, ann);
});

test("a WebSocket acts as another user with act_as", async (t) => {
  const server = await startApp(t);
  const { ann, bob, conversation } = await pair(server);
  const shop = await server.user({ scopes: ["act_as", "events:read", "messages:read", "messages:write"] });
  const headers = { ...shop.headers, "parley-act-as": `username:${ann.name}` };
  const socket = await startSocket(t, server, { headers } as never);
  const bobs = await startSocket(t, server, bob);
  const id = await say(server, bob, conversation, "hello");
  await socket.find("message.created");
  socket.send({ type: "typing", conversation_id: conversation });
  assert.equal(((await bobs.find("typing")).payload as Frame).user_id, ann.id);
  socket.send({ type: "read", conversation_id: conversation, message_id: id });
  assert.equal(((await socket.find("conversation.updated")).payload as Frame).last_read_id, id);
});

onEachEngine("frames for typing, reading and pings do what their endpoints do", async (server, t) => {
  const { ann, bob, conversation } = await pair(server);
  const [anns, bobs] = [await startSocket(t, server, ann), await startSocket(t, server, bob)];
  const id = await say(server, ann, conversation, "hello");
  await bobs.find("message.created");
  bobs.send({ type: "ping" });
  assert.deepEqual(await bobs.find("pong"), { type: "pong" });
  bobs.send({ type: "typing", conversation_id: conversation });
  const { conversation_id, payload } = await anns.find("typing");
  assert.deepEqual([conversation_id, (payload as Frame).user_id], [conversation, bob.id]);
  bobs.send({ type: "read", conversation_id: conversation, message_id: id, private: true });
  assert.equal(((await bobs.find("conversation.updated")).payload as Frame).last_read_id, id);
  const place = `/v1/conversations/${conversation}`;
  const seen = async () =>
    (await read<Frame>(send(server, ann, "GET", place), 200)).contact_read_id as string | null;
  assert.equal(await seen(), null, "a private read is not shown");
  bobs.send({ type: "read", conversation_id: conversation, message_id: id });
  assert.ok(await eventually(async () => (await seen()) === id));
  assert.deepEqual(without(bobs.frames, "error"), bobs.frames);
});

test("a frame that fails is explained, and the WebSocket stays open", async (t) => {
  const server = await startApp(t);
  const { ann, bob, conversation } = await pair(server);
  const { conversation: other } = await pair(server);
  const reader = await createToken(server.app.core, null, ann.id, {
    scopes: ["events:read", "messages:read"],
  });
  const socket = await startSocket(t, server, ann);
  const id = await say(server, bob, conversation, "hello");
  const cases: [object, string][] = [
    [{ type: "typing", conversation_id: other }, "conversation_not_found"],
    [{ type: "typing", conversation_id: "x" }, "conversation_not_found"],
    [{ type: "typing" }, "missing_parameter"],
    [{ type: "typing", conversation_id: conversation, text: "x" }, "unknown_parameter"],
    [{ type: "read", conversation_id: other, message_id: id }, "conversation_not_found"],
    [{ type: "read", conversation_id: conversation, message_id: "msg_x" }, "message_not_found"],
    [{ type: "read", conversation_id: conversation }, "missing_parameter"],
    [{ type: "shout" }, "invalid_parameter"],
    [{ type: "ping", id: 1 }, "unknown_parameter"],
    [{}, "missing_parameter"],
  ];
  for (const [frame] of cases) socket.send(frame);
  const errors = () => socket.frames.filter(({ type }) => type === "error");
  assert.ok(await eventually(async () => errors().length === cases.length));
  assert.deepEqual(
    errors().map(({ code }) => code),
    cases.map(([, code]) => code),
  );
  for (const { detail } of errors()) assert.ok(detail);
  const narrow = await startSocket(t, server, { headers: { authorization: `Bearer ${reader.token}` } });
  narrow.send({ type: "read", conversation_id: conversation, message_id: id });
  assert.equal((await narrow.find("error")).code, "insufficient_scope");
  for (const { ws } of [socket, narrow]) assert.equal(ws.readyState, ws.OPEN);
  socket.ws.send("x");
  assert.equal(await socket.closing(), 4400);
});

onEachEngineWith(
  { eventListenersPerUser: 2 },
  "streams of both kinds share the limit of a user",
  async (server, t) => {
    const [ann, bob] = [await person(server, "ann"), await person(server, "bob")];
    const stream = await listenAlone(t, server, ann);
    const socket = await startSocket(t, server, ann);
    const more = await openWebSocket(t, server);
    more.send(credentialsOf(ann));
    assert.equal(await more.closing(), 4429);
    assert.equal(more.frames[0]!.code, "too_many_streams");
    const refused = await fetch(`${server.url}/v1/events`, {
      headers: { ...ann.headers, accept: "text/event-stream" },
    });
    assert.equal(refused.status, 429);
    await startSocket(t, server, bob);
    socket.ws.terminate();
    const { eventHub } = server.app.core;
    assert.ok(await eventually(async () => eventHub.countListeners("websocket") === 1));
    const next = await startSocket(t, server, ann);
    await add(server, ann, "friend");
    await next.find("contact.created");
    await stream.wait(1);
  },
);

onEachEngine("a WebSocket closes when its token is revoked or expires", async (server, t) => {
  const ann = await person(server, "ann");
  const socket = await startSocket(t, server, ann);
  const bobs = await startSocket(t, server, await person(server, "bob"));
  const token = (await allTokens(server.app.core)).find(({ username }) => username === "ann");
  await revokeToken(server.app.core, null, token!.id);
  assert.equal(await socket.closing(), 4401);
  assert.equal(bobs.ws.readyState, bobs.ws.OPEN);
});

test("a frame with a token that has expired closes the WebSocket, and does nothing", async (t) => {
  let now = Date.UTC(2026, 0, 1);
  const server = await startApp(t, {}, { clock: () => now });
  const { ann, bob, conversation } = await pair(server);
  const { token } = await createToken(server.app.core, null, ann.id, { expiresAt: now + 60_000 });
  const socket = await startSocket(t, server, { headers: { authorization: `Bearer ${token}` } });
  const bobs = await startSocket(t, server, bob);
  now += 60_000;
  socket.send({ type: "typing", conversation_id: conversation });
  assert.equal(await socket.closing(), 4401);
  await say(server, ann, conversation, "hello");
  await bobs.find("message.created");
  assert.deepEqual(without(bobs.frames, "ready", "message.created"), []);
});

test("a stop closes all WebSockets with 1001, also those whose clients do not answer", async (t) => {
  const server = await startApp(t, { shutdownTimeoutMs: 60_000 });
  const ann = await person(server, "ann");
  const sockets = [await startSocket(t, server, ann), await openWebSocket(t, server)];
  const raw = [await openRawWebSocket(t, server), await openRawWebSocket(t, server)];
  raw[0]!.write(toFrame(JSON.stringify(credentialsOf(ann))));
  await once(raw[0]!, "data");
  const closing = raw.map((socket) => readCloseCode(socket));
  await server.app.stop();
  for (const { closing } of sockets) assert.equal(await closing(), 1001);
  assert.deepEqual(await Promise.all(closing), [1001, 1001]);
});

/** Answers no ping. */
async function deaf(t: TestContext, server: TestApp, user: TestUser) {
  const socket = await openRawWebSocket(t, server);
  socket.write(toFrame(JSON.stringify(credentialsOf(user))));
  return socket;
}

test("a WebSocket is pinged, and closed if its client does not answer", async (t) => {
  const server = await startApp(t, { eventHeartbeatMs: 300 });
  const ann = await person(server, "ann");
  const alive = await startSocket(t, server, ann);
  let pings = 0;
  alive.ws.on("ping", () => pings++);
  assert.equal(await readCloseCode(await deaf(t, server, ann)), 4408);
  assert.ok(await eventually(async () => pings >= 3));
  assert.equal(alive.ws.readyState, alive.ws.OPEN);
});

test("a WebSocket stays open while the server handles a frame for longer than two heartbeats", async (t) => {
  const server = await startApp(t, { eventHeartbeatMs: 200 });
  const { ann, conversation } = await pair(server);
  t.mock.method(server.app.core.typists, "add", () => sleep(1000, true));
  const socket = await startSocket(t, server, ann);
  socket.send({ type: "typing", conversation_id: conversation });
  socket.send({ type: "ping" });
  await socket.find("pong");
});

test("events do not keep a WebSocket open whose client does not answer pings", async (t) => {
  const server = await startApp(t, { eventHeartbeatMs: 1000 });
  const ann = await person(server, "ann");
  const alive = await startSocket(t, server, ann);
  const silent = await deaf(t, server, ann);
  const closing = readCloseCode(silent);
  closing.catch(() => {});
  // More often than the heartbeat: once they end, a quiet connection is closed in any case.
  for (let i = 0; !silent.closed; i++) await add(server, ann, `friend ${i}`);
  assert.equal(await closing, 4408);
  assert.equal(alive.ws.readyState, alive.ws.OPEN);
});

const EVENTS = 1200;
const EVENT_BYTES = 20_000;

test("a WebSocket that nobody reads is cut, and resumes without a gap", async (t) => {
  const server = await startApp(t, { eventStallMs: 1000, eventHeartbeatMs: 200_000 });
  const ann = await person(server, "ann");
  const socket = await startSocket(t, server, ann);
  socket.ws.pause();
  const body = (number: number) => JSON.stringify({ id: `con_${number}`, filling: "x".repeat(EVENT_BYTES) });
  for (let i = 0; i < EVENTS; i++)
    await server.app.core.db.write("createContact", { ...contact(ann.id, i), body: body(i) });
  const { eventHub } = server.app.core;
  assert.ok(await eventually(async () => eventHub.countListeners("websocket") === 0), "it is cut");
  socket.ws.resume();
  assert.equal(await socket.closing(), 1006);
  const ids = without(socket.frames, "ready").map(({ id }) => id as string);
  assert.ok(ids.length > 0 && ids.length < EVENTS, `${ids.length} events were on their way`);
  const resumed = await startSocket(t, server, ann, { after: ids.at(-1) });
  assert.ok(await eventually(async () => resumed.frames.length - 1 === EVENTS - ids.length));
  const rest = without(resumed.frames, "ready").map(({ id }) => id as string);
  assert.equal(new Set([...ids, ...rest]).size, EVENTS);
});

const MUCH_BYTES = 50_000_000;

test("the frames of a client that reads no answers wait with the client", async (t) => {
  const server = await startApp(t, { eventHeartbeatMs: 200_000 });
  const socket = await deaf(t, server, await person(server, "ann"));
  const { eventHub } = server.app.core;
  assert.ok(await eventually(async () => eventHub.countListeners("websocket") === 1));
  socket.pause();
  const pings = Buffer.concat(Array.from({ length: 1000 }, () => toFrame('{"type":"ping"}')));
  const write = () => {
    while (socket.bytesWritten < MUCH_BYTES && socket.write(pings));
  };
  socket.on("drain", write);
  write();
  const hasStopped = async () => {
    const before = socket.bytesWritten;
    await sleep(500);
    return socket.bytesWritten === before;
  };
  assert.ok(await eventually(hasStopped));
  assert.ok(socket.bytesWritten < MUCH_BYTES, "the server has read all of them");
});

test("a client that reads no answers to its frames is not answered without end", async (t) => {
  const server = await startApp(t, { eventStallMs: 1000, eventHeartbeatMs: 1000 });
  const socket = await deaf(t, server, await person(server, "ann"));
  const { eventHub } = server.app.core;
  const isListening = async () => eventHub.countListeners("websocket") === 1;
  assert.ok(await eventually(isListening));
  socket.pause();
  const pings = Buffer.concat(Array.from({ length: 1000 }, () => toFrame('{"type":"shout"}')));
  const closed = new Promise((resolve) => socket.once("close", resolve));
  const write = () => {
    while (!socket.destroyed && socket.write(pings));
  };
  socket.on("drain", write);
  write();
  assert.ok(await eventually(async () => !(await isListening())), "it is cut");
  socket.resume();
  await closed;
});

test("frames count as requests of the token, pings of the protocol as well", async (t) => {
  const limits = { requestsPerSecond: 3 };
  const server = await startOn(t, await testConfig(t, limits), { clock: () => Date.UTC(2026, 0, 1) });
  for (const flood of ["frames", "pings"]) {
    const socket = await startSocket(t, server, await server.user());
    for (let i = 0; i < 5; i++) socket.send({ type: "ping" });
    assert.ok(
      await eventually(async () => socket.frames.length === 6),
      "the burst is six, with the first frame",
    );
    if (flood === "pings") socket.ws.ping();
    else socket.send({ type: "ping" });
    assert.equal(await socket.closing(), 4429);
    assert.equal(socket.frames.at(-1)!.code, "rate_limited");
  }
});

test("metrics count streams by transport, and the frames of clients", async (t) => {
  const server = await startApp(t);
  const { ann, conversation } = await pair(server);
  const admin = await server.user({ scopes: ["admin"] });
  const metrics = async () => (await send(server, admin, "GET", "/metrics")).text();
  const socket = await startSocket(t, server, ann);
  socket.send({ type: "typing", conversation_id: conversation });
  socket.send({ type: "ping" });
  await socket.find("pong");
  const text = await metrics();
  for (const line of [
    'parley_event_streams{transport="websocket"} 1',
    'parley_event_streams{transport="sse"} 0',
    'parley_websocket_frames_total{type="typing"} 1',
    'parley_websocket_frames_total{type="ping"} 1',
    'parley_http_requests_total{method="GET",route="/v1/events",status="101"} 1',
  ])
    assert.ok(text.includes(`${line}\n`), line);
});
