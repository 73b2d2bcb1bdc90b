// Leaving a conversation, the viewer, a dialog and the page, on purpose or not.
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { upload } from "../support/app.ts";
import {
  choose,
  dropFiles,
  hide,
  makeContact,
  openAccount,
  openFiles,
  setHidden,
  signIn,
  signOut,
} from "./browser.ts";
import { gate } from "./proxy.ts";
import { testScenes } from "./scenes.ts";
import { find, introduce, say, shownTexts } from "./talk.ts";

/** The right side then, with contacts and without. */
const NOTHING_OPEN = /^(Choose a conversation|Welcome to Parley)$/;

testScenes("leaving conversations, dialogs and windows", {
  "Back does not lead to a deleted contact": async ({ server, arrive }) => {
    const { user, page, guard } = await arrive((user) => makeContact(server, user, "ada"));
    await page.getByRole("option", { name: "ada" }).click();
    await page.getByRole("heading", { name: "ada" }).waitFor();
    await choose(page, "Delete contact");
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByRole("status").filter({ hasText: "ada was deleted." }).waitFor();
    await page.goBack();
    await page.getByRole("heading", { name: NOTHING_OPEN }).waitFor();
    assert.equal(await page.getByRole("alert").getByText(/./).count(), 0);
    // Nor does a contact vanish silently when it is deleted elsewhere.
    const { id } = await makeContact(server, user, "bea");
    await page.getByRole("option", { name: "bea" }).click();
    await page.getByRole("heading", { name: "bea" }).waitFor();
    await fetch(`${server.url}/v1/contacts/${id}`, { method: "DELETE", headers: user.headers });
    await page.getByRole("status").filter({ hasText: "bea was deleted." }).waitFor();
    await page.getByRole("heading", { name: NOTHING_OPEN }).waitFor();
    assert.deepEqual(guard.complaints, []);
  },

  "Back and Escape close only the viewer": async ({ server, arrive }) => {
    const { user, page, guard } = await arrive();
    const made = await upload(server.url, user, new File(["a"], "a.txt"));
    const { id } = (await made.json()) as { id: string };
    await page.getByRole("link", { name: "Notes to self" }).click();
    await openFiles(page);
    const heading = page.getByRole("heading", { name: "Notes to self" });
    const card = page.getByRole("button", { name: "Open a.txt" });
    const dialog = page.getByRole("dialog");
    await card.click();
    await dialog.waitFor();
    await page.goBack();
    await dialog.waitFor({ state: "detached" });
    await heading.waitFor();
    await card.click();
    await dialog.waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await heading.waitFor();
    assert.equal(await card.evaluate((button) => button === document.activeElement), true);
    await card.click();
    await dialog.waitFor();
    await fetch(`${server.url}/v1/attachments/${id}`, { method: "DELETE", headers: user.headers });
    await page.getByRole("status").filter({ hasText: "a.txt was deleted." }).waitFor();
    await dialog.waitFor({ state: "detached" });
    await page.locator(".files:focus").waitFor();
    await leftViewer(page);
    await page.goBack();
    await page.getByRole("heading", { name: NOTHING_OPEN }).waitFor();
    assert.deepEqual(guard.complaints, []);
  },

  "a file opened while Back is still closing another one stays open": async ({ server, arrive }) => {
    const { user, page, guard } = await arrive();
    const made = await upload(server.url, user, new File(["a"], "a.txt"));
    const { id } = (await made.json()) as { id: string };
    await page.getByRole("link", { name: "Notes to self" }).click();
    await openFiles(page);
    const dialog = page.getByRole("dialog");
    await page.getByRole("button", { name: "Open a.txt" }).click();
    await dialog.waitFor();
    const opened = await page.evaluate(async () => {
      const press = (selector: string) => document.querySelector<HTMLElement>(selector)!.click();
      const back = new Promise((resolve) => addEventListener("popstate", resolve, { once: true }));
      press("dialog [aria-label=Close]");
      // By now the click is rendered.
      await new Promise<void>(queueMicrotask);
      press(".card .thumb");
      await back;
      await new Promise(requestAnimationFrame);
      return [document.querySelectorAll("dialog").length, history.state?.file];
    });
    assert.deepEqual(opened, [1, id]);
    await page.goBack();
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("heading", { name: "Notes to self" }).waitFor();
    assert.deepEqual(guard.complaints, []);
  },

  "selecting text beyond the edge of a dialog does not close it": async ({ arrive }) => {
    const { page, guard } = await arrive();
    await page.getByRole("button", { name: "Add a contact" }).first().click();
    const dialog = page.getByRole("dialog");
    const field = dialog.getByLabel("Phone number");
    await field.fill("+1 555 0100");
    const box = (await field.boundingBox())!;
    await page.mouse.move(box.x + 40, box.y + 10);
    await page.mouse.down();
    await page.mouse.move(20, box.y + 10, { steps: 3 });
    await page.mouse.up();
    assert.equal(await field.inputValue(), "+1 555 0100");
    await page.mouse.click(20, 20);
    await dialog.waitFor({ state: "detached" });
    assert.deepEqual(guard.complaints, []);
  },

  "adding an existing contact offers to open it": async ({ server, arrive }) => {
    const { page, guard } = await arrive((user) => makeContact(server, user, "ada", "\u200b"));
    await page.getByRole("option", { name: "ada" }).waitFor();
    await page.getByRole("button", { name: "Add a contact" }).click();
    await page.getByLabel("Username").fill("ada");
    await page.getByLabel("Phone number").fill("+1 555 0100");
    await page.keyboard.press("Enter");
    await page
      .getByRole("alert")
      .filter({ hasText: "You already have a contact with this username." })
      .waitFor();
    await page.getByRole("button", { name: "Open the contact" }).click();
    await page.getByRole("heading", { name: "ada" }).waitFor();
    assert.deepEqual(guard.complaints, []);
  },

  "leaving during an upload asks for confirmation": async ({ proxy, arrive }) => {
    const { page, guard } = await arrive();
    await page.getByRole("link", { name: "Notes to self" }).click();
    await openFiles(page);
    await page.getByRole("heading", { name: "Drop files here" }).waitFor();
    const late = gate();
    proxy.fate = (line) => (line.startsWith("POST") ? late.passed : "pass");
    await dropFiles(page, [{ name: "a.txt", type: "text/plain", base64: btoa("a") }]);
    await page.getByText("Finishing…").waitFor();
    const asked = page.waitForEvent("dialog");
    await page.close({ runBeforeUnload: true });
    const question = await asked;
    assert.equal(question.type(), "beforeunload");
    await question.dismiss();
    await signOut(page);
    const dialog = page.getByRole("dialog");
    await dialog.getByText("1 file is still uploading.").waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    late.open();
    await page.getByText("All files uploaded").waitFor();
    await signOut(page);
    await page.getByLabel("Access token").waitFor();
    assert.deepEqual(guard.complaints, []);
  },

  "a file changed on the disk is reported and not retried": async ({ t, proxy, arrive }) => {
    const folder = await mkdtemp(join(tmpdir(), "parley-console-"));
    t.after(() => rm(folder, { recursive: true }));
    const { page, guard } = await arrive();
    await page.getByRole("link", { name: "Notes to self" }).click();
    await openFiles(page);
    await page.getByRole("heading", { name: "Drop files here" }).waitFor();
    let posts = 0;
    const late = gate();
    proxy.fate = (line) => {
      if (!line.startsWith("POST")) return "pass";
      posts++;
      return late.passed;
    };
    const paths = ["a", "b", "c", "d"].map((name) => join(folder, `${name}.txt`));
    for (const path of paths) await writeFile(path, "as it was");
    await page.locator("input[type=file]").setInputFiles(paths);
    while (posts < 3) await page.waitForTimeout(20);
    // The last file still waits.
    await writeFile(paths[3]!, "as it is now");
    late.open();
    await page.locator(".tray-row.failed").getByText("changed or removed").waitFor();
    assert.equal(await page.getByRole("button", { name: "Send d.txt again" }).count(), 0);
    assert.equal(posts, 3);
    assert.deepEqual(guard.complaints, []);
  },

  "a file dropped outside the drop zones does not replace the page": async ({ arrive }) => {
    const { page, guard } = await arrive();
    const prevented = await page.evaluate(() =>
      ["dragover", "drop"].map((type) => {
        const dataTransfer = new DataTransfer();
        dataTransfer.items.add(new File(["a"], "a.txt"));
        const event = new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true });
        document.body.dispatchEvent(event);
        return event.defaultPrevented;
      }),
    );
    assert.deepEqual(prevented, [true, true]);
    assert.deepEqual(guard.complaints, []);
  },

  "all windows of a browser share one stream, and stay current while they are hidden": async ({
    server,
    proxy,
    arrive,
  }) => {
    const { user, page, guard } = await arrive();
    await page.getByText("No contacts yet").waitFor();
    const other = await page.context().newPage();
    await other.goto(page.url());
    for (const each of [page, other]) await hide(each, true);
    // First with no event so far, then with one to continue after.
    for (const name of ["ada", "bea"]) {
      await makeContact(server, user, name);
      for (const each of [page, other]) await each.getByRole("option", { name }).waitFor();
    }
    assert.equal(proxy.openStreams(), 1);
    // When the window with the stream is closed, another one continues.
    await page.close();
    await makeContact(server, user, "cid");
    await other.getByRole("option", { name: "cid" }).waitFor();
    assert.deepEqual([await other.getByRole("option").count(), proxy.openStreams()], [3, 1]);
    await hide(other, false);
    // Storage also counts files from other devices.
    await upload(server.url, user, new File(["five!"], "a.txt"));
    await openAccount(other);
    await other.getByText("5 bytes stored").waitFor();
    assert.deepEqual(guard.complaints, []);
  },

  "a hidden window counts unread conversations in its title": async ({ server, proxy, arrive }) => {
    const { user, page, guard } = await arrive();
    const bob = await server.user();
    const id = await introduce(server, user, bob);
    await page.clock.install();
    await signIn(page, proxy.url, user.token);
    await page.getByRole("option").first().waitFor();
    await hide(page, true);
    await say(server, bob, id, "psst");
    await page.clock.fastForward(60_000);
    await page.waitForFunction(() => document.title === "(1) Parley");
    assert.deepEqual(guard.complaints, []);
  },

  "older messages load when all messages on the page are deleted at once": async ({ server, arrive }) => {
    const { user, page, guard } = await arrive();
    const bob = await server.user();
    const id = await introduce(server, user, bob);
    const sent: string[] = [];
    for (let i = 0; i < 150; i++) sent.push((await say(server, user, id, `line ${i}`)).id);
    await page.getByRole("option").first().click();
    await find(page, "line 149").waitFor();
    await hide(page, true);
    for (const gone of sent.slice(3))
      await fetch(`${server.url}/v1/messages/${gone}`, { method: "DELETE", headers: user.headers });
    await hide(page, false);
    await find(page, "line 149").waitFor({ state: "detached" });
    await find(page, "line 0").waitFor();
    assert.deepEqual(await shownTexts(page), ["line 0", "line 1", "line 2"]);
    assert.deepEqual(guard.complaints, []);
  },

  "a window hidden from the start catches up when shown": async ({ server, proxy, arrive }) => {
    const { user, page, guard } = await arrive();
    await page.addInitScript(setHidden, true);
    await signIn(page, proxy.url, user.token);
    await page.getByText("No contacts yet").waitFor();
    await makeContact(server, user, "ada");
    await hide(page, false);
    await page.getByRole("option", { name: "ada" }).waitFor();
    assert.deepEqual(guard.complaints, []);
  },
});

/** Waits until the browser has left the viewer's history entry: an earlier Back would go too far. */
function leftViewer(page: Page): Promise<void> {
  return page.evaluate(async () => {
    while (history.state !== null) await new Promise(requestAnimationFrame);
  });
}
