// The progress of a message, as its sender sees it.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import type { TestApp, TestUser } from "../support/app.ts";
import { noChromium } from "../support/engines/chromium.ts";
import { assertAccessible, focused, signIn } from "./browser.ts";
import { assertQuiet, gather, makeGroup } from "./in-groups.ts";
import { testScenes } from "./scenes.ts";
import { find, introduce, meet, say, write } from "./talk.ts";

/** Waits until the message shows exactly this tick. */
async function sees(page: Page, text: string, tick: string): Promise<void> {
  await find(page, text).locator(".tick").getByText(tick, { exact: true }).waitFor();
  assert.equal(await find(page, text).locator(".tick").count(), 1);
}

async function read(server: TestApp, user: TestUser, id: string, body: object): Promise<void> {
  const headers = { ...user.headers, "content-type": "application/json" };
  const path = `${server.url}/v1/conversations/${id}/read`;
  assert.equal((await fetch(path, { method: "PUT", headers, body: JSON.stringify(body) })).status, 204);
}

testScenes("progress of messages", {
  "a message waits, is sent, and is read when the contact sees it": async (world) => {
    const { proxy } = world;
    const { ann, bob } = await meet(world);
    await bob.page.getByRole("link", { name: "Notes to self" }).click();
    await bob.page.getByRole("heading", { name: "Notes to self" }).waitFor();
    proxy.fate = (line) => (line === "POST /v1/messages" ? "break" : "pass");
    await write(ann.page, "one");
    await sees(ann.page, "one", "Waiting to be sent");
    proxy.fate = () => "pass";
    await sees(ann.page, "one", "Sent");
    await write(ann.page, "two");
    await sees(ann.page, "two", "Sent");
    await bob.page.getByRole("option", { name: "Ann" }).click();
    for (const text of ["one", "two"]) {
      await sees(ann.page, text, "Read");
      // The recipient sees no tick.
      assert.equal(await find(bob.page, text).locator(".tick").count(), 0);
    }
    await bob.page.getByRole("link", { name: "Notes to self" }).click();
    await write(ann.page, "three");
    await sees(ann.page, "three", "Sent");
    await sees(ann.page, "two", "Read");
    // Notes to self have no readers.
    await write(bob.page, "a note");
    await find(bob.page, "a note").and(bob.page.locator(":not(.outgoing)")).waitFor();
    assert.equal(await find(bob.page, "a note").locator(".tick").count(), 0);
    assert.deepEqual([...ann.guard.complaints, ...bob.guard.complaints], []);
  },

  "a private read is not shown to the sender": async (world) => {
    const { server, proxy } = world;
    const ann = await world.arrive();
    const bob = await server.user();
    const id = await introduce(server, ann.user, bob);
    await say(server, ann.user, id, "one");
    const two = await say(server, ann.user, id, "two");
    const { page, guard } = ann;
    await page.getByRole("option", { name: "Bob" }).click();
    await sees(page, "two", "Sent");
    await read(server, bob, id, { message_id: two.id, private: true });
    await say(server, bob, id, "I say nothing");
    await find(page, "I say nothing").waitFor();
    await signIn(page, proxy.url, ann.user.token);
    await page.getByRole("option", { name: "Bob" }).click();
    await sees(page, "two", "Sent");
    const three = await say(server, ann.user, id, "three");
    await sees(page, "three", "Sent");
    await read(server, bob, id, { message_id: three.id });
    for (const text of ["one", "two", "three"]) await sees(page, text, "Read");
    assert.deepEqual(guard.complaints, []);
  },
});

test("the tick of a message in a group does not say that it was read", { skip: noChromium }, async (t) => {
  const { server, people } = await gather(t);
  const [ann, bob] = people;
  await makeGroup(server, people, "Climbers");
  for (const { page } of [ann, bob]) await page.getByRole("option", { name: /Climbers/ }).click();
  await write(ann.page, "Tuesday?");
  await find(bob.page, "Tuesday?").waitFor();
  await write(bob.page, "Yes");
  await find(ann.page, "Yes").waitFor();
  await sees(ann.page, "Tuesday?", "Sent");
  assert.equal(await ann.page.locator(".tick").count(), 1);
  assertQuiet(people);
});

test("a group lists who has read a message, for its sender", { skip: noChromium }, async (t) => {
  const { server, people } = await gather(t);
  const [ann, bob, cat] = people;
  const { conversation_id } = await makeGroup(server, people, "Climbers");
  const { id } = await say(server, ann.user, conversation_id, "Tuesday?");
  await say(server, bob.user, conversation_id, "Yes");
  const { page } = ann;
  await page.getByRole("option", { name: /Climbers/ }).click();
  const message = find(page, "Tuesday?");
  const openReaders = async () => {
    await message.focus();
    for (const key of ["Tab", "Tab", "Tab"]) await page.keyboard.press(key);
    await page.getByRole("button", { name: "Read by" }).and(focused(page)).waitFor();
    await page.keyboard.press("Enter");
  };
  await openReaders();
  await page
    .getByRole("dialog", { name: "Read by", exact: true })
    .getByText("Nobody has read this message yet.")
    .waitFor();
  await page.keyboard.press("Escape");
  await message.and(focused(page)).waitFor();
  for (const { user } of [bob, cat]) await read(server, user, conversation_id, { message_id: id });
  await page.route("**/readers?*", (route) =>
    route.continue({ url: route.request().url().replace("limit=100", "limit=1") }),
  );
  await openReaders();
  const dialog = page.getByRole("dialog", { name: "Read by 2", exact: true });
  await dialog.waitFor();
  assert.deepEqual(await dialog.locator(".contact-name").allTextContents(), ["Cat", "Bob"]);
  assert.equal(await dialog.locator('.member .avatar[style*="--hue"]').count(), 2);
  await assertAccessible(page, "the readers of a message");
  await page.keyboard.press("Escape");
  await message.and(focused(page)).waitFor();
  await find(page, "Yes").focus();
  await find(page, "Yes").getByRole("button", { name: "Reply" }).waitFor();
  assert.equal(await page.getByRole("button", { name: "Read by" }).count(), 0);
  await page.unrouteAll({ behavior: "wait" });
  assertQuiet(people);
});
