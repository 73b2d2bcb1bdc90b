// Who is typing, as all packages show it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Parley } from "../../packages/parley-client/src/index.ts";
import { memoryStore, openSync } from "../../packages/parley-sync/src/index.ts";
import { realPlatform } from "../../packages/parley-sync/src/platform.ts";
import { sharedApp } from "../support/app.ts";
import { eventually } from "../support/files-on-disk.ts";
import { type Person, pair, say } from "../support/people.ts";

const server = sharedApp();

/** Opens the copies of two people, each with the time of one clock, whose timers of at most six seconds run when it is moved. */
async function openPair(t: { after(end: () => unknown): void }) {
  const app = await server();
  const { ann, bob, conversation } = await pair(app);
  let now = Date.now();
  const timers = new Map<() => void, number>();
  const after = (ms: number, callback: () => void) => {
    if (ms > 6_000) return realPlatform.after(ms, callback);
    timers.set(callback, now + ms);
    return () => timers.delete(callback);
  };
  const platform = { ...realPlatform, now: () => now, after };
  const pass = (ms: number) => {
    now += ms;
    for (const [callback, at] of timers) if (at <= now && timers.delete(callback)) callback();
  };
  const sent: string[] = [];
  const open = async ({ token }: Person) => {
    const counted: typeof fetch = (input, init) => {
      const { pathname } = new URL(String(input instanceof Request ? input.url : input));
      if (pathname.endsWith("/typing")) sent.push(pathname);
      return fetch(input, init);
    };
    const client = new Parley({ url: app.url, token, fetch: counted });
    const sync = await openSync({ client, store: memoryStore(), platform });
    t.after(() => sync.close());
    const isLive = async () => sync.connection().getSnapshot().state === "live";
    assert.ok(await eventually(isLive));
    return sync;
  };
  return { app, ann, bob, conversation, pass, sent, ofAnn: await open(ann), ofBob: await open(bob) };
}

test("a user is shown as typing for six seconds", async (t) => {
  const { bob, conversation, pass, ofAnn, ofBob } = await openPair(t);
  const view = ofAnn.typing(conversation);
  assert.equal(ofAnn.typing(conversation), view);
  let changes = 0;
  view.subscribe(() => changes++);
  const shows = (...users: string[]) => eventually(async () => String(view.getSnapshot()) === String(users));
  ofBob.typing(conversation).notify();
  assert.ok(await shows(bob.id));
  assert.equal(view.getSnapshot(), view.getSnapshot());
  pass(5_999);
  assert.deepEqual(view.getSnapshot(), [bob.id]);
  pass(1);
  assert.deepEqual(view.getSnapshot(), []);
  assert.equal(changes, 2);
});

test("a message ends the typing of its sender, and a notice that comes after it is about its text", async (t) => {
  const { app, bob, conversation, ofAnn, ofBob } = await openPair(t);
  const view = ofAnn.typing(conversation);
  ofBob.typing(conversation).notify();
  assert.ok(await eventually(async () => view.getSnapshot().length === 1));
  await say(app, bob, conversation, "done");
  assert.ok(await eventually(async () => view.getSnapshot().length === 0));

  const late = await openPair(t);
  let heard = "";
  late.ofAnn.onEvent(({ type }) => {
    heard += `${type} `;
  });
  const hears = (type: string) => eventually(async () => heard.includes(type));
  await say(late.app, late.bob, late.conversation, "done");
  assert.ok(await hears("message.created"));
  late.pass(999);
  late.ofBob.typing(late.conversation).notify();
  assert.ok(await hears("typing"));
  assert.deepEqual(late.ofAnn.typing(late.conversation).getSnapshot(), []);
});

test("the others are notified once in three seconds, and nobody in one's own notes", async (t) => {
  const { ann, conversation, pass, sent, ofAnn } = await openPair(t);
  const { notify } = ofAnn.typing(conversation);
  const notes = (await ofAnn.client.me()).conversation_id;
  assert.ok(
    await eventually(async () =>
      ofAnn
        .inbox()
        .getSnapshot()
        .items.some(({ id }) => id === notes),
    ),
    ann.id,
  );
  ofAnn.typing(notes).notify();
  for (let i = 0; i < 5; i++) notify();
  pass(2_999);
  notify();
  assert.ok(await eventually(async () => sent.length > 0));
  pass(1);
  notify();
  assert.ok(await eventually(async () => sent.length > 1));
  assert.deepEqual(sent, Array(2).fill(`/v1/conversations/${conversation}/typing`));
});
