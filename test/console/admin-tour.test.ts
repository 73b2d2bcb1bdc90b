// An administrator's tasks by keyboard alone. admin.test.ts does them with the mouse.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import type { Locator, Page } from "playwright-core";
import { upload } from "../support/app.ts";
import { noChromium } from "../support/engines/chromium.ts";
import { hook, newest } from "../support/hooks.ts";
import { receiver } from "../support/receiver.ts";
import { addUser, dialog, hear, type Office, openOffice, row, sendNote, statusFor } from "./in-admin.ts";

const isFocused = (target: Locator) => target.evaluate((element) => element === document.activeElement);

/** Focuses a control. A table is one tab stop: arrow keys move on from its first row. */
async function reach(target: Locator): Promise<void> {
  const { keyboard } = target.page();
  await target.waitFor();
  let inTable = "Home";
  for (let stops = 0; stops < 80; stops++) {
    if (await isFocused(target)) return;
    const isInTable = await target.evaluate((element) => {
      const table = element.closest("[role=grid]");
      return table?.contains(document.activeElement);
    });
    await keyboard.press(isInTable ? inTable : "Tab");
    if (isInTable) inTable = "ArrowRight";
  }
  assert.fail(`${target} is not reached by the keyboard`);
}

async function use(target: Locator): Promise<void> {
  await reach(target);
  await target.page().keyboard.press("Enter");
}

async function write(target: Locator, text: string): Promise<void> {
  await reach(target);
  await target.page().keyboard.type(text);
}

const button = (where: Page | Locator, name: string) => where.getByRole("button", { name, exact: true });

/** Finds Bob, creates a token for him, and revokes it because it has leaked. */
async function manageToken({ page, server }: Office): Promise<void> {
  await page.keyboard.press("/");
  await write(page.getByRole("searchbox", { name: "Find users" }), "bo");
  await page.getByText("1 found").waitFor();
  await use(row(page, "Users", "bob").getByRole("link"));
  await page.getByRole("heading", { name: "bob", level: 1 }).waitFor();
  await use(button(page, "Create a token"));
  await write(dialog(page).getByLabel("What it is for"), "phone");
  await use(button(dialog(page), "Create"));
  const token = await dialog(page).getByLabel("Token", { exact: true }).inputValue();
  await use(button(dialog(page), "Copy token"));
  await hear(page, "Token copied.");
  await use(button(dialog(page), "Done"));
  assert.equal(await statusFor(server, token), 200);
  await use(button(page, "Revoke phone"));
  await use(button(dialog(page), "Revoke"));
  await hear(page, "phone was revoked.");
  assert.equal(await statusFor(server, token), 401);
}

/** Reads on Bob's page why his webhook fails, fixes the receiver, and sends the event again. */
async function fixWebhook({ page }: Office, fix: () => void): Promise<void> {
  await use(row(page, "Webhooks of bob", /Failing.*Returned 401/).getByRole("link"));
  const state = page.getByRole("status", { name: "State" });
  await state.getByText("check the signature instead").waitFor();
  fix();
  await use(button(page, "Send again: Message created"));
  await hear(page, "The event is sent again.");
  await state.getByText("Delivering").waitFor();
}

const section = (page: Page, name: string) =>
  page.getByRole("navigation", { name: "Administration" }).getByRole("link", { name });

/** Exports the audit trail of Bob's tokens. */
async function exportTrail({ page }: Office): Promise<void> {
  await use(section(page, "Audit trail"));
  await write(page.getByRole("searchbox", { name: "About" }), "bob");
  await row(page, "Audit trail", "admin revoked the token “phone” of bob").waitFor();
  await use(button(page, "Export"));
  const downloading = page.waitForEvent("download");
  await use(button(dialog(page), "Export"));
  const text = await readFile(await (await downloading).path(), "utf8");
  assert.match(text, /,admin revoked the token “phone” of bob,token\.revoked,/);
  await dialog(page).waitFor({ state: "detached" });
}

/** Finds the user who stores most, and erases that user. */
async function freeStorage({ page }: Office): Promise<void> {
  await use(section(page, "Overview"));
  await page.getByText("The files of all users take 950 bytes.").waitFor();
  await use(row(page, "Users with most storage", "bob").getByRole("link"));
  await use(button(page, "Erase user"));
  await write(dialog(page).getByLabel("Type bob to confirm"), "bob");
  await use(button(dialog(page), "Erase user"));
  await hear(page, "bob was erased.");
  await use(section(page, "Overview"));
  await page.getByText("The files of all users take 0 bytes.").waitFor();
}

test("the administration works by keyboard alone", { skip: noChromium }, async (t) => {
  const office = await openOffice(t);
  const { server, guard } = office;
  const bob = await addUser(server, "bob");
  assert.equal((await upload(server.url, bob, new File(["x".repeat(950)], "a.txt"))).status, 201);
  let status = 401;
  const to = await receiver(t, (response) => response.writeHead(status).end());
  const made = await hook(server, bob, to, { events: ["message.created"] });
  await sendNote(server, bob, "hello");
  await newest(server, bob, made, { last_status: 401 });
  await manageToken(office);
  await fixWebhook(office, () => {
    status = 204;
  });
  await exportTrail(office);
  await freeStorage(office);
  assert.deepEqual(guard.complaints, []);
});
