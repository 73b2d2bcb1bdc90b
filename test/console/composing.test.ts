// The composer: its focus, emoji, files before they are sent, and drafts in the list.
import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { assertAccessible, choose, dropFiles, focused, openFiles } from "./browser.ts";
import { paint } from "./pictures.ts";
import { testScenes } from "./scenes.ts";
import { find, introduce, meet, say } from "./talk.ts";

const composer = (page: Page) => page.getByRole("textbox", { name: /^Message to/ });

testScenes("the composer", {
  "has the focus when a conversation opens, and gets what is typed elsewhere": async (world) => {
    const bob = await world.server.user();
    const { page, user, guard } = await world.arrive();
    const id = await introduce(world.server, user, bob);
    await say(world.server, bob, id, "hello");
    await page.getByRole("option", { name: "Bob" }).click();
    await composer(page).and(focused(page)).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+k");
    await page.keyboard.type("notes");
    await page.keyboard.press("Enter");
    await page.getByRole("textbox", { name: "Message to your notes" }).and(focused(page)).waitFor();
    const list = page.getByRole("listbox", { name: "Contacts" });
    await list.focus();
    await page.keyboard.press("Enter");
    await page.getByRole("textbox", { name: "Message to Bob" }).and(focused(page)).waitFor();
    // The tabs keep it: arrow keys move between them.
    await openFiles(page);
    await page.keyboard.press("ArrowLeft");
    await find(page, "hello").waitFor();
    assert.equal(await composer(page).and(focused(page)).count(), 0);
    await page.locator(".messages").focus();
    await page.keyboard.press("ArrowUp");
    await page.keyboard.type("Hi, there");
    await composer(page).and(focused(page)).waitFor();
    assert.equal(await composer(page).inputValue(), "Hi, there");
    // Shortcuts and other fields keep their keys.
    await page.keyboard.press("Escape");
    await page.keyboard.press("/");
    await page.keyboard.type("xyz");
    assert.equal(await composer(page).inputValue(), "Hi, there");
    await choose(page, "Conversation settings");
    await page.keyboard.type("q");
    assert.equal(await composer(page).inputValue(), "Hi, there");
    assert.deepEqual(guard.complaints, []);
  },

  "a touch screen opens no keyboard": async (world) => {
    const { page } = await world.arrive();
    await page.evaluate(() => {
      const { matchMedia } = window;
      window.matchMedia = (query) => matchMedia(query === "(hover: none)" ? "all" : query);
    });
    await page.getByRole("link", { name: "Notes to self" }).click();
    await composer(page).waitFor();
    assert.equal(await composer(page).and(focused(page)).count(), 0);
  },

  "emoji are inserted at the caret, by pointer and keyboard": async (world) => {
    const { ann } = await meet(world);
    const { page, guard } = ann;
    await composer(page).fill("ab");
    await composer(page).press("ArrowLeft");
    await page.getByRole("button", { name: "Emoji", exact: true }).click();
    await page.getByRole("menuitem", { name: "😀" }).and(focused(page)).waitFor();
    await assertAccessible(page, "emoji");
    await page.getByRole("menuitem", { name: "🎉" }).click();
    await composer(page).and(focused(page)).waitFor();
    assert.equal(await composer(page).inputValue(), "a🎉b");
    await page.keyboard.press("Tab");
    await page.getByRole("button", { name: "Emoji", exact: true }).and(focused(page)).waitFor();
    for (const key of ["Enter", "ArrowRight", "Enter"]) await page.keyboard.press(key);
    await composer(page).and(focused(page)).waitFor();
    assert.equal(await composer(page).inputValue(), "a🎉😂b");
    assert.deepEqual(guard.complaints, []);
  },

  "pictures have thumbnails before they are sent": async (world) => {
    const { ann } = await meet(world);
    const { page, guard } = ann;
    const red = paint(40, 20, () => [250, 10, 10]).toString("base64");
    await dropFiles(page, [
      { name: "red.png", type: "image/png", base64: red },
      { name: "broken.png", type: "image/png", base64: btoa("no picture") },
      { name: "a.txt", type: "text/plain", base64: btoa("a") },
    ]);
    const draft = (name: string) => page.locator(".draft-file").filter({ hasText: name });
    await page.waitForFunction(() => {
      const canvas = document.querySelector<HTMLCanvasElement>(".draft-thumb")!;
      const [red, , , alpha] = canvas.getContext("2d")!.getImageData(1, 1, 1, 1).data;
      return red === 250 && alpha === 255 && canvas.width === 2 * canvas.height;
    });
    assert.equal(await draft("a.txt").locator(".icon").count(), 2);
    await assertAccessible(page, "files to send");
    await page.getByRole("button", { name: "Remove red.png" }).click();
    await draft("red.png").waitFor({ state: "detached" });
    assert.deepEqual(guard.complaints, []);
  },

  "has the focus after files are chosen, so that Enter sends them": async (world) => {
    const { ann } = await meet(world);
    const { page, guard } = ann;
    const chosen = page.waitForEvent("filechooser");
    await page.getByRole("button", { name: "Attach files" }).click();
    await (await chosen).setFiles({ name: "a.txt", mimeType: "text/plain", buffer: Buffer.from("a") });
    await page.getByRole("button", { name: "Remove a.txt" }).waitFor();
    await composer(page).and(focused(page)).waitFor();
    await page.keyboard.press("Enter");
    await page.locator(".message").getByRole("button", { name: "Open a.txt" }).waitFor();
    assert.deepEqual(guard.complaints, []);
  },

  "a draft shows in the list, and a drop on a row adds files there": async (world) => {
    const bob = await world.server.user();
    const { page, user, guard } = await world.arrive();
    const id = await introduce(world.server, user, bob);
    await say(world.server, bob, id, "hello");
    const row = page.getByRole("option", { name: "Bob" });
    await row.click();
    await composer(page).fill("half a *thought*");
    assert.equal(await row.getByText("Draft:").count(), 0);
    await page.getByRole("link", { name: "Notes to self" }).click();
    await row.getByText("Draft: half a *thought*").waitFor();
    await assertAccessible(page, "a draft in the list");
    const data = await page.evaluateHandle(() => {
      const transfer = new DataTransfer();
      transfer.items.add(new File(["dropped"], "dropped.txt", { type: "text/plain" }));
      return transfer;
    });
    await row.dispatchEvent("dragover", { dataTransfer: data });
    assert.equal(await page.locator(".drop-over").count(), 0);
    await row.dispatchEvent("drop", { dataTransfer: data });
    await page.getByRole("button", { name: "Remove dropped.txt" }).waitFor();
    const field = page.getByRole("textbox", { name: "Message to Bob" }).and(focused(page));
    await field.waitFor();
    await field.press("Enter");
    await find(page, "half a thought").getByRole("button", { name: "Open dropped.txt" }).waitFor();
    await row.getByText("Draft:").waitFor({ state: "detached" });
    assert.deepEqual(guard.complaints, []);
  },
});
