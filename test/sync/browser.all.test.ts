// The tabs of a browser: one connection, one outbox and the same view, also when the leader is closed.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Parley } from "../../packages/parley-client/src/index.ts";
import { noChromium } from "../support/engines/chromium.ts";
import { eventually } from "../support/files-on-disk.ts";
import { say } from "../support/people.ts";
import type { Between } from "../support/proxy.ts";
import { openTabs, type Tab } from "./pages.ts";

const TEXTS = "return conversation.getSnapshot().messages.map(({ text, state }) => [text, state].join(' '))";
const IS_LEADER = "return sync.connection().getSnapshot().isLeader";

const streams = ({ seen }: Between) => seen.filter(({ path }) => path === "/v1/events").length;
const posts = ({ seen }: Between) =>
  seen.filter(({ method, path }) => method === "POST" && path === "/v1/messages");

async function leaderOf(tabs: readonly Tab[]): Promise<Tab> {
  const isLeader = await Promise.all(tabs.map(({ run }) => run<boolean>(IS_LEADER)));
  assert.equal(isLeader.filter(Boolean).length, 1);
  return tabs[isLeader.indexOf(true)]!;
}

test("twenty tabs have one connection, one outbox and the same view", { skip: noChromium }, async (t) => {
  const { app, ann, bob, conversation, between, open } = await openTabs(t, () => "pass");
  const tabs: Tab[] = [];
  for (let i = 0; i < 20; i++) tabs.push(await open());
  await Promise.all(tabs.map(({ run }, at) => run(`sync.send(id, { text: "from ${at}" })`)));
  await say(app, bob, conversation, "from Bob");
  const client = new Parley({ url: app.url, token: ann.token });
  const wanted = async () =>
    (await client.messages.list({ conversation_id: conversation, limit: 100 })).data
      .map(({ text }) => `${text} sent`)
      .reverse();
  assert.ok(await eventually(async () => (await wanted()).length === 21));
  const all = await wanted();
  for (const { run } of tabs)
    assert.ok(await eventually(async () => String(await run<string[]>(TEXTS)) === String(all)));
  assert.equal(new Set(all).size, 21);
  assert.equal(posts(between).length, 20);
  assert.equal(streams(between), 1);
  assert.equal(between.underWay(), 1);
  await leaderOf(tabs);
});

test("a message is sent once although the tab that sends it is closed", { skip: noChromium }, async (t) => {
  let isHeld = true;
  const fates = { first: { waitMs: 1_000 }, later: "pass" } as const;
  const { app, ann, conversation, between, open } = await openTabs(t, (path, seen) => {
    if (path !== "/v1/messages" || !isHeld) return "pass";
    return posts({ seen } as Between).length === 0 ? fates.first : fates.later;
  });
  const tabs = [await open(), await open(), await open()];
  const leader = await leaderOf(tabs);
  const others = tabs.filter((tab) => tab !== leader);
  for (let i = 0; i < 3; i++) await others[0]!.run(`sync.send(id, { text: "${i}" })`);
  assert.ok(await eventually(async () => posts(between).length > 0));
  await leader.page.close();
  isHeld = false;
  const client = new Parley({ url: app.url, token: ann.token });
  const list = async () =>
    (await client.messages.list({ conversation_id: conversation })).data.map(({ text }) => text).reverse();
  assert.ok(await eventually(async () => (await list()).length === 3));
  for (const { run } of others)
    assert.ok(await eventually(async () => String(await run<string[]>(TEXTS)) === "0 sent,1 sent,2 sent"));
  assert.deepEqual(await list(), ["0", "1", "2"]);
  await leaderOf(others);
});

test("a conversation that a follower opens without a connection is read again once there is one", {
  skip: noChromium,
}, async (t) => {
  let isAway = false;
  // The client does not retry the read, so that it has failed when the connection is back.
  const toAnswer = (path: string) => ({ status: path.startsWith("/v1/messages?") ? 400 : 502 });
  const { between, open } = await openTabs(t, (path) => (isAway ? toAnswer(path) : "pass"));
  const leader = await open();
  assert.ok(await eventually(() => leader.run<boolean>(IS_LEADER)));
  const isLive = ({ run }: Tab) => run<boolean>('return sync.connection().getSnapshot().state === "live"');
  assert.ok(await eventually(() => isLive(leader)));
  isAway = true;
  between.cut();
  const reads = () => between.seen.filter(({ path }) => path.startsWith("/v1/messages?")).length;
  const before = reads();
  const follower = await open();
  // A leader that has noticed the loss of its connection reads nothing.
  assert.ok(await eventually(async () => reads() > before || !(await isLive(follower))));
  const failed = reads();
  isAway = false;
  await follower.run("sync.wake()");
  assert.ok(await eventually(() => isLive(follower)));
  assert.ok(await eventually(async () => reads() > failed));
});

test("a file in the outbox survives a reload, and sign-out erases all tabs", {
  skip: noChromium,
}, async (t) => {
  let isAway = false;
  const { app, ann, conversation, open } = await openTabs(t, () => (isAway ? { status: 502 } : "pass"));
  const first = await open();
  assert.ok(await eventually(async () => await first.run<boolean>(IS_LEADER)));
  isAway = true;
  await first.run('sync.send(id, { text: "a file", files: [new File(["hello"], "hello.txt")] })');
  assert.ok(
    await eventually(
      async () => (await first.run<number>('return (await store.scan("file/")).length')) === 1,
    ),
  );
  await first.page.close();
  isAway = false;
  const [second, third] = [await open(), await open()];
  const client = new Parley({ url: app.url, token: ann.token });
  const list = async () => (await client.messages.list({ conversation_id: conversation })).data;
  assert.ok(await eventually(async () => (await list()).length === 1));
  assert.equal((await list())[0]!.attachments[0]!.file_size, 5);
  assert.ok(await eventually(async () => (await third.run<string[]>(TEXTS)).length === 1));
  await third.run("await sync.signOut()");
  const entries = `return new Promise((resolve) => {
    const opening = indexedDB.open("parley");
    opening.onsuccess = () => {
      const keys = opening.result.transaction("entries").objectStore("entries").getAllKeys();
      keys.onsuccess = () => resolve(keys.result);
    };
  })`;
  assert.ok(await eventually(async () => (await second.run<string[]>(entries)).length === 0));
  const refused = 'try { sync.send(id, { text: "late" }); return "sent" } catch { return "refused" }';
  assert.ok(await eventually(async () => (await second.run<string>(refused)) === "refused"));
});
