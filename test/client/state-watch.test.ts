// Watches of the inbox, of what is unread and of who is typing show the newest state, whatever happens to their connection.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import {
  Parley,
  type StreamEvent,
  type StreamState,
  type WatchOptions,
} from "../../packages/parley-client/src/index.ts";
import { Typists } from "../../packages/parley-client/src/typists.ts";
import { startApp, startOn, type TestApp } from "../support/app.ts";
import { eventually } from "../support/files-on-disk.ts";
import { pair } from "../support/people.ts";
import { type Fate, proxy } from "../support/proxy.ts";
import { onCarriers } from "./engines.ts";
import { failure } from "./failure.ts";

/** Collects the values of a watch until it is closed. */
function collect<T>(t: TestContext, start: (options: WatchOptions) => AsyncGenerator<T>) {
  const stop = new AbortController();
  t.after(() => stop.abort());
  const values: T[] = [];
  const states: StreamState[] = [];
  const ended = (async () => {
    const onState = (state: StreamState) => states.push(state);
    for await (const value of start({ signal: stop.signal, onState })) values.push(value);
  })();
  ended.catch(() => {});
  const close = () => {
    stop.abort();
    return ended;
  };
  const ready = async () => assert.ok(await eventually(async () => states.at(-1) === "ready"));
  const becomes = async (isExpected: (value: T) => boolean) =>
    assert.ok(await eventually(async () => values.length > 0 && isExpected(values.at(-1)!)));
  return { values, states, ended, close, ready, becomes };
}

/** Creates two contacts, the second with a proxy before the server. */
async function people(
  t: TestContext,
  server: TestApp,
  fateOf: (path: string) => Fate = () => "pass",
  carrier = {},
) {
  const { ann, bob, conversation } = await pair(server);
  const between = await proxy(t, server.url, fateOf);
  return {
    ...{ annsId: ann.id, conversation, between },
    ann: new Parley({ url: server.url, token: ann.token }),
    bob: new Parley({ url: server.url, token: bob.token }),
    watching: new Parley({ url: between.url, token: bob.token, ...carrier }),
  };
}

onCarriers(
  "the inbox and its badge show the newest state, also after lost connections",
  async (t, carrier, config) => {
    const server = await startOn(t, config);
    const { ann, bob, watching, conversation, between } = await people(t, server, () => "pass", carrier);
    const send = (text: string) => ann.messages.create({ conversation_id: conversation, text });
    const inbox = collect(t, (options) => watching.conversations.watch({ limit: 5 }, options));
    const unread = collect(t, (options) => watching.conversations.watchUnread(options));
    for (const watched of [inbox, unread]) await watched.ready();
    assert.deepEqual(unread.values, [0]);
    assert.equal(between.underWay(), 1);
    for (let i = 0; i < 20; i++) {
      await send(String(i));
      if (i % 8 === 7) between.cut();
    }
    await inbox.becomes(([first]) => first?.last_message?.text === "19" && first.unread_count === 20);
    await unread.becomes((count) => count === 1);
    const last = await send("last");
    await bob.conversations.markRead(conversation, { message_id: last.id });
    await unread.becomes((count) => count === 0);
    await inbox.becomes(([first]) => first?.unread_count === 0);
    assert.deepEqual(inbox.values.at(-1), (await bob.conversations.list({ limit: 5 })).data);
    const looks = inbox.values.map((value) => JSON.stringify(value));
    assert.ok(looks.every((look, i) => look !== looks[i - 1]));
    for (const watched of [inbox, unread]) await watched.close();
    assert.ok(await eventually(async () => between.underWay() === 0));
  },
);

test("an empty inbox is ready, too", async (t) => {
  const { watching } = await people(t, await startApp(t));
  const groups = collect(t, (options) => watching.conversations.watch({ kind: "group" }, options));
  await groups.ready();
  assert.deepEqual([groups.values, groups.states], [[[]], ["connecting", "ready"]]);
  await watching.groups.create({ name: "Climbing" });
  await groups.becomes(([group]) => group?.name === "Climbing");
  await groups.close();
});

onCarriers("a watched inbox whose events have expired is read again", async (t, carrier, config) => {
  let now = Date.UTC(2026, 0, 1);
  let isAway = false;
  const server = await startOn(t, config, { clock: () => now });
  const fateOf = (path: string): Fate => (isAway && path.startsWith("/v1/events") ? { status: 502 } : "pass");
  const { ann, watching, conversation, between } = await people(t, server, fateOf, carrier);
  const inbox = collect(t, (options) => watching.conversations.watch({}, options));
  await inbox.ready();
  isAway = true;
  between.cut();
  await ann.messages.create({ conversation_id: conversation, text: "erased" });
  now += 8 * 24 * 3600 * 1000;
  await ann.groups.create({ name: "Climbing" });
  isAway = false;
  await inbox.becomes(([first]) => first?.last_message?.text === "erased");
  await inbox.ready();
  assert.deepEqual(inbox.states, ["connecting", "ready", "reconnecting", "ready"]);
  await inbox.close();
});

test("a watch of typing shows a user until a message arrives, or the time is over", async (t) => {
  const server = await startApp(t);
  const { ann, bob, watching, conversation, annsId } = await people(t, server);
  const typing = collect(t, (options) => watching.conversations.watchTyping(conversation, options));
  const other = collect(t, (options) => watching.conversations.watchTyping(`cnv_${"0".repeat(26)}`, options));
  for (const watched of [typing, other]) await watched.ready();
  await ann.conversations.typing(conversation);
  await typing.becomes((ids) => ids.length === 1);
  await bob.messages.create({ conversation_id: conversation, text: "own" });
  await ann.messages.create({ conversation_id: conversation, text: "hello" });
  await typing.becomes((ids) => ids.length === 0);
  // Typing again too early has no effect.
  const isTyping = async () => {
    await ann.conversations.typing(conversation);
    return typing.values.at(-1)!.length === 1;
  };
  assert.ok(await eventually(isTyping));
  await typing.becomes((ids) => ids.length === 0);
  assert.deepEqual(typing.values, [[], [annsId], [], [annsId], []]);
  assert.deepEqual(other.values, [[]]);
  for (const watched of [typing, other]) await watched.close();
});

test("a message ends the typing of its sender before the time is over", () => {
  const typists = new Typists("cnv_1");
  const typing = { type: "typing", conversation_id: "cnv_1", payload: { user_id: "usr_1" } };
  const message = { type: "message.created", conversation_id: "cnv_1", payload: { sender: { id: "usr_1" } } };
  assert.ok(typists.isChangedBy(typing as StreamEvent));
  assert.deepEqual(typists.read(), ["usr_1"]);
  assert.ok(typists.isChangedBy(message as StreamEvent));
  assert.deepEqual(typists.read(), []);
});

test("a watch throws what the server refuses", async (t) => {
  const server = await startApp(t);
  const { token } = await server.user({ scopes: ["events:read"] });
  const limited = new Parley({ url: server.url, token });
  for (const watched of [
    collect(t, (options) => limited.conversations.watch({}, options)),
    collect(t, (options) => limited.conversations.watchTyping(`cnv_${"0".repeat(26)}`, options)),
  ])
    assert.equal((await failure(watched.ended)).code, "insufficient_scope");
});
