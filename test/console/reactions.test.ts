// Reactions to messages, by pointer and by keyboard.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Locator, Page } from "playwright-core";
import type { TestApp, TestUser } from "../support/app.ts";
import { noChromium } from "../support/engines/chromium.ts";
import { assertAccessible, assertNoSidewaysScroll } from "./browser.ts";
import { assertQuiet, gather, line, makeGroup } from "./in-groups.ts";
import { testScenes } from "./scenes.ts";
import { act, find, hold, introduce, meet, say, write } from "./talk.ts";

async function react(server: TestApp, { headers }: TestUser, id: string, emoji: string): Promise<void> {
  const path = `/v1/messages/${id}/reactions/${encodeURIComponent(emoji)}`;
  assert.equal((await fetch(server.url + path, { method: "PUT", headers })).status, 204);
}

const chip = (message: Locator, emoji: string, count: string, pressed: boolean) =>
  message.getByRole("button", { name: `${emoji} ${count}`, exact: true, pressed });

const picker = (page: Page) => page.getByRole("dialog", { name: "React" });

testScenes("reactions to messages", {
  "a reaction appears to both users at once, and each changes only their own": async (world) => {
    const { ann, bob } = await meet(world);
    await write(ann.page, "Shall we?");
    const [anns, bobs] = [find(ann.page, "Shall we?"), find(bob.page, "Shall we?")];
    await act(bob.page, "Shall we?", "React");
    await picker(bob.page).getByRole("button", { name: "👍", pressed: false }).click();
    await picker(bob.page).waitFor({ state: "detached" });
    await chip(bobs, "👍", "1 reaction", true).waitFor();
    await chip(anns, "👍", "1 reaction", false).click();
    for (const message of [anns, bobs]) await chip(message, "👍", "2 reactions", true).waitFor();
    await chip(bobs, "👍", "2 reactions", true).click();
    await chip(bobs, "👍", "1 reaction", false).waitFor();
    await chip(anns, "👍", "1 reaction", true).waitFor();
    // The dialog can also remove a reaction.
    await act(ann.page, "Shall we?", "React");
    await picker(ann.page).getByRole("button", { name: "👍", pressed: true }).click();
    for (const message of [anns, bobs])
      await message.getByRole("list", { name: "Reactions" }).waitFor({ state: "detached" });
    assert.deepEqual([...ann.guard.complaints, ...bob.guard.complaints], []);
  },

  "hovering over a reaction or holding it says who has reacted": async (world) => {
    const { server } = world;
    const { ann, bob, id } = await meet(world);
    const { page } = ann;
    const message = await say(server, bob.user, id, "Lunch?");
    for (const user of [bob.user, ann.user]) await react(server, user, message.id, "👍");
    const shown = chip(find(page, "Lunch?"), "👍", "2 reactions", true);
    await shown.and(page.getByTitle("Bob, You", { exact: true })).waitFor();
    await assertAccessible(page, "a reaction with the names of those who reacted");
    await hold(page, shown, picker(page));
    const reacted = page.getByRole("list", { name: "Who has reacted" }).getByRole("listitem");
    assert.equal(await reacted.count(), 2);
    await reacted.getByText("Bob").waitFor();
    await page.keyboard.press("Escape");
    // The long press has not removed the reaction.
    await shown.waitFor();
    await shown.click();
    await chip(find(page, "Lunch?"), "👍", "1 reaction", false)
      .and(page.getByTitle("Bob", { exact: true }))
      .waitFor();
    assert.deepEqual(ann.guard.complaints, []);
  },

  "reactions work by the keyboard with any emoji, and the focus returns": async (world) => {
    const { ann } = await meet(world);
    const { page } = ann;
    await write(page, "A fox!");
    await find(page, "A fox!").and(page.locator(":not(.outgoing)")).waitFor();
    await page.locator(".messages").focus();
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await picker(page).getByRole("button", { name: "👍" }).and(page.locator(":focus")).waitFor();
    await picker(page).getByRole("textbox", { name: "Another emoji" }).focus();
    await page.keyboard.insertText("🦊");
    await page.keyboard.press("Enter");
    await chip(find(page, "A fox!"), "🦊", "1 reaction", true).waitFor();
    const focused = page.locator(".message:focus").filter({ hasText: "A fox!" });
    await focused.waitFor();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Space");
    await chip(find(page, "A fox!"), "🦊", "1 reaction", true).waitFor({ state: "detached" });
    await focused.waitFor();
    assert.deepEqual(ann.guard.complaints, []);
  },

  "a refused reaction is reported and changes nothing": async (world) => {
    const { server } = world;
    const { ann, bob, id } = await meet(world);
    const { page } = ann;
    const message = await say(server, bob.user, id, "Popular");
    const emoji = Array.from({ length: 20 }, (_, at) => String.fromCodePoint(0x1f400 + at));
    for (const each of emoji) await react(server, bob.user, message.id, each);
    await chip(find(page, "Popular"), emoji[19]!, "1 reaction", false).waitFor();
    const choose = async (text: string) => {
      await act(page, "Popular", "React");
      await picker(page).getByRole("textbox", { name: "Another emoji" }).fill(text);
      await picker(page).getByRole("button", { name: "React" }).click();
    };
    await choose("😂");
    const alert = page.getByRole("alert");
    await alert.filter({ hasText: /^Your reaction was not added\. .*20 different emoji/ }).waitFor();
    await page.getByRole("button", { name: "Dismiss" }).click();
    await choose("two words");
    await alert.filter({ hasText: "Your reaction was not added. A reaction is one character" }).waitFor();
    await page.getByRole("button", { name: "Dismiss" }).click();
    const shown = await find(page, "Popular").locator(".reaction bdi").allTextContents();
    assert.deepEqual(shown, emoji);
    // An existing emoji can still be added at the limit.
    await choose(emoji[3]!);
    await chip(find(page, "Popular"), emoji[3]!, "2 reactions", true).waitFor();
    assert.deepEqual([...ann.guard.complaints, ...bob.guard.complaints], []);
  },

  "reactions and their picker are accessible and fit, on a desktop and on a phone": async (world) => {
    const { server } = world;
    const ann = await world.arrive();
    const bob = await world.arrive();
    const id = await introduce(server, ann.user, bob.user);
    const message = await say(server, bob.user, id, "Look");
    for (let at = 0; at < 20; at++)
      await react(server, at % 2 ? ann.user : bob.user, message.id, String.fromCodePoint(0x1f400 + at));
    const { page, guard } = ann;
    await page.getByRole("option", { name: "Bob" }).click();
    for (const [what, viewport] of [
      ["desk", { width: 1280, height: 800 }],
      ["phone", { width: 360, height: 740 }],
    ] as const) {
      await page.setViewportSize(viewport);
      await act(page, "Look", "React");
      await picker(page).waitFor();
      await assertNoSidewaysScroll(page, what);
      await assertAccessible(page, `the choice, ${what}`);
      await page.keyboard.press("Escape");
      await page.locator(".message:focus-within").waitFor();
      await assertAccessible(page, `the message, ${what}`);
      const wide = await page.locator(".messages").evaluate((box) => box.scrollWidth - box.clientWidth);
      assert.equal(wide, 0, `${what}: the messages are too wide`);
    }
    assert.deepEqual(guard.complaints, []);
  },
});

test("members react to system messages", { skip: noChromium }, async (t) => {
  const { server, people } = await gather(t);
  const [ann, bob] = people;
  await makeGroup(server, people, "Climbers");
  for (const { page } of [ann, bob]) await page.getByRole("option", { name: /Climbers/ }).click();
  const joined = (page: Page) => line(page, "Cat joined");
  await joined(ann.page).hover();
  await joined(ann.page).getByRole("button", { name: "React" }).click();
  await picker(ann.page).getByRole("button", { name: "🎉" }).click();
  await chip(joined(bob.page), "🎉", "1 reaction", false).click();
  await chip(joined(ann.page), "🎉", "2 reactions", true).waitFor();
  assertQuiet(people);
});
