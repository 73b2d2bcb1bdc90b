import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { startApp, upload } from "../support/app.ts";
import { noChromium, openBrowser } from "../support/engines/chromium.ts";
import {
  assertAccessible,
  assertNoSidewaysScroll,
  dropFiles,
  makeContact,
  openFiles,
  openPage,
  signIn,
} from "./browser.ts";
import { PNG } from "./pictures.ts";

const WIDTHS = { desk: { width: 1280, height: 800 }, phone: { width: 360, height: 740 } };

for (const [size, viewport] of Object.entries(WIDTHS)) {
  test(`each screen is accessible, light and dark, and fits: ${size}`, { skip: noChromium }, async (t) => {
    const server = await startApp(t, { userQuotaBytes: 2000 });
    const user = await server.user();
    const long = "averylongnamewithoutanyplacetobreakit".repeat(3);
    const { conversation_id } = await makeContact(server, user, "ada", "Ada Lovelace");
    await makeContact(server, user, long);
    const { page, guard } = await openPage(await openBrowser(t), server.url, { viewport });
    const look = async (what: string) => {
      await assertNoSidewaysScroll(page, what);
      await assertAccessible(page, what);
    };
    await page.goto(`${server.url}/`);
    await look("sign-in");
    await signIn(page, server.url, user.token);
    await page.getByRole("option").nth(1).waitFor();
    await look("contacts");
    await page.getByRole("button", { name: "Add a contact" }).click();
    await look("add a contact");
    await page.keyboard.press("Escape");
    await page.getByRole("option", { name: "Ada" }).click();
    await openFiles(page);
    await page.getByRole("heading", { name: "Drop files here" }).waitFor();
    await look("empty conversation");
    const fields = { conversation_id };
    for (const [content, name] of [
      ["text", "a.txt"],
      [PNG, "a.png"],
      ["b", `${long}.bin`],
    ] as const) {
      assert.equal((await upload(server.url, user, new File([content], name), fields)).status, 201);
    }
    for (const name of ["a.txt", "a.png", `${long}.bin`])
      await page.getByRole("button", { name: `Open ${name}` }).waitFor();
    await look("files");
    await lookAtDialogs(page, look);
    await dropFiles(page, [{ name: "c.txt", type: "text/plain", base64: btoa("c".repeat(2500)) }]);
    await page.getByText("1 file was not sent").waitFor();
    await look("an upload that failed");
    if (size === "phone") await page.getByRole("button", { name: "Back to contacts" }).click();
    await page.getByRole("option").nth(1).click();
    await page.getByRole("heading", { name: long }).waitFor();
    await openFiles(page);
    await page.getByRole("heading", { name: "Drop files here" }).waitFor();
    await look("a long name");
    const inside = await page.locator(".files").evaluate((box) => box.scrollWidth <= box.clientWidth);
    assert.ok(inside, "the empty conversation of a long name fits");
    await page.getByRole("button", { name: "Rename contact" }).click();
    const field = (await page.locator(".name-field").boundingBox())!;
    assert.ok(field.width > 200, `the name is changed in ${field.width} pixels`);
    await look("renaming a contact");
    assert.deepEqual(guard.complaints, []);
  });
}

async function lookAtDialogs(page: Page, look: (what: string) => Promise<void>): Promise<void> {
  for (const name of ["a.txt", "a.png"]) {
    await page.getByRole("button", { name: `Open ${name}` }).click();
    await look(`preview of ${name}`);
    await page.keyboard.press("Escape");
  }
  await page.getByRole("button", { name: "Open a.txt" }).hover();
  await page.getByRole("button", { name: "Delete a.txt" }).click();
  await look("confirmation");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Open a.txt" }).hover();
  await page.getByRole("button", { name: "Rename file a.txt" }).click();
  await look("rename");
  await page.keyboard.press("Escape");
}
