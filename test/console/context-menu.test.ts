// The context menus of messages, conversations and files: by pointer, long press and keyboard.
import assert from "node:assert/strict";
import type { Locator, Page } from "playwright-core";
import { assertAccessible, focused, openFiles } from "./browser.ts";
import { opener, send } from "./in-files.ts";
import { testScenes } from "./scenes.ts";
import { find, hold, introduce, meet, say, write } from "./talk.ts";

/** Returns the items of the open menu. */
async function listItems(page: Page): Promise<string[]> {
  const items = page.getByRole("menuitem");
  await items.first().waitFor();
  return items.allTextContents();
}

async function choose(page: Page, item: string): Promise<void> {
  await page.getByRole("menuitem", { name: item, exact: true }).click();
  await page.getByRole("menu").waitFor({ state: "detached" });
}

/** Holds a finger on an element until a menu opens. */
const press = (page: Page, target: Locator) => hold(page, target, page.getByRole("menu"));

testScenes("context menus", {
  "a message has a menu by pointer and keyboard, with what the user may do": async (world) => {
    const { ann, bob, id } = await meet(world);
    await write(ann.page, "*mine*");
    await find(bob.page, "mine").waitFor();
    await say(world.server, bob.user, id, "theirs, see https://example.org/");
    const { page, guard } = ann;
    await find(page, "theirs")
      .locator(".message-text")
      .click({ button: "right", position: { x: 3, y: 5 } });
    assert.deepEqual(await listItems(page), ["Reply", "React", "Copy text", "Delete"]);
    await assertAccessible(page, "the menu of a message");
    await page.keyboard.press("Escape");
    await page.getByRole("menu").waitFor({ state: "detached" });
    await page.locator(".messages").focus();
    for (const key of ["ArrowUp", "ArrowUp", "Shift+F10"]) await page.keyboard.press(key);
    assert.deepEqual(await listItems(page), ["Reply", "React", "Copy text", "Edit", "Delete"]);
    await page.getByRole("menuitem", { name: "Reply" }).and(focused(page)).waitFor();
    await page.keyboard.press("Escape");
    await find(page, "mine").and(focused(page)).waitFor();
    for (const key of ["ContextMenu", "c", "Enter"]) await page.keyboard.press(key);
    await page.getByText("Message copied.").waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "*mine*");
    await find(page, "mine").and(focused(page)).waitFor();
    await page.keyboard.press("ContextMenu");
    await choose(page, "Edit");
    await page.getByRole("textbox", { name: "Edit the message" }).and(focused(page)).waitFor();
    // The browser's menu opens and copies links.
    const isOwn = await find(page, "theirs")
      .locator("a")
      .evaluate((link) =>
        link.dispatchEvent(new MouseEvent("contextmenu", { bubbles: true, cancelable: true })),
      );
    assert.ok(isOwn);
    assert.equal(await page.getByRole("menu").count(), 0);
    assert.deepEqual(guard.complaints, []);
  },

  "a long press opens the menu of a message, and does nothing else": async (world) => {
    const { ann, bob, id } = await meet(world);
    await say(world.server, bob.user, id, "theirs");
    await press(ann.page, find(ann.page, "theirs").locator(".message-text"));
    await choose(ann.page, "Reply");
    await ann.page.getByText("Reply to").waitFor();
    await press(ann.page, ann.page.getByRole("option", { name: "Bob" }));
    await choose(ann.page, "Pin");
    await ann.page.getByRole("option", { name: /Pinned/ }).waitFor();
    assert.deepEqual(ann.guard.complaints, []);
  },

  "a conversation has a menu by pointer and keyboard": async (world) => {
    const bob = await world.server.user();
    const ann = await world.arrive();
    const id = await introduce(world.server, ann.user, bob);
    await say(world.server, bob, id, "hello");
    const { page, guard } = ann;
    const row = page.getByRole("option", { name: "Bob" });
    await row.getByText("1 unread").waitFor();
    await row.click({ button: "right" });
    assert.deepEqual(await listItems(page), [
      ...["Mark as read", "Pin", "Archive", "Conversation settings", "Delete contact"],
    ]);
    await assertAccessible(page, "the menu of a conversation in the list");
    await choose(page, "Mark as read");
    await row.getByText("1 unread").waitFor({ state: "detached" });
    const list = page.getByRole("listbox", { name: "Contacts" });
    await list.focus();
    await page.keyboard.press("ContextMenu");
    assert.deepEqual(await listItems(page), ["Pin", "Archive", "Conversation settings", "Delete contact"]);
    await choose(page, "Pin");
    await page.getByRole("option", { name: /Pinned/ }).waitFor();
    await list.and(focused(page)).waitFor();
    await page.keyboard.press("ContextMenu");
    await choose(page, "Unpin");
    await page.getByRole("option", { name: /Pinned/ }).waitFor({ state: "detached" });
    await page.keyboard.press("Shift+F10");
    await choose(page, "Conversation settings");
    await page.getByRole("dialog").getByLabel("Muted").selectOption("Always");
    await page.keyboard.press("Escape");
    await page.getByRole("option", { name: /Muted/ }).waitFor();
    await page.keyboard.press("ContextMenu");
    await choose(page, "Unmute");
    await page.getByRole("option", { name: /Muted/ }).waitFor({ state: "detached" });
    await row.click({ button: "right" });
    await choose(page, "Archive");
    await row.waitFor({ state: "detached" });
    assert.deepEqual(guard.complaints, []);
  },

  "a file has a menu by pointer, long press and keyboard": async (world) => {
    const { ann, bob, id } = await meet(world);
    const fields = { conversation_id: id };
    await send(world.server, ann.user, [["mine.txt", "a"]], fields);
    await send(world.server, bob.user, [["theirs.txt", "b"]], fields);
    const { page, guard } = ann;
    await openFiles(page);
    await opener(page, "theirs.txt").click({ button: "right" });
    assert.deepEqual(await listItems(page), ["Open", "Select", "Download", "Copy link"]);
    await assertAccessible(page, "the menu of a file");
    await page.keyboard.press("Escape");
    await opener(page, "mine.txt").focus();
    await page.keyboard.press("ContextMenu");
    assert.deepEqual(await listItems(page), ["Open", "Select", "Download", "Copy link", "Rename", "Delete"]);
    await choose(page, "Rename");
    await page.getByRole("textbox", { name: "New name of file mine.txt" }).and(focused(page)).waitFor();
    await page.keyboard.type("renamed");
    await page.keyboard.press("Enter");
    await opener(page, "renamed.txt").and(focused(page)).waitFor();
    await page.keyboard.press("ContextMenu");
    await choose(page, "Copy link");
    await page.getByText(/^Link copied/).waitFor();
    await opener(page, "theirs.txt").click({ button: "right" });
    const download = page.waitForEvent("download");
    await choose(page, "Download");
    assert.equal((await download).suggestedFilename(), "theirs.txt");
    await press(page, opener(page, "renamed.txt"));
    await choose(page, "Delete");
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await opener(page, "renamed.txt").waitFor({ state: "detached" });
    assert.deepEqual(guard.complaints, []);
  },
});
