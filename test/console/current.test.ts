// Nothing is missed: whatever answers are slow, and whatever is cut, hidden or restarted, a page shows in the end what the
// API lists.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { startOn, type TestApp, type TestUser, testConfig } from "../support/app.ts";
import { noChromium, openBrowser } from "../support/engines/chromium.ts";
import { add, give, person, read, say, send } from "../support/people.ts";
import { choose, type Guard, hide, openFiles, openPage } from "./browser.ts";
import { type Fate, gate } from "./proxy.ts";
import { testScenes, type World } from "./scenes.ts";
import { assertCurrent, type Place } from "./shown.ts";
import { act, find, write } from "./talk.ts";

/** The kinds of answers that are late, each in turn, by their lines; in parts, so that no test takes long. */
const LISTS: Record<string, RegExp> = {
  inbox: /^GET \/v1\/conversations\?/,
  contacts: /^GET \/v1\/contacts\?/,
  messages: /^GET \/v1\/messages\?/,
  files: /^GET \/v1\/attachments/,
  groups: /^GET \/v1\/groups(?:\?|$)/,
};
const OTHERS: Record<string, RegExp> = {
  conversation: /^GET \/v1\/conversations\/\w+$/,
  contact: /^GET \/v1\/contacts\/\w+$/,
  group: /^GET \/v1\/groups\/\w+$/,
  me: /^GET \/v1\/me$/,
  events: /^GET \/v1\/events/,
  marks: /^PUT .*\/read$/,
};

interface Cast {
  server: TestApp;
  ann: TestUser;
  bob: TestUser;
  cat: TestUser;
  /** Ann's contacts. */
  contacts: Record<"bob" | "cat", { id: string; conversation_id: string }>;
  group: { id: string; conversation_id: string };
  /** Bob's first message and Ann's reply to it. */
  first: string;
  reply: string;
  file: string;
  /** What the round before has made and this one removes. */
  last: { eve?: string; message?: string; file?: string; group?: string };
}

let casts = 0;

/** Ann, with a conversation with Bob, one with Cat and a group of all three. */
async function gather(server: TestApp): Promise<Cast> {
  const names = ["ann", "bob", "cat"].map((name) => `${name}-${casts}`);
  casts++;
  const [ann, bob, cat] = [
    await person(server, names[0]!),
    await person(server, names[1]!),
    await person(server, names[2]!),
  ];
  const contacts = { bob: await add(server, ann, bob.name), cat: await add(server, ann, cat.name) };
  for (const [who, other] of [
    [bob, ann],
    [cat, ann],
    [bob, cat],
    [cat, bob],
  ] as const)
    await add(server, who, other.name);
  await add(server, ann, "nobody");
  const group = await read<Cast["group"]>(
    send(server, ann, "POST", "/v1/groups", { name: "Climbers", members: [bob.name, cat.name] }),
    201,
  );
  for (const who of [bob, cat]) await read(send(server, who, "POST", `/v1/groups/${group.id}/join`), 200);
  const id = contacts.bob.conversation_id;
  const first = await say(server, bob, id, "first");
  const file = await give(server, bob, id, "first.txt");
  const reply = await say(server, ann, id, "reply", { reply_to_id: first });
  await say(server, cat, contacts.cat.conversation_id, "hello");
  return { server, ann, bob, cat, contacts, group, first, reply, file, last: {} };
}

/** All that can change in one round, on other devices of Ann and of the others. */
async function change(cast: Cast, round: number): Promise<void> {
  const { server, ann, bob, cat, contacts, group, first, reply, file, last } = cast;
  const id = contacts.bob.conversation_id;
  const put = (who: TestUser, path: string, body: object) => read(send(server, who, "PUT", path, body), 200);
  const remove = async (who: TestUser, path: string) =>
    assert.equal((await send(server, who, "DELETE", path)).status, 204, path);
  const isOdd = round % 2 === 1;
  const reaction = `/v1/messages/${reply}/reactions/${encodeURIComponent("👍")}`;
  await put(bob, `/v1/messages/${first}`, { text: `first, edit ${round}` });
  if (isOdd) assert.equal((await send(server, bob, "PUT", reaction)).status, 204);
  else await remove(bob, reaction);
  await put(ann, `/v1/contacts/${contacts.cat.id}`, { display_name: `Cat ${round}` });
  await put(ann, `/v1/contacts/${contacts.bob.id}`, { display_name: `Bob ${round}` });
  await put(ann, `/v1/conversations/${contacts.cat.conversation_id}`, { is_pinned: isOdd });
  await put(ann, `/v1/groups/${group.id}`, { name: `Climbers ${round}` });
  await put(bob, `/v1/attachments/${file}`, { filename: `first ${round}.txt` });
  const { eve, message, file: old, group: invitation } = last;
  last.eve = (await add(server, ann, `eve-${casts}-${round}`)).id;
  if (eve) await remove(ann, `/v1/contacts/${eve}`);
  last.message = await say(server, bob, id, `news ${round}`, { reply_to_id: first });
  if (message) await remove(bob, `/v1/messages/${message}`);
  last.file = await give(server, bob, id, `given ${round}.txt`);
  if (old) await remove(bob, `/v1/attachments/${old}`);
  const made = await read<Cast["group"]>(
    send(server, cat, "POST", "/v1/groups", { name: `Divers ${round}`, members: [`ann-${casts - 1}`] }),
    201,
  );
  last.group = made.id;
  if (invitation) await remove(cat, `/v1/groups/${invitation}`);
  await say(server, cat, group.conversation_id, `in the group ${round}`);
  await say(server, cat, contacts.cat.conversation_id, `hello ${round}`);
  await say(server, ann, id, `from another device ${round}`);
}

/** Signs in at a place, as far as the network lets it. */
async function begin(page: Page, url: string, user: TestUser, { id, tab }: Place): Promise<void> {
  await page.goto(`${url}/#${id}`);
  await page.getByLabel("Access token").fill(user.token);
  await page.getByRole("button", { name: "Sign in" }).click();
  if (tab === "Files") await openFiles(page);
}

/** The pages of Ann, each in a browser of its own: the messages and the files of Bob, and the group. */
async function openAll(world: World, cast: Cast) {
  const { bob } = cast.contacts;
  const places: Place[] = [
    { id: bob.id, conversationId: bob.conversation_id, tab: "Messages" },
    { id: bob.id, conversationId: bob.conversation_id, tab: "Files" },
    { id: cast.group.id, conversationId: cast.group.conversation_id, tab: "Messages" },
  ];
  const all: { place: Place; page: Page; guard: Guard }[] = [];
  for (const place of places) all.push({ place, ...(await world.visit()) });
  return {
    assertQuiet: () => assert.deepEqual(all.flatMap(({ guard }) => guard.complaints), []),
    pages: all.map(({ page }) => page),
    begin: () => Promise.all(all.map(({ page, place }) => begin(page, world.proxy.url, cast.ann, place))),
    assertCurrent: async (what: string) => {
      const { server, ann } = cast;
      await Promise.all(all.map(({ page, place }) => assertCurrent(server, ann, page, place, what)));
    },
  };
}

/** How long requests that are due may take to reach the proxy. */
const SENT_MS = 400;

async function playLate(world: World, kind: RegExp): Promise<void> {
  const { server, proxy } = world;
  const cast = await gather(server);
  const opened = await openAll(world, cast);
  let held = 0;
  const hold = () => {
    const late = gate();
    proxy.fate = (line): Fate | Promise<Fate> => {
      if (!kind.test(line)) return "pass";
      held++;
      return late.passed;
    };
    return () => {
      proxy.fate = () => "pass";
      late.open();
    };
  };
  // What is loaded at first is late.
  let release = hold();
  let isBegun = false;
  const begun = opened.begin().finally(() => {
    isBegun = true;
  });
  while (held === 0 && !isBegun) await opened.pages[0]!.waitForTimeout(20);
  await opened.pages[0]!.waitForTimeout(SENT_MS);
  await change(cast, 1);
  await opened.pages[0]!.waitForTimeout(SENT_MS);
  await change(cast, 2);
  release();
  await begun;
  await opened.assertCurrent("late at first");
  // What is loaded again is late.
  release = hold();
  await change(cast, 3);
  await opened.pages[0]!.waitForTimeout(SENT_MS);
  await change(cast, 4);
  release();
  await opened.assertCurrent("late again");
  assert.ok(held > 0, "something was late");
  opened.assertQuiet();
}

/** Lets the answers of some requests of a page be late while others answer at once. */
function holdAnswers(world: World, kind: RegExp): { isHeld: () => boolean; release: () => void } {
  const late = gate();
  let held = 0;
  world.proxy.fate = (line) => {
    if (!kind.test(line)) return "pass";
    held++;
    return late.passed;
  };
  return { isHeld: () => held > 0, release: late.open };
}

const put = (cast: Cast, path: string, body: object) =>
  read(send(cast.server, cast.ann, "PUT", path, body), 200);

/** What Ann does on the page, and on another device before the page has the answer. Only the latter counts. */
const OVERTAKEN: Record<
  string,
  {
    kind: RegExp;
    here: (page: Page, cast: Cast) => Promise<unknown>;
    elsewhere: (cast: Cast) => Promise<unknown>;
  }
> = {
  "an edited message": {
    kind: /^PUT .*messages/,
    here: async (page) => {
      await act(page, "reply", "Edit");
      await page.getByRole("textbox", { name: "Edit the message" }).fill("reply, edited here");
      await page.keyboard.press("Enter");
    },
    elsewhere: (cast) => put(cast, `/v1/messages/${cast.reply}`, { text: "reply, edited elsewhere" }),
  },
  "a renamed contact": {
    kind: /^PUT .*contacts/,
    here: async (page) => {
      await page.getByRole("button", { name: /^Rename contact/ }).click();
      await page.keyboard.type("Here");
      await page.keyboard.press("Enter");
    },
    elsewhere: (cast) => put(cast, `/v1/contacts/${cast.contacts.bob.id}`, { display_name: "Elsewhere" }),
  },
  "a pinned conversation": {
    kind: /^PUT .*conversations\/\w+$/,
    here: async (page) => {
      await choose(page, "Conversation settings");
      await page.getByLabel("Pinned above the others").check();
    },
    elsewhere: async (cast) => {
      const path = `/v1/conversations/${cast.contacts.bob.conversation_id}`;
      await put(cast, path, { is_pinned: false });
    },
  },
  "a message that is deleted": {
    kind: /^POST .*messages/,
    here: (page) => write(page, "short-lived"),
    elsewhere: async (cast) => {
      const path = `/v1/messages?conversation_id=${cast.contacts.bob.conversation_id}&limit=1`;
      const { data } = await read<{ data: { id: string; text: string }[] }>(
        send(cast.server, cast.ann, "GET", path),
        200,
      );
      assert.equal(data[0]!.text, "short-lived");
      await send(cast.server, cast.ann, "DELETE", `/v1/messages/${data[0]!.id}`);
    },
  },
  "a reaction that is removed": {
    kind: /^PUT .*reactions/,
    here: async (page) => {
      await act(page, "first", "React");
      await page.getByRole("group", { name: "Common reactions" }).getByRole("button").first().click();
    },
    elsewhere: async (cast) => {
      const path = `/v1/messages/${cast.first}/reactions/${encodeURIComponent("👍")}`;
      assert.equal((await send(cast.server, cast.ann, "DELETE", path)).status, 204);
    },
  },
};

async function playOvertaken(
  world: World,
  { kind, here, elsewhere }: (typeof OVERTAKEN)[string],
): Promise<void> {
  const { server, proxy } = world;
  const cast = await gather(server);
  const { page, guard } = await world.visit();
  const { bob } = cast.contacts;
  const place: Place = { id: bob.id, conversationId: bob.conversation_id, tab: "Messages" };
  await begin(page, proxy.url, cast.ann, place);
  await find(page, "reply").waitFor();
  const { isHeld, release } = holdAnswers(world, kind);
  await here(page, cast);
  while (!isHeld()) await page.waitForTimeout(20);
  await page.waitForTimeout(SENT_MS);
  await elsewhere(cast);
  await page.waitForTimeout(SENT_MS);
  release();
  await assertCurrent(server, cast.ann, page, place, "overtaken");
  assert.deepEqual(guard.complaints, []);
}

for (const kinds of [LISTS, OTHERS]) {
  testScenes(`a page shows what the lists say, whatever is late: ${Object.keys(kinds).join(", ")}`, {
    ...Object.fromEntries(
      Object.entries(kinds).map(([name, kind]) => [name, (world: World) => playLate(world, kind)]),
    ),
  });
}

testScenes("an answer does not undo what happened after it", {
  ...Object.fromEntries(
    Object.entries(OVERTAKEN).map(([name, play]) => [name, (world: World) => playOvertaken(world, play)]),
  ),
});

testScenes("a page shows what the lists say, whatever is cut or hidden", {
  "a message that another one replies to changes while it is loaded": async (world) => {
    const { server, proxy } = world;
    const cast = await gather(server);
    const id = cast.contacts.cat.conversation_id;
    const quoted = await say(server, cast.cat, id, "before");
    // Ann's own, so that the page begins at the end.
    for (let i = 0; i < 60; i++) await say(server, cast.ann, id, `line ${i}`);
    await say(server, cast.ann, id, "the last", { reply_to_id: quoted });
    const { page, guard } = await world.visit();
    const { isHeld, release } = holdAnswers(world, /^GET \/v1\/messages\/\w+$/);
    await begin(page, proxy.url, cast.ann, { ...cast.contacts.cat, conversationId: id, tab: "Messages" });
    while (!isHeld()) await page.waitForTimeout(20);
    await page.waitForTimeout(SENT_MS);
    await read(send(server, cast.cat, "PUT", `/v1/messages/${quoted}`, { text: "after" }), 200);
    const quote = find(page, "the last").locator(".quote > .muted");
    await quote.getByText("after").waitFor();
    release();
    await page.waitForTimeout(SENT_MS);
    assert.equal(await quote.textContent(), "after");
    assert.deepEqual(guard.complaints, []);
  },

  "the window is hidden and comes back": async (world) => {
    const cast = await gather(world.server);
    const opened = await openAll(world, cast);
    await opened.begin();
    await opened.assertCurrent("at first");
    for (const page of opened.pages) await hide(page, true);
    while (world.proxy.openStreams() > 0) await opened.pages[0]!.waitForTimeout(20);
    await change(cast, 1);
    await change(cast, 2);
    for (const page of opened.pages) await hide(page, false);
    await opened.assertCurrent("back");
    opened.assertQuiet();
  },

  "the stream is cut, and everything fails for a while": async (world) => {
    const cast = await gather(world.server);
    const opened = await openAll(world, cast);
    await opened.begin();
    await opened.assertCurrent("at first");
    world.proxy.cutStreams();
    await change(cast, 1);
    await opened.assertCurrent("after a cut");
    // Events still arrive, and what they make the page ask for fails.
    world.proxy.fate = (line) => (line.startsWith("GET /v1/events") ? "pass" : "break");
    await change(cast, 2);
    await opened.pages[0]!.waitForTimeout(SENT_MS);
    world.proxy.fate = () => "pass";
    await opened.assertCurrent("after failures");
    world.proxy.fate = () => "break";
    world.proxy.cutStreams();
    await opened.pages[0]!.getByText("Not connected").waitFor();
    await change(cast, 3);
    world.proxy.fate = () => "pass";
    await opened.assertCurrent("after an outage");
    opened.assertQuiet();
  },
});

test("a page shows what the lists say after a restart of the server", { skip: noChromium }, async (t) => {
  const config = await testConfig(t);
  const before = await startOn(t, config);
  const cast = await gather(before);
  const { page, guard } = await openPage(await openBrowser(t), before.url);
  const { bob } = cast.contacts;
  const place: Place = { id: bob.id, conversationId: bob.conversation_id, tab: "Messages" };
  await begin(page, before.url, cast.ann, place);
  await assertCurrent(before, cast.ann, page, place, "before");
  const changing = change(cast, 1);
  await find(page, "first, edit 1").waitFor();
  await changing;
  await before.app.stop();
  await page.getByText("Not connected").waitFor();
  const after = await startOn(t, { ...config, port: Number(new URL(before.url).port) });
  await change({ ...cast, server: after }, 2);
  await assertCurrent(after, cast.ann, page, place, "after");
  assert.deepEqual(guard.complaints, []);
});
