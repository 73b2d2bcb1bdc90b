// Streams: their duration, limits, slow readers and origins.
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { queryObjects } from "node:v8";
import { createToken } from "../../../src/core/people/tokens.ts";
import { startApp, startOn, type TestApp, type TestUser, testConfig } from "../../support/app.ts";
import { startSocket } from "../../support/event-socket.ts";
import { allEvents, listen, listenAlone, openStream } from "../../support/event-stream.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { add, code, give, person, send } from "../../support/people.ts";
import { contact } from "../../support/rows.ts";

const STREAM = { accept: "text/event-stream" };

function ask(server: TestApp, user: TestUser, headers = {}, query = "", method = "GET"): Promise<Response> {
  return fetch(`${server.url}/v1/events${query}`, {
    method,
    headers: { ...user.headers, ...STREAM, ...headers },
  });
}

const EVENTS = 1200;
const EVENT_BYTES = 20_000;

test("a stream that nobody reads is closed, and resumes without a gap", async (t) => {
  const server = await startApp(t, { eventStallMs: 1000, eventListenersPerUser: 1 });
  const ann = await person(server, "ann");
  const socket = await openStream(server, ann);
  assert.ok(await eventually(async () => (await ask(server, ann)).status === 429), "it listens");
  const body = (number: number) => JSON.stringify({ id: `con_${number}`, filling: "x".repeat(EVENT_BYTES) });
  for (let i = 0; i < EVENTS; i++)
    await server.app.core.db.write("createContact", { ...contact(ann.id, i), body: body(i) });
  const others = async () => {
    const answer = await ask(server, ann);
    await answer.body!.cancel();
    return answer.status === 200;
  };
  assert.ok(await eventually(others), "it is cut, and another may come");
  const chunks: Buffer[] = [];
  socket.on("data", (chunk) => chunks.push(chunk));
  socket.on("error", () => {});
  socket.resume();
  await once(socket, "close");
  const ids = Buffer.concat(chunks)
    .toString()
    .split("\n\n")
    .slice(0, -1)
    .flatMap((frame) => /^id: (\S+)$/m.exec(frame)?.[1] ?? []);
  assert.ok(ids.length > 0 && ids.length < EVENTS, `${ids.length} events were on their way`);
  await eventually(others);
  const resumed = await listenAlone(t, server, ann, { after: ids.at(-1)! });
  const rest = await resumed.wait(EVENTS - ids.length);
  const all = (await allEvents(server, ann)).map(({ id }) => id);
  assert.deepEqual([...ids, ...rest.map(({ id }) => id)], all);
  t.diagnostic(`${ids.length} of ${EVENTS} events were on their way`);
});

test("one more stream than the limit per user is 429, until another ends", async (t) => {
  const server = await startApp(t, { eventListenersPerUser: 2 });
  const [ann, bob] = [await person(server, "ann"), await person(server, "bob")];
  const [first, second] = [await listenAlone(t, server, ann), await listenAlone(t, server, ann)];
  for (let i = 0; i < 3; i++) assert.equal(await code(ask(server, ann), 429), "too_many_streams");
  assert.equal((await ask(server, ann)).headers.get("connection"), "keep-alive");
  await listenAlone(t, server, bob);
  first.close();
  const isLetIn = async () => {
    const answer = await ask(server, ann);
    await answer.body!.cancel();
    return answer.status === 200;
  };
  assert.ok(await eventually(isLetIn));
  await add(server, ann, "friend");
  await second.wait(1);
});

test("a stream ends when its token expires", async (t) => {
  let now = Date.UTC(2026, 0, 1);
  const server = await startApp(t, {}, { clock: () => now });
  const ann = await person(server, "ann");
  const { token } = await createToken(server.app.core, null, ann.id, { expiresAt: now + 60_000 });
  const short = await listen(t, server, { headers: { authorization: `Bearer ${token}` } });
  const long = await listen(t, server, ann);
  await add(server, ann, "friend");
  await short.wait(1);
  now += 60_000;
  await short.ended;
  await add(server, ann, "another");
  await long.wait(2);
});

test("a quiet stream sends heartbeats", async (t) => {
  const server = await startApp(t, { eventHeartbeatMs: 30 });
  const socket = await openStream(server, await person(server, "ann"));
  let text = "";
  for await (const chunk of socket) {
    text += chunk;
    if (text.endsWith("\n\n:\n\n:\n\n")) break;
  }
  assert.match(text, /\r\n\r\n: listening\n\n(:\n\n)+$/);
});

test("a stream sends heartbeats while only events of other types happen", async (t) => {
  const server = await startApp(t, { eventHeartbeatMs: 200 });
  const ann = await person(server, "ann");
  const socket = await openStream(server, ann, "?types=attachment.created");
  let text = "";
  socket.on("data", (chunk) => (text += chunk));
  socket.resume();
  const isAlive = () => text.includes(": listening\n\n:\n\n");
  for (let i = 0; i < 400 && !isAlive(); i++) await add(server, ann, `friend ${i}`);
  assert.ok(isAlive(), text);
});

const held = () => ({
  timers: process.getActiveResourcesInfo().filter((name) => name === "Timeout").length,
  promises: queryObjects(Promise, { format: "count" }),
});

/** Reports whether fewer are held for each of 20 streams than one. */
function isLike(before: ReturnType<typeof held>, { timers, promises }: ReturnType<typeof held>): boolean {
  return timers < before.timers + 10 && promises < before.promises + 10;
}

test("a waiting WebSocket holds no timers or promises", async (t) => {
  const server = await startApp(t, { eventListenersPerUser: 100 });
  const ann = await person(server, "ann");
  // The client is in this process, and holds some itself: as many as there are WebSockets.
  const alone = await startSocket(t, server, ann);
  await add(server, ann, "first");
  await alone.find("contact.created");
  const before = held();
  const sockets = await Promise.all(Array.from({ length: 50 }, () => startSocket(t, server, ann)));
  await add(server, ann, "second");
  for (const { find } of sockets) await find("contact.created");
  const growth = () => {
    const { timers, promises } = held();
    return [timers - before.timers, promises - before.promises];
  };
  const isBounded = async () => growth()[0]! < 25 && growth()[1]! < 25 + sockets.length;
  assert.ok(await eventually(isBounded), JSON.stringify([before, held()]));
});

test("a waiting stream holds no timers or promises", async (t) => {
  const server = await startApp(t);
  const ann = await person(server, "ann");
  // The first stream starts the timers that all streams share.
  await once((await openStream(server, ann)).resume(), "data");
  const before = held();
  const streams = await Promise.all(Array.from({ length: 19 }, () => openStream(server, ann)));
  for (const stream of streams) await once(stream.resume(), "data");
  await add(server, ann, "friend");
  for (const stream of streams) await once(stream, "data");
  assert.ok(await eventually(async () => isLike(before, held())), JSON.stringify([before, held()]));
});

test("HEAD of a stream has its headers and opens none", async (t) => {
  const server = await startApp(t, { eventListenersPerUser: 1 });
  const ann = await person(server, "ann");
  for (let i = 0; i < 2; i++) {
    const answer = await ask(server, ann, {}, "", "HEAD");
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get("content-type"), "text/event-stream");
    assert.equal(answer.headers.get("cache-control"), "no-store");
    assert.equal(await answer.text(), "");
  }
  await listenAlone(t, server, ann);
});

test("a stream with types skips many events of other types", async (t) => {
  const server = await startApp(t);
  const ann = await person(server, "ann");
  const { conversation_id } = await add(server, ann, "friend");
  const made: string[] = [];
  // More events are skipped at the start than one read returns.
  for (let i = 0; i < 60; i++) {
    await add(server, ann, `friend ${i}`);
    if (i >= 57) made.push(await give(server, ann, conversation_id, `file ${i}`));
  }
  const [first] = await allEvents(server, ann);
  const some = await listen(t, server, ann, { after: first!.id, query: "?types=attachment.created" });
  const told = (await some.wait(3)).map(({ payload }) => payload.id);
  assert.deepEqual(told, made);
  const again = await listen(t, server, ann, {
    after: some.events[1]!.id,
    query: "?types=attachment.created",
  });
  assert.deepEqual(await again.wait(1), some.events.slice(2));
  assert.equal(await code(ask(server, ann, {}, "?types=contact.eaten"), 400), "invalid_parameter");
});

test("an event id of another user or kind is 400, as Last-Event-ID and as cursor", async (t) => {
  const server = await startApp(t);
  const [ann, bob] = [await person(server, "ann"), await person(server, "bob")];
  await add(server, ann, "friend");
  await add(server, bob, "friend");
  const [his] = await allEvents(server, bob);
  for (const id of [his!.id, "evt_x", "1", his!.id.replace("evt", "con")]) {
    const answer = await ask(server, ann, { "last-event-id": id });
    assert.equal(answer.status, 400, id);
    const { code, param } = (await answer.json()) as { code: string; param: string };
    assert.deepEqual([code, param], ["invalid_parameter", "Last-Event-ID"]);
    for (const name of ["starting_after", "ending_before"])
      assert.equal((await send(server, ann, "GET", `/v1/events?${name}=${id}`)).status, 400, id);
  }
  for (const query of ["?limit=1", `?starting_after=${his!.id}`])
    assert.equal(await code(ask(server, bob, {}, query), 400), "unknown_parameter");
  assert.equal((await ask(server, { ...ann, headers: { authorization: "Bearer x" } })).status, 401);
  const narrow = await server.user({ scopes: ["contacts:read"] });
  assert.equal((await ask(server, narrow)).status, 403);
});

test("a stream has CORS headers, and no buffering in proxies", async (t) => {
  const origin = "https://app.example";
  const server = await startOn(t, { ...(await testConfig(t)), corsOrigins: [origin] });
  const ann = await person(server, "ann");
  const answer = await ask(server, ann, { origin });
  assert.equal(answer.headers.get("access-control-allow-origin"), origin);
  // By default nginx would buffer events.
  assert.equal(answer.headers.get("x-accel-buffering"), "no");
  await answer.body!.cancel();
});
