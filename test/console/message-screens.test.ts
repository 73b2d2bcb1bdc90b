// The list of messages by eye, screen reader and keyboard.
import assert from "node:assert/strict";
import { upload } from "../support/app.ts";
import { assertAccessible, assertNoSidewaysScroll, dropFiles } from "./browser.ts";
import { PNG } from "./pictures.ts";
import { testScenes } from "./scenes.ts";
import { act, find, introduce, say } from "./talk.ts";

const text = (name: string) => ({ name, type: "text/plain", base64: btoa(name) });

testScenes("the list of messages", {
  "a reader at the end stays at the end when the window shrinks": async (world) => {
    const { server } = world;
    const ann = await world.arrive();
    const id = (
      (await (await fetch(`${server.url}/v1/me`, { headers: ann.user.headers })).json()) as {
        conversation_id: string;
      }
    ).conversation_id;
    for (let i = 0; i < 30; i++) await say(server, ann.user, id, `line ${i} `.repeat(40));
    const { page, guard } = ann;
    await page.getByRole("link", { name: "Notes to self" }).click();
    await find(page, "line 29").waitFor();
    for (const [width, height] of [
      [390, 760],
      [390, 400],
      [1280, 800],
    ] as const) {
      await page.setViewportSize({ width, height });
      // A frame for the new size, and one for its effects.
      await page.waitForTimeout(200);
      await page.waitForFunction(isAtEnd);
    }
    assert.deepEqual(guard.complaints, []);
  },

  "the panes are accessible on a desktop and on a phone": async (world) => {
    const { server } = world;
    const ann = await world.arrive();
    const bob = await world.arrive();
    const id = await introduce(server, ann.user, bob.user);
    const long = "averylongwordwithoutanyplacetobreakit".repeat(10);
    const first = await say(server, ann.user, id, long);
    await say(server, bob.user, id, "A reply\nof two lines", { reply_to_id: first.id });
    await upload(server.url, bob.user, new File([PNG], "a.png"), { conversation_id: id });
    await upload(server.url, bob.user, new File(["a"], `${long.slice(0, 80)}.bin`), { conversation_id: id });
    const { page, guard } = ann;
    const look = async (what: string) => {
      await assertNoSidewaysScroll(page, what);
      await assertAccessible(page, what);
      const wide = await page.locator(".messages").evaluate((box) => box.scrollWidth - box.clientWidth);
      assert.equal(wide, 0, `${what}: the messages are too wide`);
    };
    await page.getByRole("option", { name: "Bob" }).click();
    await page.getByRole("button", { name: "Open a.png" }).waitFor();
    await dropFiles(page, [text("draft.txt")]);
    await act(page, "A reply", "Reply");
    for (const [what, viewport] of [
      ["desk", { width: 1280, height: 800 }],
      ["phone", { width: 360, height: 740 }],
    ] as const) {
      await page.setViewportSize(viewport);
      await find(page, long).hover();
      await look(what);
    }
    await page.keyboard.press("Escape");
    await act(page, long, "Edit");
    await look("editing");
    await page.keyboard.press("Escape");
    await act(page, long, "Delete");
    await look("deleting");
    await page.keyboard.press("Escape");
    await page.setViewportSize({ width: 1280, height: 800 });
    // By the keyboard: from the list to a message, and to its buttons.
    await page.locator(".messages").focus();
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("ArrowUp");
    await page.locator(".message:focus").filter({ hasText: "A reply" }).waitFor();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.getByRole("button", { name: "Reply", exact: true }).and(page.locator(":focus")).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("textbox", { name: "Message to Bob" }).and(page.locator(":focus")).waitFor();
    assert.deepEqual(guard.complaints, []);
  },
});

/** Runs in the page. */
function isAtEnd(): boolean {
  const box = document.querySelector(".messages")!;
  return box.scrollHeight - box.scrollTop - box.clientHeight < 1;
}
