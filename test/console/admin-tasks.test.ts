// Tasks of an administrator, with their clicks counted from the first screen.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { SCOPES } from "../../src/core/people/tokens.ts";
import { noteBackup } from "../../src/util/data-folder.ts";
import { startApp } from "../support/app.ts";
import { noChromium, openBrowser } from "../support/engines/chromium.ts";
import { hook, newest } from "../support/hooks.ts";
import { receiver } from "../support/receiver.ts";
import { assertAccessible, countClicks, openPage, signIn } from "./browser.ts";
import { addUser, dialog, go, hear, openOffice, press, row, sendNote, statusFor } from "./in-admin.ts";

const skip = noChromium;

/** Opens the first screen, and returns a function that returns the clicks since then. */
async function startCounting(page: Page): Promise<() => Promise<number>> {
  await page.getByRole("link", { name: "Conversations" }).click();
  await page.getByRole("link", { name: "Notes to self" }).waitFor();
  return countClicks(page);
}

/** Pastes a text where the focus is. */
async function paste(page: Page, text: string): Promise<void> {
  await page.evaluate((text) => navigator.clipboard.writeText(text), text);
  await page.keyboard.press("ControlOrMeta+V");
}

test("a leaked token in a line of a log is revoked with three clicks and a paste", { skip }, async (t) => {
  const { server, page, guard } = await openOffice(t);
  const ann = await addUser(server, "ann", { name: "bot" });
  const count = await startCounting(page);
  await page.getByRole("link", { name: "Administration" }).click();
  await press(page, "Revoke a leaked token");
  await dialog(page).getByLabel("Token").and(page.locator(":focus")).waitFor();
  await paste(page, `09:12:44 ERROR curl -H 'Authorization: Bearer ${ann.token}' https://chat.example`);
  await dialog(page).getByRole("heading", { name: "Revoke “bot”?" }).waitFor();
  await dialog(page).getByText("this token of ann").waitFor();
  assert.equal(await statusFor(server, ann.token), 200);
  await press(page, "Revoke");
  await hear(page, "bot was revoked.");
  assert.equal(await statusFor(server, ann.token), 401);
  assert.equal(await count(), 3);
  assert.deepEqual(guard.complaints, []);
});

test("each token of a pasted text is asked about, and looking one up does not use it", {
  skip,
}, async (t) => {
  const { server, page, ask } = await openOffice(t);
  const ann = await addUser(server, "ann", { name: "phone" });
  const bob = await addUser(server, "bob", { name: "laptop" });
  await press(page, "Revoke a leaked token");
  const alert = dialog(page).getByRole("alert");
  for (const [text, answer] of [
    ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", "Revoke it there."],
    ["nothing of interest", "There is no token in this text."],
    [`parley_${"A".repeat(43)}`, "it is unknown or already revoked"],
  ] as const) {
    await dialog(page).getByLabel("Token").fill("");
    await paste(page, text);
    await alert.filter({ hasText: answer }).waitFor();
  }
  await dialog(page).getByLabel("Token").fill("");
  await paste(page, `a=${ann.token}\nb=${bob.token}\nagain ${ann.token}`);
  await dialog(page).getByRole("heading", { name: "Revoke “phone”?" }).waitFor();
  await press(page, "Cancel");
  await dialog(page).getByRole("heading", { name: "Revoke “laptop”?" }).waitFor();
  await press(page, "Revoke");
  await hear(page, "laptop was revoked.");
  assert.equal(await dialog(page).count(), 0);
  const { data } = (await ask("GET", `/v1/tokens?user_id=${ann.id}`)).body as { data: unknown[] };
  assert.equal((data[0] as { last_used_at: unknown }).last_used_at, null);
  assert.equal(await statusFor(server, bob.token), 401);
});

test("the overview says why a webhook fails, one click from the first screen", { skip }, async (t) => {
  const { page, guard, server } = await openOffice(t);
  const bob = await addUser(server, "bob");
  const to = await receiver(t, (response) => response.writeHead(401).end());
  const made = await hook(server, bob, to);
  await hook(server, bob, await receiver(t));
  await sendNote(server, bob, "hello");
  await newest(server, bob, made, { last_status: 401 });
  const count = await startCounting(page);
  await page.getByRole("link", { name: "Administration" }).click();
  const found = row(page, "Failing webhooks", /Failing.*Returned 401.*asks for a sign-in.*bob/);
  await found.waitFor();
  assert.equal(await page.getByRole("grid", { name: "Failing webhooks" }).locator("tbody tr").count(), 1);
  assert.equal(await count(), 1);
  await assertAccessible(page, "the overview with a failing webhook");
  await found.getByRole("link").first().click();
  const verdict = page.getByRole("status", { name: "State" });
  await verdict.getByText("Exempt this address from the sign-in").waitFor();
  assert.equal(await count(), 2);
  assert.deepEqual(guard.complaints, []);
});

test("on a server without other users the first screen leads to creating them", { skip }, async (t) => {
  const server = await startApp(t);
  const admin = await addUser(server, "admin", { scopes: SCOPES });
  const { page, guard } = await openPage(await openBrowser(t), server.url);
  await signIn(page, server.url, admin.token);
  await page.getByRole("heading", { name: "Create your first users" }).waitFor();
  await assertAccessible(page, "the first screen");
  await page.getByRole("link", { name: "Create a user" }).click();
  await dialog(page).getByLabel("Username").fill("bob");
  await press(page, "Create");
  await page.getByRole("heading", { name: "bob", level: 1 }).waitFor();
  await page.goto(`${server.url}/#`);
  await page.getByRole("heading", { name: "Welcome to Parley" }).waitFor();
  assert.equal(await page.getByRole("heading", { name: "Create your first users" }).count(), 0);
  assert.deepEqual(guard.complaints, []);
});

test("the overview of a token with admin alone leads to the first users", { skip }, async (t) => {
  const { page } = await openOffice(t, { scopes: ["admin"] });
  await page.getByRole("heading", { name: "Create your first users" }).waitFor();
  await page.getByRole("link", { name: "Create a user" }).click();
  await dialog(page).getByLabel("Username").waitFor();
});

test("the overview says when the data folder was last backed up", { skip }, async (t) => {
  const { page, server } = await openOffice(t);
  const state = page.getByRole("region", { name: "State" });
  await state.getByText("None", { exact: true }).waitFor();
  await noteBackup(server.config.dataFolder, Date.now() - 3 * 24 * 3600_000);
  await state.getByText("3 days ago").waitFor();
});

test("the overview names the checks as OK and the quantile of the latency", { skip }, async (t) => {
  const { page } = await openOffice(t);
  await page.getByRole("region", { name: "State" }).getByText("OK").first().waitFor();
  await page.getByText(/^p99/).waitFor();
  await go(page, "Users");
});
