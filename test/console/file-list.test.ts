// The list of files: order, types, views, senders, and concurrent changes.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { fillFiles } from "../../bench/rows.ts";
import { startApp } from "../support/app.ts";
import { noChromium, openBrowser } from "../support/engines/chromium.ts";
import {
  assertAccessible,
  assertNoSidewaysScroll,
  focused,
  hide,
  openFiles,
  openPage,
  signIn,
} from "./browser.ts";
import { assertShown, assertStart, numbered, opener, openNotes, remove, send } from "./in-files.ts";
import { PNG } from "./pictures.ts";
import { holdAnswers } from "./proxy.ts";
import { testScenes } from "./scenes.ts";
import { introduce, toUsername } from "./talk.ts";

const sortBy = (page: Page, label: string) => page.getByLabel("Sort files").selectOption(label);

testScenes("the list of files", {
  "is sorted and filtered, and remembers its view": async ({ server, proxy, arrive }) => {
    const { page, user, guard } = await arrive((user) =>
      send(server, user, [
        ["file 10.txt", "a".repeat(3000)],
        ["file 2.txt", "a"],
        ["Picture.png", PNG],
        ["song.mp3", "ID3\0"],
        ["film.mp4", "a\0"],
        ["main.ts", "let a"],
        ["rest.bin", "a".repeat(20)],
      ]),
    );
    await openNotes(page);
    const newest = [
      "rest.bin",
      "main.ts",
      "film.mp4",
      "song.mp3",
      "Picture.png",
      "file 2.txt",
      "file 10.txt",
    ];
    await assertShown(page, newest);
    await page.getByText(/^7 files · 3/).waitFor();
    await page.getByRole("rowheader", { name: "Today" }).waitFor();
    await sortBy(page, "Oldest");
    await assertShown(page, newest.toReversed());
    await sortBy(page, "Name");
    const byName = [
      "file 2.txt",
      "file 10.txt",
      "film.mp4",
      "main.ts",
      "Picture.png",
      "rest.bin",
      "song.mp3",
    ];
    await assertShown(page, byName);
    assert.equal(await page.getByRole("rowheader").count(), 0);
    await sortBy(page, "Size");
    await assertStart(page, ["file 10.txt"]);
    await sortBy(page, "Name");
    for (const [type, names] of Object.entries({
      Pictures: ["Picture.png"],
      Video: ["film.mp4"],
      Audio: ["song.mp3"],
      Documents: ["file 2.txt", "file 10.txt", "main.ts"],
      Other: ["rest.bin"],
      All: byName,
    })) {
      await page.getByText(type, { exact: true }).click();
      await assertShown(page, names);
      await page.getByText(new RegExp(`^${names.length} files? ·`)).waitFor();
    }
    for (const view of ["grid", "list"]) {
      await assertAccessible(page, `the files as a ${view}`);
      if (view === "grid") await page.getByRole("button", { name: "Show as list" }).click();
    }
    await signIn(page, proxy.url, user.token);
    await openNotes(page);
    await page.getByRole("button", { name: "Show as grid" }).waitFor();
    await page.locator(".files.list .card").first().waitFor();
    await page.setViewportSize({ width: 390, height: 760 });
    await assertNoSidewaysScroll(page, "the list of files on a phone");
    await assertAccessible(page, "the list of files on a phone");
    assert.deepEqual(guard.complaints, []);
  },

  "shows files under the heading of their day": async ({ server, arrive }) => {
    const { page, user, guard } = await arrive();
    fillFiles(server.config.dataFolder, await toUsername(server, user), 1, 2);
    await send(server, user, [["new.txt", "a"]]);
    await openNotes(page);
    const headings = page.getByRole("rowheader");
    await headings.nth(1).waitFor();
    assert.equal(await headings.nth(0).textContent(), "Today");
    assert.match((await headings.nth(1).textContent())!, /2023/);
    assert.equal(await headings.count(), 2);
    await sortBy(page, "Oldest");
    await headings.nth(0).filter({ hasText: "2023" }).waitFor();
    assert.deepEqual(guard.complaints, []);
  },

  "shows the sender, and offers rename and delete only to the sender": async ({ server, arrive }) => {
    const { page, user, guard } = await arrive();
    const bob = await server.user();
    const conversation_id = await introduce(server, user, bob);
    await send(server, user, [["mine.txt", "a"]], { conversation_id });
    await send(server, bob, [["theirs.txt", "a"]], { conversation_id });
    await page.getByRole("option", { name: "Bob" }).click();
    await openFiles(page);
    // A file that arrives while the page is open also shows its sender.
    await page.locator(".card").nth(1).waitFor();
    await send(server, bob, [["theirs, too.txt", "a"]], { conversation_id });
    await send(server, user, [["mine, too.txt", "a"]], { conversation_id });
    for (const [name, sender] of [
      ["mine.txt", "You"],
      ["theirs.txt", "Bob"],
      ["theirs, too.txt", "Bob"],
      ["mine, too.txt", "You"],
    ]) {
      const card = page.locator(".card").filter({ hasText: name! });
      await card.getByText(sender!, { exact: true }).waitFor();
      await card.hover();
      await card.getByRole("link", { name: `Download ${name}` }).waitFor();
      const offered = sender === "You" ? 1 : 0;
      for (const action of ["Delete", "Rename file"])
        assert.equal(await card.getByRole("button", { name: `${action} ${name}` }).count(), offered, name);
    }
    assert.deepEqual(guard.complaints, []);
  },

  "is right after a late page, whatever changed since its request": async ({ server, proxy, arrive }) => {
    const { page, user, guard } = await arrive();
    const ids = await send(server, user, numbered(60));
    const late = holdAnswers(proxy, /starting_after/);
    await openNotes(page);
    await page.getByText(/^Loading… 48 files · .* so far$/).waitFor();
    await sortBy(page, "Name");
    await page.getByRole("button", { name: "Open 12.txt" }).waitFor();
    assert.equal(await page.getByRole("button", { name: "Open 0.txt", exact: true }).count(), 0);
    await late.arrived;
    await send(server, user, [["0 new.txt", "a"]]);
    await page.getByRole("button", { name: "Open 0 new.txt" }).waitFor();
    await remove(server, user, ids[1]!);
    await fetch(`${server.url}/v1/attachments/${ids[2]}`, {
      method: "PUT",
      headers: user.headers,
      body: new URLSearchParams({ filename: "2 b.txt" }),
    });
    await remove(server, user, ids[59]!);
    await page.getByText(/^Loading… 48 files · .* so far$/).waitFor();
    late.release();
    await page.getByText(/^59 files · /).waitFor();
    await assertStart(page, ["0 new.txt", "0.txt", "2 b.txt", "3.txt"]);
    assert.deepEqual(guard.complaints, []);
  },
});

testScenes("the list of files while the user scrolls it", {
  "keeps its scroll position while files come and go above, and on reload": async ({
    server,
    proxy,
    arrive,
  }) => {
    const { page, user, guard } = await arrive();
    fillFiles(server.config.dataFolder, await toUsername(server, user), 1000, 300);
    await openNotes(page);
    await page.getByText(/^300 files/).waitFor();
    await page.getByRole("button", { name: "Show as list" }).click();
    await page.locator(".files").evaluate((box) => box.scrollTo(0, 6000));
    const first = await firstInView(page);
    const [added] = await send(server, user, [["new.txt", "a"]]);
    await page.getByText(/^301 files/).waitFor();
    assert.deepEqual(await firstInView(page), first);
    await remove(server, user, added!);
    await page.getByText(/^300 files/).waitFor();
    assert.deepEqual(await firstInView(page), first);
    // A window hidden from the start has no events, so it reloads the whole list.
    await page.addInitScript(() =>
      Object.defineProperty(document, "hidden", { value: true, configurable: true }),
    );
    await signIn(page, proxy.url, user.token);
    await openNotes(page);
    await page.getByText(/^300 files/).waitFor();
    await page.locator(".files").evaluate((box) => box.scrollTo(0, 6000));
    assert.deepEqual(await firstInView(page), first);
    await send(server, user, [["meanwhile.txt", "a"]]);
    await hide(page, false);
    await page.getByText(/^301 files/).waitFor();
    assert.deepEqual(await firstInView(page), first);
    assert.deepEqual(guard.complaints, []);
  },

  "is one tab stop, and the arrow keys move inside": async ({ server, arrive }) => {
    const { page, guard } = await arrive((user) => send(server, user, numbered(8)));
    await openNotes(page);
    await page.getByRole("button", { name: "Open 0.txt" }).waitFor();
    const isAt = (name: string) => opener(page, name).and(focused(page)).waitFor();
    await page.getByRole("button", { name: "Select files" }).focus();
    await page.keyboard.press("Tab");
    await isAt("7.txt");
    const columns = await page.locator(".card").evaluateAll((cards) => {
      const tops = cards.map((card) => card.getBoundingClientRect().top);
      return tops.filter((top) => top === Math.min(...tops)).length;
    });
    for (const [key, at] of [
      ["ArrowRight", 6],
      ["ArrowDown", 6 - columns],
      ["ArrowUp", 6],
      ["End", 0],
      ["ArrowRight", 0],
      ["Home", 7],
      ["ArrowLeft", 7],
      ["PageDown", undefined],
      ["PageUp", undefined],
    ] as const) {
      await page.keyboard.press(key);
      if (at !== undefined) await isAt(`${at}.txt`);
    }
    await isAt("7.txt");
    // Tab reaches the file's actions, then leaves the list.
    for (const name of ["Rename file", "Copy the link of", "Download", "Delete"]) {
      await page.keyboard.press("Tab");
      await page.locator(`:focus[aria-label="${name} 7.txt"]`).waitFor();
    }
    await page.keyboard.press("Tab");
    assert.equal(await page.locator(".card :focus").count(), 0);
    assert.deepEqual(guard.complaints, []);
  },
});

/** Returns the first file in view and its position. */
function firstInView(page: Page): Promise<[string, number]> {
  return page.locator(".files").evaluate(async (box) => {
    await new Promise(requestAnimationFrame);
    await new Promise(requestAnimationFrame);
    const { top } = box.getBoundingClientRect();
    const cards = [...box.querySelectorAll(".card")].map((card) => ({
      card,
      ...card.getBoundingClientRect().toJSON(),
    }));
    const first = cards.filter((each) => each.bottom > top).sort((a, b) => a.top - b.top)[0]!;
    return [first.card.id, Math.round(first.top - top)] as [string, number];
  });
}

test("a token without messages:read sees who sent a file", { skip: noChromium }, async (t) => {
  const server = await startApp(t);
  const ann = await server.user({
    scopes: ["contacts:read", "contacts:write", "attachments:read", "attachments:write", "events:read"],
  });
  const bob = await server.user();
  const conversation_id = await introduce(server, ann, bob);
  const { page, guard } = await openPage(await openBrowser(t), server.url);
  await signIn(page, server.url, ann.token);
  await page.getByRole("option", { name: "Bob" }).click();
  await openFiles(page);
  await page.getByRole("heading", { name: "Drop files here" }).waitFor();
  await send(server, bob, [["theirs.txt", "a"]], { conversation_id });
  await page.locator(".card").getByText("Bob", { exact: true }).waitFor();
  assert.deepEqual(guard.complaints, []);
});
