// All streams of a client share one connection, and each has all events after its position, once and in order.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Parley, type StreamEvent } from "../../packages/parley-client/src/index.ts";
import { createToken } from "../../src/core/people/tokens.ts";
import { startApp, startOn } from "../support/app.ts";
import { eventually } from "../support/files-on-disk.ts";
import { type Fate, proxy } from "../support/proxy.ts";
import { onCarriers } from "./engines.ts";
import { failure } from "./failure.ts";
import { add, listen } from "./streams.ts";

onCarriers("streams join a running connection wherever they begin", async (t, carrier, config) => {
  const server = await startOn(t, config);
  const between = await proxy(t, server.url, () => "pass");
  const { token } = await server.user();
  const direct = new Parley({ url: server.url, token });
  const parley = new Parley({ url: between.url, token, ...carrier });
  const begun = await direct.events.cursor();
  const cursors = [begun];
  const streams: { after: string; stream: ReturnType<typeof listen> }[] = [];
  const start = (after: string) => streams.push({ after, stream: listen(t, parley, { after }) });
  start(begun);
  for (let i = 0; i < 24; i++) {
    await add(direct, `friend ${i}`);
    cursors.push(await direct.events.cursor());
    // The newest, the oldest, and one in between; the connection may not have the newest one yet.
    if (i % 3 === 0) start(cursors.at(-1)!);
    if (i % 6 === 1) start(begun);
    if (i % 6 === 4) start(cursors[Math.floor(i / 2)]!);
    if (i % 8 === 7) between.cut();
  }
  const all = (await Array.fromAsync(direct.events.list({ ending_before: begun }))).map(({ id }) => id);
  assert.equal(all.length, 24);
  for (const { after, stream } of streams) {
    const expected = all.slice(all.indexOf(after) + 1);
    assert.ok(await eventually(async () => stream.ids.length >= expected.length));
    await stream.ready();
    assert.deepEqual(stream.ids, expected);
  }
  assert.ok(await eventually(async () => between.underWay() === 1));
  await add(direct, "last");
  const last = await direct.events.cursor();
  for (const { after, stream } of streams) {
    assert.ok(await eventually(async () => stream.ids.at(-1) === last));
    assert.deepEqual(stream.ids, [...all.slice(all.indexOf(after) + 1), last]);
    await stream.close();
  }
  assert.ok(await eventually(async () => between.underWay() === 0));
  const [next, ...opened] = between.seen.filter(({ path }) => path === "/v1/events");
  assert.ok(opened.length <= 5, "each cut needs one more connection");
  assert.equal(next!.isUpgrade, carrier.webSocket !== false);
});

test("a reader that is too slow for the connection lists the events that it has missed", async (t) => {
  const server = await startApp(t);
  const { token } = await server.user();
  const [parley, direct] = [1, 2].map(() => new Parley({ url: server.url, token }));
  const fast = listen(t, parley!);
  await fast.ready();
  const slow = parley!.events.stream({ after: await direct!.events.cursor() });
  const ids: string[] = [];
  const take = async () => ids.push(((await slow.next()).value as StreamEvent & { id: string }).id);
  await Promise.all([take(), add(direct!, "first")]);
  for (let i = 0; i < 60; i++)
    await Promise.all(Array.from({ length: 20 }, (_, j) => add(direct!, `friend ${i} ${j}`)));
  assert.ok(await eventually(async () => fast.ids.length === 1201));
  while (ids.length < 1201) await take();
  assert.deepEqual(ids, fast.ids);
  await slow.return();
  await fast.close();
});

test("server-sent events replace a WebSocket that does not come about, which is tried again later", async (t) => {
  const server = await startApp(t);
  const clock = performance.now.bind(performance);
  let minutes = 0;
  t.mock.method(performance, "now", () => clock() + minutes * 60_000);
  const refusals: Fate[] = [{ status: 200, body: "Welcome" }, { status: 426 }, "lose the answer"];
  for (const refusal of refusals) {
    let answer = refusal;
    const between = await proxy(t, server.url, (_path, _seen, isUpgrade) => (isUpgrade ? answer : "pass"));
    const { token } = await server.user();
    const parley = new Parley({ url: between.url, token });
    const stream = listen(t, parley);
    await stream.ready();
    const upgrades = () => between.seen.filter(({ isUpgrade }) => isUpgrade).length;
    const reconnect = async () => {
      const streams = () => between.seen.filter(({ path }) => path === "/v1/events").length - upgrades();
      const before = { streams: streams(), upgrades: upgrades() };
      parley.events.reconnect();
      const isNew = async () =>
        answer === "pass" ? upgrades() > before.upgrades : streams() > before.streams;
      assert.ok(await eventually(isNew));
      assert.ok(await eventually(async () => between.underWay() === 1));
      await stream.ready();
    };
    await reconnect();
    assert.equal(upgrades(), 1, "a proxy may lose WebSockets, after a long wait each");
    minutes += 6;
    await reconnect();
    assert.equal(upgrades(), 2);
    minutes += 6;
    await reconnect();
    assert.equal(upgrades(), 2, "the time until the next try doubles");
    minutes += 6;
    answer = "pass";
    await reconnect();
    assert.equal(upgrades(), 3);
    await add(parley, "ada");
    assert.ok(await eventually(async () => stream.ids.length === 1));
    await stream.close();
  }
});

test("a WebSocket that worked is tried again, whatever replaced it meanwhile", async (t) => {
  const server = await startApp(t);
  let isRefused = false;
  const between = await proxy(t, server.url, (_path, _seen, isUpgrade) =>
    isUpgrade && isRefused ? { status: 400 } : "pass",
  );
  const { token } = await server.user();
  const parley = new Parley({ url: between.url, token });
  const stream = listen(t, parley);
  await stream.ready();
  isRefused = true;
  between.cut();
  const isSent = async () => between.seen.at(-1)!.path === "/v1/events" && !between.seen.at(-1)!.isUpgrade;
  assert.ok(await eventually(isSent));
  await stream.ready();
  isRefused = false;
  between.cut();
  assert.ok(await eventually(async () => between.seen.at(-1)!.isUpgrade));
  await stream.ready();
  await add(parley, "ada");
  assert.ok(await eventually(async () => stream.ids.length === 1));
  await stream.close();
});

onCarriers("reconnect replaces the connection at once", async (t, carrier, config) => {
  const server = await startOn(t, config);
  let answer: Fate = "pass";
  const between = await proxy(t, server.url, (path) => (path === "/v1/events" ? answer : "pass"));
  const { token } = await server.user();
  const parley = new Parley({ url: between.url, token, ...carrier });
  const browser = new EventTarget();
  Object.assign(globalThis, { addEventListener: browser.addEventListener.bind(browser) });
  t.after(() => Reflect.deleteProperty(globalThis, "addEventListener"));
  parley.events.reconnect();
  const stream = listen(t, parley);
  await stream.ready();
  const wakes = [() => parley.events.reconnect(), () => void browser.dispatchEvent(new Event("online"))];
  const replaced = async (wake: () => void) => {
    const before = between.seen.length;
    wake();
    assert.ok(await eventually(async () => between.seen.length > before && between.underWay() === 1));
    await stream.ready();
  };
  for (const wake of wakes) await replaced(wake);
  // Pauses last for minutes.
  t.mock.method(Math, "random", () => 1000);
  for (const wake of wakes) {
    answer = { status: 502 };
    between.cut();
    assert.ok(await eventually(async () => !stream.isReady()));
    answer = "pass";
    await replaced(wake);
  }
  await add(parley, "ada");
  assert.ok(await eventually(async () => stream.ids.length === 1));
  await stream.close();
  answer = { status: 503, headers: { "retry-after": "60" } };
  const waits = Promise.withResolvers<number>();
  const other = new Parley({ url: between.url, token, onWait: waits.resolve, ...carrier });
  const asked = listen(t, other);
  await waits.promise;
  const before = between.seen.length;
  other.events.reconnect();
  await add(parley, "grace");
  assert.equal(between.seen.length, before + 1, "the server asked for the pause");
  await asked.close();
});

test("aborting closes the connection, also while the caller does not wait for an event", async (t) => {
  const server = await startApp(t);
  const between = await proxy(t, server.url, () => "pass");
  const { token } = await server.user();
  const parley = new Parley({ url: between.url, token });
  const after = await parley.events.cursor();
  for (const name of ["ada", "grace"]) await add(parley, name);
  const stop = new AbortController();
  const stream = parley.events.stream({ after, signal: stop.signal });
  t.after(() => stream.return());
  assert.equal((await stream.next()).done, false);
  assert.equal(between.underWay(), 1);
  stop.abort();
  assert.ok(await eventually(async () => between.underWay() === 0));
  assert.equal((await stream.next()).done, true);
});

test("a runtime that cannot read an unfinished answer, such as React Native, waits for its WebSocket", async (t) => {
  const body = Object.getOwnPropertyDescriptor(Response.prototype, "body")!;
  const server = await startApp(t);
  let isAway = true;
  const between = await proxy(t, server.url, () => (isAway ? { status: 502 } : "pass"));
  const { token } = await server.user();
  Reflect.deleteProperty(Response.prototype, "body");
  try {
    const stream = listen(t, new Parley({ url: between.url, token }));
    assert.ok(await eventually(async () => between.seen.length > 1));
    isAway = false;
    await stream.ready();
    await stream.close();
  } finally {
    Object.defineProperty(Response.prototype, "body", body);
  }
  assert.ok(between.seen.every(({ isUpgrade }) => isUpgrade));
});

test("frames that are no events are ignored", async (t) => {
  const server = await startApp(t);
  const { token } = await server.user();
  let socket: WebSocket | undefined;
  class Known extends WebSocket {
    constructor(...options: ConstructorParameters<typeof WebSocket>) {
      super(...options);
      socket = this;
    }
  }
  const parley = new Parley({ url: server.url, token, webSocket: Known });
  const stream = listen(t, parley);
  await stream.ready();
  for (const data of ["5", "null", "{", '"text"', '{"type":"new"}'])
    socket!.onmessage!(new MessageEvent("message", { data }));
  await add(parley, "ada");
  assert.ok(await eventually(async () => stream.ids.length > 0));
  assert.equal(stream.ids[0], (await parley.events.list()).data[0]!.id);
  await stream.close();
});

test("a first frame that comes too late, such as after the device slept, is not a refusal", async (t) => {
  const server = await startApp(t, { socketFirstFrameMs: 200 });
  const { token } = await server.user();
  class Asleep extends WebSocket {
    override send(): void {}
  }
  const parley = new Parley({ url: server.url, token, webSocket: Asleep });
  const stream = listen(t, parley);
  await stream.ready();
  await add(parley, "ada");
  assert.ok(await eventually(async () => stream.ids.length === 1));
  await stream.close();
});

test("a client with its own fetch gets events through it", async (t) => {
  const server = await startApp(t);
  const { token } = await server.user();
  let streams = 0;
  const own: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    if (response.headers.get("content-type") === "text/event-stream") streams++;
    return response;
  };
  for (const [webSocket, expected] of [
    [undefined, 1],
    [WebSocket, 0],
  ] as const) {
    streams = 0;
    const stream = listen(t, new Parley({ url: server.url, token, fetch: own, webSocket }));
    await stream.ready();
    await stream.close();
    assert.equal(streams, expected);
  }
});

onCarriers("only streams whose next event is erased fail with events_erased", async (t, carrier, config) => {
  let now = Date.UTC(2026, 0, 1);
  let isAway = false;
  const server = await startOn(t, config, { clock: () => now });
  const between = await proxy(t, server.url, (path) =>
    isAway && path === "/v1/events" ? { status: 502 } : "pass",
  );
  const { token } = await server.user();
  const direct = new Parley({ url: server.url, token });
  const parley = new Parley({ url: between.url, token, ...carrier });
  const early = listen(t, parley);
  await early.ready();
  isAway = true;
  between.cut();
  await add(direct, "ada");
  now += 8 * 24 * 3600 * 1000;
  await add(direct, "grace");
  const late = listen(t, parley, { after: await direct.events.cursor() });
  isAway = false;
  assert.equal((await failure(early.ended)).code, "events_erased");
  await late.ready();
  await add(direct, "edsger");
  assert.ok(await eventually(async () => late.ids.length === 1));
  assert.deepEqual(late.ids, [(await direct.events.list({ limit: 1 })).data[0]!.id]);
  await late.close();
});

onCarriers("a stream continues with another token after its own is revoked", async (t, carrier, config) => {
  const server = await startOn(t, config);
  const { core } = server.app;
  const user = await server.user();
  const admin = new Parley({ url: server.url, token: (await server.user({ scopes: ["admin"] })).token });
  const [first, second] = [
    await createToken(core, null, user.id, {}),
    await createToken(core, null, user.id, {}),
  ];
  let { token } = first;
  const stream = listen(t, new Parley({ url: server.url, token: () => token, ...carrier }));
  await stream.ready();
  token = second.token;
  await admin.tokens.delete(first.id);
  await add(new Parley({ url: server.url, token }), "ada");
  assert.ok(await eventually(async () => stream.ids.length === 1));
  await admin.tokens.delete(second.id);
  assert.equal((await failure(stream.ended)).code, "invalid_token");
});

onCarriers("a client that acts as another user has the events of that user", async (t, carrier, config) => {
  const server = await startOn(t, config);
  const [bot, user] = [
    await server.user({ scopes: ["act_as", "events:read", "contacts:read"] }),
    await server.user(),
  ];
  const acting = new Parley({ url: server.url, token: bot.token, ...carrier }).as(user.id);
  const stream = listen(t, acting);
  await stream.ready();
  await add(new Parley({ url: server.url, token: user.token }), "ada");
  assert.ok(await eventually(async () => stream.ids.length === 1));
  await stream.close();
});
