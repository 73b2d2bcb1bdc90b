import assert from "node:assert/strict";
import { test } from "node:test";
import { startOn, testConfig } from "../support/app.ts";
import { noChromium, openBrowser } from "../support/engines/chromium.ts";
import { scanSettings, testScanner } from "../support/engines/scanner.ts";
import { assertAccessible, dropFiles, openFiles, openPage, signIn } from "./browser.ts";
import { opener, openNotes, send } from "./in-files.ts";
import { PNG } from "./pictures.ts";

const MARK = "Not scanned for viruses";

test("files that were not scanned for viruses are marked on cards and in the viewer", {
  skip: noChromium,
}, async (t) => {
  const scanner = await testScanner(t);
  const scan = scanSettings(scanner.port, { passUnscanned: true });
  const server = await startOn(t, { ...(await testConfig(t)), scan });
  const user = await server.user();
  await send(server, user, [["scanned.txt", "a"]]);
  await scanner.stop();
  await send(server, user, [
    ["passed.txt", "b"],
    ["dot.png", PNG],
  ]);
  const { page, guard } = await openPage(await openBrowser(t), server.url);
  await signIn(page, server.url, user.token);
  await openNotes(page);
  const card = (name: string) => page.locator(".card").filter({ has: opener(page, name) });
  await card("passed.txt").getByText(MARK).waitFor();
  assert.equal(await page.locator(".card").getByText(MARK).count(), 2);
  assert.equal(await card("scanned.txt").getByText(MARK).count(), 0);
  await assertAccessible(page, "cards with the mark");
  // A new file is marked, too, although its event does not say so.
  await dropFiles(page, [{ name: "new.txt", type: "text/plain", base64: btoa("new") }]);
  await card("new.txt").getByText(MARK).waitFor();
  for (const [width, height] of [
    [1280, 800],
    [390, 844],
  ] as const) {
    await page.setViewportSize({ width, height });
    await page.getByRole("button", { name: "Show as list" }).click();
    await card("new.txt").getByText(MARK).waitFor();
    await assertAccessible(page, `a list with the mark at ${width}`);
    await page.getByRole("button", { name: "Show as grid" }).click();
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  const dialog = page.getByRole("dialog");
  await opener(page, "passed.txt").click();
  await dialog.getByText(MARK).waitFor();
  await assertAccessible(page, "a file with the mark");
  await page.keyboard.press("End");
  await dialog.getByRole("heading", { name: "scanned.txt" }).waitFor();
  assert.equal(await dialog.getByText(MARK).count(), 0);
  await page.keyboard.press("Escape");
  await page.getByText("Messages", { exact: true }).click();
  await page.getByRole("button", { name: "Open passed.txt" }).click();
  await dialog.getByText(MARK).waitFor();
  await page.keyboard.press("Escape");
  await openFiles(page);
  assert.deepEqual(guard.complaints, []);
});
