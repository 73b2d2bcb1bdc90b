// Search for messages, in all conversations and in one, and opening a hit.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Locator, Page } from "playwright-core";
import { type TestUser, upload } from "../support/app.ts";
import { noChromium } from "../support/engines/chromium.ts";
import { eventually } from "../support/files-on-disk.ts";
import { read, send } from "../support/people.ts";
import { assertAccessible, assertNoSidewaysScroll, focused, makeContact, openFiles } from "./browser.ts";
import { assertQuiet, gather, makeGroup } from "./in-groups.ts";
import { gate } from "./proxy.ts";
import { testScenes, type World } from "./scenes.ts";
import { find, introduce, say, shownTexts } from "./talk.ts";

const field = (page: Page) => page.getByLabel("Search contacts, groups, messages and files");
const fieldHere = (page: Page) => page.getByRole("searchbox", { name: "Search messages", exact: true });
const list = (page: Page) => page.getByRole("listbox", { name: "Messages found" });
const hits = (page: Page) => list(page).getByRole("option");
const status = (page: Page, text: string) => page.getByRole("status").filter({ hasText: text });

/** Creates Ann and Bob with this many messages, and then opens Ann's page. */
async function settle(world: World, count: number, toText: (at: number) => string) {
  const { server } = world;
  const bob = await server.user();
  let id = "";
  const ids: string[] = [];
  const ann = await world.arrive(async (user) => {
    id = await introduce(server, user, bob);
    for (let at = 0; at < count; at++) ids.push((await say(server, at % 2 ? user : bob, id, toText(at))).id);
  });
  await ann.page.getByRole("option", { name: "Bob" }).waitFor();
  return { ...ann, bob, id, ids };
}

/** Waits until a message is centred, as far as the ends of the conversation allow. */
async function centred(page: Page, text: string): Promise<void> {
  const row = await find(page, text).elementHandle();
  await page.waitForFunction((row) => {
    const box = row!.closest(".messages")!;
    const [inner, outer] = [row!.getBoundingClientRect(), box.getBoundingClientRect()];
    return Math.abs((inner.top + inner.bottom) / 2 - (outer.top + outer.bottom) / 2) < 2;
  }, row);
}

const marked = (within: Locator) => within.locator("mark").allTextContents();

testScenes("search for messages", {
  "a hit far above opens its conversation there, one step from the newest messages": async (world) => {
    const { server } = world;
    const toText = (at: number) => (at === 20 ? "Where is the Café needle, please?" : `line ${at}`);
    const { page, guard, user, bob, id } = await settle(world, 160, toText);
    const notes = (await (await fetch(`${server.url}/v1/me`, { headers: user.headers })).json()) as {
      conversation_id: string;
    };
    await say(server, user, notes.conversation_id, "needle in my notes");
    await makeContact(server, user, "needler");
    await field(page).fill("cafe NEED");
    await hits(page).nth(0).waitFor();
    assert.equal(await hits(page).count(), 1);
    assert.deepEqual(await marked(hits(page)), ["Café", "need"]);
    assert.match((await hits(page).textContent())!, /^.?Bob.*Where is the Café needle, please\?$/);
    // From all conversations, newest first, below the contacts.
    await field(page).fill("need");
    await hits(page).nth(1).waitFor();
    assert.match((await hits(page).nth(0).textContent())!, /Notes to self.*needle in my notes/);
    await page.getByRole("option", { name: "needler" }).waitFor();
    await hits(page).nth(1).click();
    await page.getByRole("heading", { name: "Bob" }).waitFor();
    await find(page, "needle").and(focused(page)).waitFor();
    await find(page, "needle").and(page.locator(".marked")).waitFor({ state: "attached" });
    await centred(page, "needle");
    // A new message does not appear among the loaded ones.
    await say(server, bob, id, "the newest");
    await page.getByRole("status").filter({ hasText: "the newest" }).waitFor();
    assert.ok(!(await shownTexts(page)).includes("the newest"));
    await page.getByRole("button", { name: "Go to the newest message" }).click();
    await find(page, "the newest").waitFor();
    // Again from the other end, and then in the notes.
    await hits(page).nth(1).click();
    await find(page, "needle").and(focused(page)).waitFor();
    await centred(page, "needle");
    await hits(page).nth(0).click();
    await page.getByRole("heading", { name: "Notes to self" }).waitFor();
    await find(page, "needle in my notes").and(focused(page)).waitFor();
    await page.goBack();
    await page.getByRole("heading", { name: "Bob" }).waitFor();
    await field(page).press("Escape");
    await list(page).waitFor({ state: "detached" });
    assert.equal(await field(page).inputValue(), "");
    assert.deepEqual(guard.complaints, []);
  },

  "search in one conversation works by the keyboard alone": async (world) => {
    const toText = (at: number) => (at % 40 === 5 ? `apple ${at}` : `line ${at}`);
    const { page, guard } = await settle(world, 130, toText);
    await page.getByRole("option", { name: "Bob" }).click();
    await find(page, "line 129").waitFor();
    await page.keyboard.press("Control+f");
    await fieldHere(page).and(focused(page)).waitFor();
    await page.keyboard.type("app");
    await status(page, "4 found").waitFor();
    // Results of the earlier query "ap" may still be shown.
    const isApp = async () => String(await marked(list(page))) === "app,app,app,app";
    assert.ok(await eventually(isApp), String(await marked(list(page))));
    assert.match((await hits(page).nth(0).textContent())!, /You.*apple 125/);
    assert.match((await hits(page).nth(3).textContent())!, /You.*apple 5$/);
    // Enter goes to the older hit, and the focus stays in the field.
    await page.keyboard.press("Enter");
    await status(page, "1 of 4").waitFor();
    await list(page).waitFor({ state: "detached" });
    await page.keyboard.press("Enter");
    await page.keyboard.press("Enter");
    await status(page, "3 of 4").waitFor();
    await centred(page, "apple 45");
    await page.keyboard.press("Shift+Enter");
    await status(page, "2 of 4").waitFor();
    await centred(page, "apple 85");
    await fieldHere(page).and(focused(page)).waitFor();
    // Wraps around at both ends.
    for (const text of ["3 of 4", "4 of 4", "1 of 4"]) {
      await page.getByRole("button", { name: "Older match" }).press("Enter");
      await status(page, text).waitFor();
    }
    await page.getByRole("button", { name: "Newer match" }).press("Enter");
    await status(page, "4 of 4").waitFor();
    await page.getByRole("button", { name: "Newer match" }).and(focused(page)).waitFor();
    // Escape closes the search and stays at the message.
    await page.keyboard.press("Escape");
    await fieldHere(page).waitFor({ state: "detached" });
    await find(page, "apple 5").and(focused(page)).waitFor();
    // Enter chooses from the list.
    await page.keyboard.press("Control+f");
    await page.keyboard.type("apple");
    await status(page, "4 found").waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await find(page, "apple 85").and(focused(page)).waitFor();
    await centred(page, "apple 85");
    await page.keyboard.press("Escape");
    await fieldHere(page).waitFor({ state: "detached" });
    await find(page, "apple 85").and(focused(page)).waitFor();
    // Nothing was chosen, so the focus returns to the button.
    await page.getByRole("button", { name: "Search messages", pressed: false }).press("Enter");
    await page.keyboard.type("pear");
    await status(page, "None found").waitFor();
    await page.keyboard.press("Enter");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Search messages", pressed: false }).and(focused(page)).waitFor();
    // Also on the left side.
    await field(page).fill("apple");
    await hits(page).nth(3).waitFor();
    await field(page).press("ArrowDown");
    await page.keyboard.press("End");
    await page.keyboard.press("Enter");
    await find(page, "apple 5").and(focused(page)).waitFor();
    await centred(page, "apple 5");
    await list(page).press("Escape");
    await field(page).and(focused(page)).waitFor();
    assert.equal(await field(page).inputValue(), "");
    assert.deepEqual(guard.complaints, []);
  },

  "closing the search leaves the reader at the last match, also during a load": async (world) => {
    const toText = (at: number) => (at === 5 || at === 225 ? `apple ${at}` : `line ${at}`);
    const { page, guard } = await settle(world, 230, toText);
    await page.getByRole("option", { name: "Bob" }).click();
    await find(page, "line 229").waitFor();
    // From the newer hit to the older one, first before that is loaded, then while others load in its place.
    for (let round = 0; round < 2; round++) {
      await page.keyboard.press("Control+f");
      await page.keyboard.type("apple");
      await status(page, "2 found").waitFor();
      const released = Promise.withResolvers<void>();
      await page.route(/around=/, (route) => released.promise.then(() => route.continue()).catch(() => {}));
      for (const text of ["1 of 2", "2 of 2"]) {
        await page.keyboard.press("Enter");
        await status(page, text).waitFor();
      }
      await page.keyboard.press("Escape");
      await fieldHere(page).waitFor({ state: "detached" });
      const answered = page.waitForResponse(/around=/);
      released.resolve();
      await (await answered).finished();
      await page.evaluate(
        () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
      );
      await find(page, "apple 5").and(focused(page)).waitFor();
      await page.unrouteAll({ behavior: "wait" });
    }
    assert.deepEqual(guard.complaints, []);
  },

  "a hit deleted or changed since the search is handled": async (world) => {
    const { server, proxy } = world;
    const { page, guard, user, ids } = await settle(world, 120, (at) =>
      at < 60 ? `pear ${at}` : `line ${at}`,
    );
    const change = async (method: string, at: number, fields?: object) => {
      const headers = { ...user.headers, "content-type": "application/json" };
      const path = `${server.url}/v1/messages/${ids[at]}`;
      const response = await fetch(path, { method, headers, body: fields ? JSON.stringify(fields) : null });
      assert.ok(response.ok);
    };
    await field(page).fill("pear 1");
    await hits(page).nth(10).waitFor();
    // Its event removes it from the list, and an edit appears.
    await change("DELETE", 11);
    await change("PUT", 13, { text: "pear 1000" });
    await hits(page).filter({ hasText: "pear 11" }).waitFor({ state: "detached" });
    await hits(page).filter({ hasText: "pear 1000" }).waitFor();
    // A deleted hit whose event has not arrived is reported, and the page shows its position.
    proxy.fate = (line) => (line.startsWith("GET /v1/events") ? "break" : "pass");
    proxy.cutStreams();
    await change("DELETE", 15);
    await hits(page).filter({ hasText: "pear 15" }).click();
    await status(page, "This message was deleted.").waitFor();
    await find(page, "pear 16").waitFor();
    // The page no longer looks for it.
    await hits(page).filter({ hasText: "pear 19" }).click();
    await find(page, "pear 19").and(focused(page)).waitFor();
    await centred(page, "pear 19");
    assert.deepEqual(guard.complaints, []);
  },

  "late search results are dropped, and results of both searches stay": async (world) => {
    const { proxy } = world;
    const { page, guard } = await settle(world, 4, (at) => ["plum tree", "plum", "apple tree", "apple"][at]!);
    await field(page).fill("tree");
    await hits(page).nth(1).waitFor();
    const late = gate();
    const isLate = (line: string) => line.includes("q=tree+plum") || line.includes("q=plum");
    proxy.fate = (line) => (line.startsWith("GET /v1/messages") && isLate(line) ? late.passed : "pass");
    const asked = page.waitForRequest((request) => request.url().includes("q=tree+plum"));
    await field(page).fill("tree plum");
    await asked;
    // Until the answer arrives, only results that match the new query stay.
    await hits(page).filter({ hasText: "apple tree" }).waitFor({ state: "detached" });
    assert.equal(await hits(page).count(), 1);
    assert.deepEqual(await marked(hits(page)), ["plum", "tree"]);
    await field(page).fill("apple");
    await hits(page).nth(1).waitFor();
    late.open();
    await field(page).fill("apple t");
    await hits(page).filter({ hasText: "apple tree" }).waitFor();
    assert.equal(await hits(page).filter({ hasText: "plum" }).count(), 0);
    // A query without words sends no request.
    const lines: string[] = [];
    proxy.fate = (line) => {
      if (/^GET .v1.messages.*q=%3F/.test(line)) lines.push(line);
      return "pass";
    };
    await field(page).fill("?!");
    await list(page).waitFor({ state: "detached" });
    assert.deepEqual(lines, []);
    assert.deepEqual(guard.complaints, []);
  },

  "an empty page loads the next one, a busy server is retried, and a failure is reported": async (world) => {
    const { page, guard } = await settle(world, 3, (at) => `fig ${at}`);
    let asked = 0;
    let isBusy = false;
    await page.route(/\/v1\/messages\?.*q=/, async (route) => {
      asked++;
      const { origin } = new URL(route.request().url());
      const link = `<${origin}/v1/messages?q=fig&limit=100>; rel="next"`;
      const json = { data: [], has_more: true };
      const unavailable = { type: "about:blank", status: 503, code: "unavailable", detail: "Not made yet." };
      if (asked === 1) await route.fulfill({ json, headers: { link } });
      else if (isBusy)
        await route.fulfill({
          status: 503,
          body: JSON.stringify(unavailable),
          headers: { "retry-after": "0", "content-type": "application/problem+json" },
        });
      else await route.fallback();
    });
    await field(page).fill("fig");
    await hits(page).nth(2).waitFor();
    assert.equal(asked, 2);
    isBusy = true;
    await field(page).fill("fig 1");
    const failure = page.getByRole("alert").filter({ hasText: "The server is busy." });
    await failure.waitFor();
    assert.equal(await hits(page).count(), 0);
    isBusy = false;
    await failure.getByRole("button", { name: "Try again" }).click();
    await hits(page).nth(0).waitFor();
    assert.equal(await hits(page).count(), 1);
    await page.unrouteAll();
    await field(page).fill("a b c d e f g h i j k l m n o p q r s t u");
    const refusal = page.getByRole("alert").filter({ hasText: "Search for at most 20 words." });
    await refusal.waitFor();
    assert.equal(await refusal.getByRole("button").count(), 0, "a retry would be refused, too");
    assert.deepEqual(guard.complaints, []);
  },

  "files are found by their names": async (world) => {
    const { server } = world;
    const { page, guard, user, bob, id } = await settle(world, 1, () => "Files below");
    const send = async (who: TestUser, name: string) => {
      const answer = await upload(server.url, who, new File([name], name), { conversation_id: id });
      assert.equal(answer.status, 201);
    };
    for (const name of ["Report 2024.txt", "report-2025.txt", "picture.bin"]) await send(user, name);
    await page.getByRole("option", { name: "Bob" }).click();
    await openFiles(page);
    const cards = page.locator(".card:not(.add-card)");
    await cards.nth(2).waitFor();
    await page.getByRole("button", { name: "Search files" }).click();
    await page.keyboard.type("2025 rep");
    await status(page, "1 found").waitFor();
    assert.equal(await cards.count(), 1);
    await page.getByRole("button", { name: "Open report-2025.txt" }).waitFor();
    await assertAccessible(page, "the search of files");
    // A new file appears only if it matches.
    await send(bob, "picture-2.bin");
    await send(bob, "2025 reply.txt");
    await status(page, "New here:").waitFor();
    await status(page, "2 found").waitFor();
    assert.equal(await cards.filter({ hasText: "picture" }).count(), 0);
    await page.getByRole("searchbox", { name: "Search files" }).fill("nothing");
    await page.getByText("Nothing matches “nothing”.").waitFor();
    await page.keyboard.press("Escape");
    await cards.nth(4).waitFor();
    await page.getByRole("button", { name: "Search files", pressed: false }).and(focused(page)).waitFor();
    assert.deepEqual(guard.complaints, []);
  },

  "search fits and is accessible, on a desktop and on a phone": async (world) => {
    const long = "averylongwordwithoutanyplacetobreakit".repeat(6);
    const { page, guard } = await settle(world, 60, (at) => `fig ${at} ${at % 3 ? "" : long}`);
    for (const [what, viewport] of [
      ["desk", { width: 1280, height: 800 }],
      ["phone", { width: 390, height: 760 }],
    ] as const) {
      await page.setViewportSize(viewport);
      if (what === "phone") await page.getByRole("button", { name: "Back to contacts" }).click();
      await field(page).fill("fig");
      await hits(page).nth(5).waitFor();
      await assertNoSidewaysScroll(page, what);
      await assertAccessible(page, `the hits, ${what}`);
      await hits(page).nth(3).click();
      await find(page, "fig 56").and(focused(page)).waitFor();
      await page.keyboard.press("Control+f");
      await page.keyboard.type("fig");
      await status(page, "60 found").waitFor();
      await assertNoSidewaysScroll(page, what);
      await assertAccessible(page, `the search in the conversation, ${what}`);
      await page.keyboard.press("Enter");
      await status(page, "1 of 60").waitFor();
      const row = await page.locator(".search-bar").boundingBox();
      assert.ok(row!.height < 60, `the search is ${row!.height} pixels high`);
      await assertAccessible(page, `a hit, ${what}`);
      await page.keyboard.press("Escape");
    }
    assert.deepEqual(guard.complaints, []);
  },
});

test("hits in a group name their senders, and a user who left finds nothing", {
  skip: noChromium,
}, async (t) => {
  const { server, people } = await gather(t);
  const [ann, bob, cat] = people;
  const group = await makeGroup(server, people, "Climbers");
  await say(server, bob.user, group.conversation_id, "Rope from Bob");
  await say(server, ann.user, group.conversation_id, "Rope from Ann");
  const { page } = ann;
  await field(page).fill("rope");
  await hits(page).nth(1).waitFor();
  assert.match((await hits(page).nth(0).textContent())!, /Climbers.*You: Rope from Ann/);
  assert.match((await hits(page).nth(1).textContent())!, /Climbers.*Bob: Rope from Bob/);
  await hits(page).nth(1).click();
  await find(page, "Rope from Bob").and(focused(page)).waitFor();
  await page.getByRole("button", { name: "Search messages" }).click();
  await fieldHere(page).fill("rope");
  const here = page.getByRole("search").getByRole("option");
  await here.nth(1).waitFor();
  assert.match((await here.nth(0).textContent())!, /You.*Rope from Ann/);
  assert.match((await here.nth(1).textContent())!, /Bob.*Rope from Bob/);
  const members = await read<{ data: { id: string; username: string }[] }>(
    send(server, ann.user, "GET", `/v1/groups/${group.id}/members`),
    200,
  );
  const { id } = members.data.find(({ username }) => username === "cat")!;
  const removal = await send(server, ann.user, "DELETE", `/v1/groups/${group.id}/members/${id}`);
  assert.equal(removal.status, 204);
  await field(cat.page).fill("rope");
  await cat.page.getByText("Nothing matches “rope”.").waitFor();
  assertQuiet(people);
});
