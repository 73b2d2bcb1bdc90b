// Settings of a conversation: pinned, archived and muted.
import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import type { TestApp, TestUser } from "../support/app.ts";
import { eventually } from "../support/files-on-disk.ts";
import { assertAccessible, assertNoSidewaysScroll, choose, makeContact, signIn } from "./browser.ts";
import { testScenes, type World } from "./scenes.ts";
import { introduce, say } from "./talk.ts";

/** Signs Ann in, with a message from Bob and a later one to Cleo. */
async function settle({ server, arrive }: World) {
  const ann = await arrive();
  const bob = await server.user();
  const bobs = await introduce(server, ann.user, bob);
  const { conversation_id: cleos } = await makeContact(server, ann.user, "nobody", "Cleo");
  await say(server, bob, bobs, "from Bob");
  await say(server, ann.user, cleos, "to Cleo");
  await rows(ann.page).first().filter({ hasText: "to Cleo" }).waitFor();
  return { ...ann, bob, bobs, cleos };
}

const rows = (page: Page) => page.getByRole("option");
const dialog = (page: Page) => page.getByRole("dialog", { name: "Conversation settings" });
const field = (page: Page, name: RegExp) => dialog(page).getByRole("checkbox", { name });

async function openSettings(page: Page, name: string): Promise<void> {
  await page.getByRole("option", { name }).click();
  await page.getByRole("heading", { name, level: 1 }).waitFor();
  await choose(page, "Conversation settings");
  await dialog(page).getByRole("combobox", { name: "Muted" }).waitFor();
}

async function change(server: TestApp, user: TestUser, id: string, settings: object): Promise<void> {
  const response = await fetch(`${server.url}/v1/conversations/${id}`, {
    method: "PUT",
    headers: { ...user.headers, "content-type": "application/json" },
    body: JSON.stringify(settings),
  });
  assert.equal(response.status, 200);
}

async function mutedUntil(server: TestApp, { headers }: TestUser, id: string): Promise<number | null> {
  const response = await fetch(`${server.url}/v1/conversations/${id}`, { headers });
  return ((await response.json()) as { muted_until: number | null }).muted_until;
}

const show = (page: Page, list: string) =>
  page.getByRole("group", { name: "Which contacts are listed" }).getByText(list, { exact: true }).click();

testScenes("the settings of a conversation", {
  "a pinned conversation is above those with newer messages": async (world) => {
    const { server } = world;
    const { page, guard, user, cleos, bobs } = await settle(world);
    await openSettings(page, "Bob");
    await field(page, /^Pinned/).check();
    await page.keyboard.press("Escape");
    await rows(page)
      .first()
      .filter({ hasText: /Bob.*Pinned.*from Bob/ })
      .waitFor();
    await say(server, user, cleos, "again to Cleo");
    await rows(page).nth(1).filter({ hasText: "again to Cleo" }).waitFor();
    assert.equal(await rows(page).count(), 2);
    // A change from another device appears here.
    await change(server, user, bobs, { is_pinned: false });
    await rows(page).first().filter({ hasText: "again to Cleo" }).waitFor();
    assert.equal(await page.getByText("Pinned").count(), 0);
    assert.deepEqual(guard.complaints, []);
  },

  "a changed setting stays as the server accepted it until its event arrives": async (world) => {
    const { proxy, server } = world;
    const { page, guard, user, bobs } = await settle(world);
    await openSettings(page, "Bob");
    proxy.fate = (line) => (/upgrade$|^GET \/v1\/events/.test(line) ? "break" : "pass");
    proxy.cutStreams();
    for (const name of [/^Pinned/, /^Archived/]) {
      const answered = page.waitForResponse((response) => response.request().method() === "PUT");
      await field(page, name).check();
      await (await answered).finished();
    }
    assert.ok(await field(page, /^Pinned/).isChecked());
    proxy.fate = () => "pass";
    await page.evaluate(() => dispatchEvent(new Event("online")));
    await page.getByRole("option", { name: /Bob/ }).waitFor({ state: "detached" });
    assert.ok(await field(page, /^Pinned/).isChecked());
    // A later change of another device counts.
    await change(server, user, bobs, { is_pinned: false });
    await field(page, /^Pinned/)
      .and(page.locator(":not(:checked)"))
      .waitFor();
    assert.ok(await field(page, /^Archived/).isChecked());
    assert.deepEqual(guard.complaints, []);
  },

  "a pinned conversation is at the top at once, however old its messages": async (world) => {
    const { server } = world;
    const { page, guard } = await world.arrive(async (user) => {
      for (let at = 0; at < 105; at++) {
        const { conversation_id } = await makeContact(server, user, `friend-${at}`);
        await say(server, user, conversation_id, `hello ${at}`);
        if (at === 0) await change(server, user, conversation_id, { is_pinned: true });
      }
    });
    await rows(page).first().filter({ hasText: "hello 0" }).waitFor();
    await rows(page).nth(1).filter({ hasText: "hello 104" }).waitFor();
    await page.getByRole("listbox").focus();
    await page.keyboard.press("End");
    // By now the rest is loading.
    await page.locator("[aria-setsize='105']").first().waitFor();
    await page.keyboard.press("End");
    await page
      .getByRole("option")
      .filter({ hasText: "hello 1" })
      .and(page.locator("[aria-posinset='105']"))
      .waitFor();
    assert.deepEqual(guard.complaints, []);
  },

  "an archived conversation stays in the archive when messages arrive": async (world) => {
    const { server } = world;
    const { page, guard, user, bob, bobs } = await settle(world);
    await show(page, "Archived");
    await page.getByText("You have no archived conversations.").waitFor();
    await show(page, "Contacts");
    await openSettings(page, "Bob");
    // The unread message becomes read.
    await page.waitForFunction(() => document.title === "Bob · Parley");
    await field(page, /^Archived/).check();
    await page.keyboard.press("Escape");
    await rows(page).filter({ hasText: "Bob" }).waitFor({ state: "detached" });
    await page.getByRole("link", { name: "Notes to self" }).click();
    await say(server, bob, bobs, "more of Bob");
    await page.waitForFunction(() => document.title.startsWith("(1)"));
    assert.deepEqual(await rows(page).count(), 1);
    await show(page, "Archived");
    await rows(page)
      .filter({ hasText: /Bob.*more of Bob.*1 unread/ })
      .waitFor();
    assert.deepEqual(await rows(page).count(), 1);
    // Search finds it, too.
    await page.getByRole("searchbox").fill("Bob");
    await rows(page)
      .filter({ hasText: /Bob.*@user-/ })
      .waitFor();
    await page.getByRole("searchbox").fill("");
    await show(page, "Contacts");
    await change(server, user, bobs, { is_archived: false });
    await rows(page).first().filter({ hasText: "more of Bob" }).waitFor();
    assert.deepEqual(guard.complaints, []);
  },

  "contacts appear even if a whole page of conversations is archived": async (world) => {
    const { server } = world;
    const { page, guard } = await world.arrive(async (user) => {
      await makeContact(server, user, "ada");
      for (let at = 0; at < 101; at++) {
        const { conversation_id } = await makeContact(server, user, `friend-${at}`);
        await say(server, user, conversation_id, `hello ${at}`);
        await change(server, user, conversation_id, { is_archived: true });
      }
    });
    await rows(page).filter({ hasText: "ada" }).waitFor();
    assert.equal(await rows(page).count(), 1);
    assert.deepEqual(guard.complaints, []);
  },

  "a muted conversation counts messages, but not in the title": async (world) => {
    const { server } = world;
    const { page, guard, user, bob, bobs } = await settle(world);
    await page.waitForFunction(() => document.title === "(1) Parley");
    await openSettings(page, "Bob");
    await page.waitForFunction(() => document.title === "Bob · Parley");
    const muted = dialog(page).getByRole("combobox", { name: "Muted" });
    await muted.selectOption("For 8 hours");
    await dialog(page)
      .getByRole("option", { name: /^Until / })
      .waitFor({ state: "attached" });
    assert.ok(await eventually(async () => (await mutedUntil(server, user, bobs)) !== null));
    const left = (await mutedUntil(server, user, bobs))! - Date.now() / 1000;
    assert.ok(left > 7.9 * 3600 && left <= 8 * 3600, `${left} seconds`);
    await muted.selectOption("Always");
    await dialog(page)
      .getByRole("option", { name: /^Until / })
      .waitFor({ state: "detached" });
    assert.ok(await eventually(async () => (await mutedUntil(server, user, bobs)) === 99_999_999_999));
    await page.keyboard.press("Escape");
    await page.getByRole("link", { name: "Notes to self" }).click();
    await page.waitForFunction(() => document.title === "Notes to self · Parley");
    await say(server, bob, bobs, "psst");
    await rows(page)
      .first()
      .filter({ hasText: /Bob.*Muted.*psst.*1 unread/ })
      .waitFor();
    // By now the number in the title would have been read again.
    await page.waitForTimeout(700);
    assert.equal(await page.title(), "Notes to self · Parley");
    await change(server, user, bobs, { muted_until: null });
    await page.waitForFunction(() => document.title === "(1) Notes to self · Parley");
    assert.equal(await page.getByText("Muted").count(), 0);
    assert.deepEqual(guard.complaints, []);
  },

  "a setting that fails to save is reverted": async (world) => {
    const { proxy } = world;
    const { page, guard } = await settle(world);
    await openSettings(page, "Bob");
    proxy.fate = (line) => (line.startsWith("PUT ") ? "break" : "pass");
    await field(page, /^Pinned/).click();
    await dialog(page).getByRole("alert").filter({ hasText: "The setting was not changed." }).waitFor();
    assert.equal(await field(page, /^Pinned/).isChecked(), false);
    proxy.fate = () => "pass";
    await field(page, /^Pinned/).check();
    await dialog(page).getByRole("alert").waitFor({ state: "detached" });
    assert.deepEqual(guard.complaints, []);
  },

  "settings and their marks are accessible and fit, on a desktop and on a phone": async (world) => {
    const { server, proxy } = world;
    const { page, guard, user, bob, bobs } = await settle(world);
    await change(server, user, bobs, { is_pinned: true, muted_until: 99_999_999_999 });
    await say(server, bob, bobs, "a long message of Bob that does not fit into one line of the list");
    for (const [what, viewport] of [
      ["desk", { width: 1280, height: 800 }],
      ["phone", { width: 360, height: 740 }],
    ] as const) {
      await page.setViewportSize(viewport);
      await signIn(page, proxy.url, user.token);
      await rows(page)
        .first()
        .filter({ hasText: /Pinned.*Muted/ })
        .waitFor();
      await assertAccessible(page, `the list, ${what}`);
      await assertNoSidewaysScroll(page, what);
      await openSettings(page, "Bob");
      await assertAccessible(page, `the settings, ${what}`);
      await assertNoSidewaysScroll(page, what);
    }
    assert.deepEqual(guard.complaints, []);
  },
});
