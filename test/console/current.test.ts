// After slow answers, cut connections, hidden windows and restarts, a page shows what the API lists.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { startOn, type TestUser, testConfig } from "../support/app.ts";
import { noChromium, openBrowser } from "../support/engines/chromium.ts";
import { add, person, read, say, send } from "../support/people.ts";
import { choose, type Guard, hide, openFiles, openPage, signIn } from "./browser.ts";
import { type Cast, change, gather } from "./cast.ts";
import { type Fate, gate, holdAnswers, startProxy } from "./proxy.ts";
import { testScenes, type World } from "./scenes.ts";
import { assertCurrent, type Place } from "./shown.ts";
import { act, find, write } from "./talk.ts";

const PLACES = ["Bob's messages", "Bob's files", "the group"] as const;
type PlaceName = (typeof PLACES)[number];

/**
 * Kinds of answers to delay, by their request lines, and the places that show them. Of what all places show alike, such
 * as the inbox, one is enough.
 */
const LATE: Record<string, { kind: RegExp; at: readonly PlaceName[] }> = {
  inbox: { kind: /^GET \/v1\/snapshot\?/, at: ["Bob's messages"] },
  contacts: { kind: /^GET \/v1\/contacts\?/, at: ["Bob's messages"] },
  messages: { kind: /^GET \/v1\/messages\?/, at: ["Bob's messages", "the group"] },
  files: { kind: /^GET \/v1\/attachments/, at: ["Bob's files"] },
  groups: { kind: /^GET \/v1\/groups(?:\?|$)/, at: ["the group"] },
  conversation: { kind: /^GET \/v1\/conversations\/\w+$/, at: ["Bob's messages", "the group"] },
  contact: { kind: /^GET \/v1\/contacts\/\w+$/, at: ["Bob's messages"] },
  group: { kind: /^GET \/v1\/groups\/\w+$/, at: ["the group"] },
  me: { kind: /^GET \/v1\/me$/, at: ["Bob's messages"] },
  events: { kind: /^GET \/v1\/events/, at: PLACES },
  marks: { kind: /^PUT .*\/read$/, at: ["Bob's messages"] },
};

/** Signs in at a place, as far as the network allows. */
async function begin(page: Page, url: string, user: TestUser, { id, tab }: Place): Promise<void> {
  await page.goto(`${url}/#${id}`);
  await page.getByLabel("Access token").fill(user.token);
  await page.getByRole("button", { name: "Sign in" }).click();
  if (tab === "Files") await openFiles(page);
}

/** Opens pages of Ann at these places, each in its own browser. */
async function openAll(world: World, cast: Cast, names: readonly PlaceName[] = PLACES) {
  const { bob } = cast.contacts;
  const places: Record<PlaceName, Place> = {
    "Bob's messages": { id: bob.id, conversationId: bob.conversation_id, tab: "Messages" },
    "Bob's files": { id: bob.id, conversationId: bob.conversation_id, tab: "Files" },
    "the group": { id: cast.group.id, conversationId: cast.group.conversation_id, tab: "Messages" },
  };
  const all: { place: Place; page: Page; guard: Guard }[] = [];
  for (const name of names) all.push({ place: places[name], ...(await world.visit()) });
  return {
    assertQuiet: () =>
      assert.deepEqual(
        all.flatMap(({ guard }) => guard.complaints),
        [],
      ),
    pages: all.map(({ page }) => page),
    begin: () => Promise.all(all.map(({ page, place }) => begin(page, world.proxy.url, cast.ann, place))),
    assertCurrent: async (what: string) => {
      const { server, ann } = cast;
      await Promise.all(all.map(({ page, place }) => assertCurrent(server, ann, page, place, what)));
    },
  };
}

const MORE_THAN_A_PAGE = 130;

/** How long due requests may take to reach the proxy. */
const SENT_MS = 400;

async function playLate(world: World, { kind, at }: (typeof LATE)[string]): Promise<void> {
  const { server, proxy } = world;
  const cast = await gather(server);
  const opened = await openAll(world, cast, at);
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
  // Delays the first load.
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
  // Delays the reload.
  release = hold();
  await change(cast, 3);
  await opened.pages[0]!.waitForTimeout(SENT_MS);
  await change(cast, 4);
  // A slow page may ask only now.
  while (held === 0) await opened.pages[0]!.waitForTimeout(20);
  release();
  await opened.assertCurrent("late again");
  opened.assertQuiet();
}

const put = (cast: Cast, path: string, body: object) =>
  read(send(cast.server, cast.ann, "PUT", path, body), 200);

/** A change on the page, and a later change on another device before the page has its answer. The later one counts. */
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
  const { arrived, release } = holdAnswers(world.proxy, kind);
  await here(page, cast);
  await arrived;
  await page.waitForTimeout(SENT_MS);
  await elsewhere(cast);
  await page.waitForTimeout(SENT_MS);
  release();
  await assertCurrent(server, cast.ann, page, place, "overtaken");
  assert.deepEqual(guard.complaints, []);
}

// A test for each, to keep them short.
for (const [name, late] of Object.entries(LATE)) {
  testScenes(`a page shows what the API lists after delayed answers: ${name}`, {
    [name]: (world) => playLate(world, late),
  });
}

for (const [name, play] of Object.entries(OVERTAKEN)) {
  testScenes(`a late answer does not undo a newer change: ${name}`, {
    [name]: (world) => playOvertaken(world, play),
  });
}

testScenes("a page shows what the API lists after cut connections and hidden windows", {
  "a quoted message that changes while it loads shows its new text": async (world) => {
    const { server, proxy } = world;
    const cast = await gather(server);
    const id = cast.contacts.cat.conversation_id;
    const quoted = await say(server, cast.cat, id, "before");
    // Ann's own messages, so that the page starts at the end.
    for (let i = 0; i < 60; i++) await say(server, cast.ann, id, `line ${i}`);
    await say(server, cast.ann, id, "the last", { reply_to_id: quoted });
    const { page, guard } = await world.visit();
    const { arrived, release } = holdAnswers(world.proxy, /^GET \/v1\/messages\/\w+$/);
    await begin(page, proxy.url, cast.ann, { ...cast.contacts.cat, conversationId: id, tab: "Messages" });
    await arrived;
    await page.waitForTimeout(SENT_MS);
    await read(send(server, cast.cat, "PUT", `/v1/messages/${quoted}`, { text: "after" }), 200);
    const quote = find(page, "the last").locator(".quote > .muted");
    await quote.getByText("after").waitFor();
    release();
    await page.waitForTimeout(SENT_MS);
    assert.equal(await quote.textContent(), "after");
    assert.deepEqual(guard.complaints, []);
  },

  "an old conversation that changes while the list loads leaves no gap": async (world) => {
    const { server, proxy } = world;
    const ann = await person(server, "ann-of-many");
    const all: string[] = [];
    for (let i = 0; i < MORE_THAN_A_PAGE; i++) {
      const { conversation_id } = await add(server, ann, `friend-${i}`);
      await say(server, ann, conversation_id, `hello ${i}`);
      all.push(conversation_id);
    }
    const { page, guard } = await world.visit();
    const { arrived, release } = holdAnswers(
      world.proxy,
      /^GET \/v1\/conversations\?limit=\d+&starting_after/,
    );
    const signing = signIn(page, proxy.url, ann.token);
    await arrived;
    await signing;
    while (proxy.openStreams() === 0) await page.waitForTimeout(20);
    const settings = { muted_until: 99_999_999_999 };
    await read(send(server, ann, "PUT", `/v1/conversations/${all[0]}`, settings), 200);
    await page.waitForTimeout(2 * SENT_MS);
    release();
    await page.locator(`[role=option][aria-posinset="1"]`).waitFor();
    await page.getByRole("listbox").focus();
    const last = page.locator(`[role=option][aria-posinset="${MORE_THAN_A_PAGE}"]`);
    while ((await last.count()) === 0) {
      await page.keyboard.press("End");
      await page.waitForTimeout(50);
    }
    const hints = await page.locator("[role=option] .contact-line.small > .ellipsis").allTextContents();
    assert.deepEqual(
      hints,
      hints.map((_, at) => `You: hello ${hints.length - 1 - at}`),
    );
    assert.deepEqual(guard.complaints, []);
  },

  "a window is hidden and comes back": async (world) => {
    const cast = await gather(world.server);
    const opened = await openAll(world, cast);
    await opened.begin();
    await opened.assertCurrent("at first");
    for (const page of opened.pages) await hide(page, true);
    await change(cast, 1);
    // One connection serves all windows of a browser, so a hidden one stays current.
    await opened.assertCurrent("hidden");
    await change(cast, 2);
    for (const page of opened.pages) await hide(page, false);
    await opened.assertCurrent("back");
    opened.assertQuiet();
  },

  "the stream is cut, and every request fails for a while": async (world) => {
    const cast = await gather(world.server);
    const opened = await openAll(world, cast);
    await opened.begin();
    await opened.assertCurrent("at first");
    world.proxy.cutStreams();
    await change(cast, 1);
    await opened.assertCurrent("after a cut");
    // Events still arrive, but the requests that they cause fail.
    world.proxy.fate = (line) => (line.startsWith("GET /v1/events") ? "pass" : "break");
    await change(cast, 2);
    await opened.pages[0]!.waitForTimeout(SENT_MS);
    world.proxy.fate = () => "pass";
    await opened.assertCurrent("after failures");
    world.proxy.fate = () => "break";
    world.proxy.cutStreams();
    await opened.pages[0]!.getByText("Reconnecting…").waitFor();
    await change(cast, 3);
    world.proxy.fate = () => "pass";
    await opened.assertCurrent("after an outage");
    opened.assertQuiet();
  },
});

test("a page shows what the API lists after a restart of the server", { skip: noChromium }, async (t) => {
  const config = await testConfig(t);
  const before = await startOn(t, config);
  const cast = await gather(before);
  const proxy = await startProxy(t, before);
  const { page, guard } = await openPage(await openBrowser(t), proxy.url);
  const { bob } = cast.contacts;
  const place: Place = { id: bob.id, conversationId: bob.conversation_id, tab: "Messages" };
  await begin(page, proxy.url, cast.ann, place);
  await assertCurrent(before, cast.ann, page, place, "before");
  const changing = change(cast, 1);
  await find(page, "first, edit 1").waitFor();
  await changing;
  await before.app.stop();
  await page.getByText("Reconnecting…").waitFor();
  const after = await startOn(t, config);
  proxy.port = after.app.port();
  await change({ ...cast, server: after }, 2);
  await assertCurrent(after, cast.ann, page, place, "after");
  assert.deepEqual(guard.complaints, []);
});
