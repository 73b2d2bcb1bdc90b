// Selecting several files by mouse, keyboard and touch, and deleting them.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { eventually } from "../support/files-on-disk.ts";
import { assertAccessible, assertNoSidewaysScroll, focused, openFiles } from "./browser.ts";
import { assertShown, listNames, numbered, opener, openNotes, remove, send } from "./in-files.ts";
import { gate } from "./proxy.ts";
import { testScenes } from "./scenes.ts";
import { introduce } from "./talk.ts";

const dialog = (page: Page) => page.getByRole("dialog");
const check = (page: Page, name: string) => page.getByRole("checkbox", { name: `Select ${name}` });

/** Waits until exactly these files are selected and the bar shows their number. */
async function assertSelected(page: Page, ...names: string[]): Promise<void> {
  const selected = () =>
    page
      .locator(".card:has([aria-selected=true]) .name")
      .evaluateAll((all) => all.map(({ textContent }) => textContent!).sort());
  const isRight = async () => (await selected()).join() === names.sort().join();
  if (!(await eventually(isRight))) assert.deepEqual(await selected(), names);
  const count = page.locator(".file-bar-count");
  if (names.length === 0) await count.filter({ hasText: /^$/ }).waitFor({ state: "attached" });
  else await count.filter({ hasText: new RegExp(`^${names.length} files? · .* selected$`) }).waitFor();
}

testScenes("the selection of files", {
  "a heading selects the files below it, of a day or a range of sizes": async ({ server, arrive }) => {
    const large = new Uint8Array(1_000_000);
    const { page, guard } = await arrive((user) =>
      send(server, user, [...numbered(3), ["large.bin", large], ["larger.bin", new Uint8Array(1_000_001)]]),
    );
    await openNotes(page);
    await check(page, "1.txt").click();
    await check(page, "all of Today").click();
    await assertSelected(page, "0.txt", "1.txt", "2.txt", "large.bin", "larger.bin");
    await check(page, "all of Today").click();
    await assertSelected(page);
    await page.getByLabel("Sort files").selectOption("Size");
    await assertShown(page, ["larger.bin", "large.bin", "2.txt", "1.txt", "0.txt"]);
    assert.deepEqual(await page.getByRole("rowheader").allTextContents(), [
      "1 MB to 10 MB",
      "Less than 1 MB",
    ]);
    await check(page, "all of Less than 1 MB").click();
    await assertSelected(page, "0.txt", "1.txt", "2.txt");
    await check(page, "1.txt").click();
    await page.getByRole("checkbox", { name: "Select all of Less than 1 MB", checked: false }).click();
    await assertSelected(page, "0.txt", "1.txt", "2.txt");
    await check(page, "all of 1 MB to 10 MB").click();
    await assertSelected(page, "0.txt", "1.txt", "2.txt", "large.bin", "larger.bin");
    await assertAccessible(page, "selected headings");
    assert.deepEqual(guard.complaints, []);
  },

  "uses check marks, ranges and select all, and Escape clears it": async ({ server, arrive }) => {
    const { page, guard } = await arrive((user) => send(server, user, numbered(6)));
    await openNotes(page);
    await check(page, "4.txt").click();
    await assertSelected(page, "4.txt");
    await check(page, "2.txt").click({ modifiers: ["Shift"] });
    await assertSelected(page, "4.txt", "3.txt", "2.txt");
    // The start of the range stays, so the range can change.
    await check(page, "5.txt").click({ modifiers: ["Shift"] });
    await assertSelected(page, "4.txt", "5.txt");
    await opener(page, "0.txt").click();
    await assertSelected(page, "0.txt", "4.txt", "5.txt");
    await opener(page, "4.txt").click();
    await assertSelected(page, "0.txt", "5.txt");
    await assertAccessible(page, "selected files");
    await page.keyboard.press("Escape");
    await assertSelected(page);
    await opener(page, "1.txt").click({ modifiers: ["ControlOrMeta"] });
    await assertSelected(page, "1.txt");
    await page.keyboard.press("ControlOrMeta+a");
    await assertSelected(page, "0.txt", "1.txt", "2.txt", "3.txt", "4.txt", "5.txt");
    await page.getByRole("button", { name: "Done" }).click();
    await assertSelected(page);
    await opener(page, "1.txt").click();
    await dialog(page).getByText("text 1").waitFor();
    assert.deepEqual(guard.complaints, []);
  },

  "works by the keyboard alone, and its files are deleted": async ({ server, arrive }) => {
    const { user, page, guard } = await arrive((user) => send(server, user, numbered(6)));
    await openNotes(page);
    await opener(page, "5.txt").focus();
    await page.keyboard.press("Space");
    await assertSelected(page, "5.txt");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    for (const _ of "abc") await page.keyboard.press("Shift+ArrowRight");
    await assertSelected(page, "5.txt", "3.txt", "2.txt", "1.txt", "0.txt");
    await page.keyboard.press("Shift+ArrowLeft");
    await assertSelected(page, "5.txt", "3.txt", "2.txt", "1.txt");
    await page.keyboard.press("Delete");
    await dialog(page).getByRole("heading", { name: "Delete 4 files?" }).waitFor();
    await page.keyboard.press("Escape");
    await opener(page, "1.txt").and(focused(page)).waitFor();
    await page.keyboard.press("Delete");
    await dialog(page).getByRole("button", { name: "Delete" }).press("Enter");
    await page.getByRole("status").filter({ hasText: "4 files were deleted." }).waitFor();
    await assertShown(page, ["4.txt", "0.txt"]);
    assert.deepEqual(await listNames(server, user), ["4.txt", "0.txt"]);
    // The focus moves to the next file.
    await page.locator(".card .thumb:focus").waitFor();
    await assertSelected(page);
    await page.keyboard.press("Home");
    await page.keyboard.press("Delete");
    await dialog(page).getByText("This deletes 4.txt for everyone").waitFor();
    await dialog(page).getByRole("button", { name: "Delete" }).press("Enter");
    await assertShown(page, ["0.txt"]);
    await opener(page, "0.txt").and(focused(page)).waitFor();
    await page.keyboard.press("Enter");
    await dialog(page).getByText("text 0").waitFor();
    assert.deepEqual(guard.complaints, []);
  },

  "offers to delete only the user's own files": async ({ server, arrive }) => {
    const { user, page, guard } = await arrive();
    const bob = await server.user();
    const conversation_id = await introduce(server, user, bob);
    await send(server, bob, [["theirs.txt", "a"]], { conversation_id });
    await send(server, user, numbered(2), { conversation_id });
    await page.getByRole("option", { name: "Bob" }).click();
    await openFiles(page);
    await check(page, "theirs.txt").click();
    await assertSelected(page, "theirs.txt");
    assert.equal(
      await page
        .locator(".file-bar")
        .getByRole("button", { name: /^Delete/ })
        .count(),
      0,
    );
    await opener(page, "theirs.txt").focus();
    await page.keyboard.press("Delete");
    await dialog(page).getByText("Only the user who sent a file can delete it.").waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("ControlOrMeta+a");
    await page.getByRole("button", { name: "Delete 2 of 3 (12 bytes)" }).click();
    await dialog(page).getByText("1 file was sent by others and will stay.").waitFor();
    await dialog(page).getByRole("button", { name: "Delete" }).click();
    await assertShown(page, ["theirs.txt"]);
    await assertSelected(page, "theirs.txt");
    assert.deepEqual(guard.complaints, []);
  },

  "is downloaded as one ZIP": async ({ server, arrive }) => {
    const { page, guard } = await arrive((user) => send(server, user, numbered(3)));
    await openNotes(page);
    await check(page, "0.txt").click();
    const download = async () => {
      const begun = page.waitForEvent("download");
      await page.locator(".file-bar").getByRole("button", { name: "Download" }).click();
      const file = await begun;
      return { name: file.suggestedFilename(), content: await readFile(await file.path(), "latin1") };
    };
    assert.deepEqual(await download(), { name: "0.txt", content: "text 0" });
    await check(page, "2.txt").click();
    const { name, content } = await download();
    assert.match(name, /^files-.*\.zip$/);
    assert.match(content, /^PK/);
    for (const [at, isIn] of [true, false, true].entries())
      assert.equal(content.includes(`text ${at}`), isIn, `text ${at}`);
    assert.deepEqual(guard.complaints, []);
  },

  "follows changes, and reports files that were not deleted": async ({ server, proxy, arrive }) => {
    const { user, page, guard } = await arrive();
    const ids = await send(server, user, numbered(12));
    await openNotes(page);
    await check(page, "11.txt").click();
    await page.keyboard.press("ControlOrMeta+a");
    await assertSelected(page, ...numbered(12).map(([name]) => name));
    await remove(server, user, ids[7]!);
    // New files are not selected.
    await send(server, user, [["new.txt", "a"]]);
    await opener(page, "new.txt").waitFor();
    await page.getByText(/^11 files · .* selected$/).waitFor();
    const late = gate();
    let count = 0;
    proxy.fate = (line) => {
      if (!line.startsWith("DELETE")) return "pass";
      return ++count <= 4 ? late.passed : "break";
    };
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await dialog(page).getByRole("button", { name: "Delete" }).click();
    await dialog(page).getByRole("progressbar", { name: "Files deleted" }).waitFor();
    await dialog(page).getByRole("button", { name: "Stop" }).waitFor();
    late.open();
    await page
      .getByRole("alert")
      .filter({ hasText: /^7 files were not deleted\./ })
      .waitFor();
    await page.getByRole("status").filter({ hasText: "4 files were deleted." }).waitFor();
    // After a failure, no further files are tried.
    assert.ok(count <= 8, `${count} requests`);
    await page.getByText(/^7 files · .* selected$/).waitFor();
    assert.equal((await listNames(server, user)).length, 8);
    assert.deepEqual(guard.complaints, []);
  },

  "stops deleting when asked to, and keeps the next dialog open": async ({ server, proxy, arrive }) => {
    const { user, page, guard } = await arrive();
    await send(server, user, numbered(6));
    await openNotes(page);
    await check(page, "5.txt").click();
    await page.keyboard.press("ControlOrMeta+a");
    const late = gate();
    let count = 0;
    proxy.fate = (line) => {
      if (!line.startsWith("DELETE")) return "pass";
      count++;
      return late.passed;
    };
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await dialog(page).getByRole("button", { name: "Delete" }).click();
    while (count < 4) await page.waitForTimeout(20);
    await dialog(page).getByRole("button", { name: "Stop" }).click();
    await dialog(page).waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await dialog(page).getByRole("button", { name: "Delete" }).waitFor();
    late.open();
    await page.getByRole("status").filter({ hasText: "4 files were deleted." }).waitFor();
    await dialog(page).getByRole("button", { name: "Cancel" }).click();
    assert.equal((await listNames(server, user)).length, 2);
    assert.equal(count, 4);
    assert.deepEqual(guard.complaints, []);
  },

  "works by touch on a phone": async ({ server, arrive }) => {
    const { page, guard } = await arrive((user) => send(server, user, numbered(4)));
    await page.setViewportSize({ width: 390, height: 760 });
    await openNotes(page);
    await opener(page, "3.txt").waitFor();
    const touch = await page.context().newCDPSession(page);
    await touch.send("Emulation.setTouchEmulationEnabled", { enabled: true });
    const box = (await opener(page, "3.txt").boundingBox())!;
    const [x, y] = [box.x + 60, box.y + 60];
    await touch.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: [{ x, y }] });
    await page.getByRole("menu").waitFor();
    await touch.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
    await page.getByRole("menuitem", { name: "Select" }).click();
    await assertSelected(page, "3.txt");
    assert.equal(await dialog(page).count(), 0);
    await opener(page, "1.txt").click();
    await assertSelected(page, "3.txt", "1.txt");
    for (const button of await page.locator(".file-bar button").all()) {
      const { width, height } = (await button.boundingBox())!;
      assert.ok(width >= 44 && height >= 44, `${await button.textContent()}: ${width} by ${height}`);
    }
    await assertNoSidewaysScroll(page, "the selection on a phone");
    await assertAccessible(page, "the selection on a phone");
    await page.getByRole("button", { name: "Done" }).click();
    // A button starts the selection, too.
    await page.getByRole("button", { name: "Select files" }).click();
    await opener(page, "2.txt").click();
    await assertSelected(page, "2.txt");
    assert.deepEqual(guard.complaints, []);
  },
});
