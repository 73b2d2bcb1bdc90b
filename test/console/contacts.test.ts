import assert from "node:assert/strict";
import { test } from "node:test";
import { startApp } from "../support/app.ts";
import { noChromium, openBrowser } from "../support/engines/chromium.ts";
import { choose, focused, makeContact, openPage, signIn } from "./browser.ts";

test("contacts are added, found, renamed, blocked and deleted", { skip: noChromium }, async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  for (const name of ["ada", "alan", "barbara"]) await makeContact(server, user, name);
  const { page, guard } = await openPage(await openBrowser(t), server.url);
  await signIn(page, server.url, user.token);
  const rows = page.getByRole("option");

  // Wait for the list: one that is not loaded yet cannot lose the focus.
  await rows.nth(2).waitFor();
  await page.getByLabel("Search contacts").fill("a");
  await rows.filter({ hasText: "barbara" }).waitFor({ state: "detached" });
  assert.equal(await rows.count(), 2);
  // A search covers everything, so no list is chosen. Choosing one ends it.
  const lists = page.getByRole("group", { name: "Which contacts are listed" });
  assert.equal(await lists.getByRole("radio", { checked: true }).count(), 0);
  await lists.getByText("Contacts", { exact: true }).click();
  await lists.getByRole("radio", { name: "Contacts", checked: true }).waitFor();
  await rows.filter({ hasText: "barbara" }).waitFor();
  assert.equal(await page.getByLabel("Search contacts").inputValue(), "");
  await page.getByLabel("Search contacts").fill("grace");
  await page.getByText("Nothing matches “grace”.").waitFor();

  await page.getByRole("button", { name: "Add a contact" }).click();
  assert.equal(await page.getByLabel("Username").inputValue(), "grace");
  assert.equal(await page.getByLabel("Username").getAttribute("autocapitalize"), "none");
  await page.getByLabel("Username").fill("@grace");
  await page.getByLabel("Phone number").fill("no digits");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  const phoneNumber = page.getByLabel("Phone number");
  await page
    .locator("label")
    .filter({ has: phoneNumber })
    .getByRole("alert")
    .getByText(/^Phone number/)
    .waitFor();
  assert.equal(await phoneNumber.getAttribute("aria-invalid"), "true");
  await page.getByLabel("Phone number").fill("+1 555 0101");
  await page.getByLabel("Display name").fill("Grace Hopper");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Grace Hopper" }).waitFor();
  await page.getByText("@grace", { exact: true }).first().waitFor();
  await rows.nth(3).waitFor();
  assert.match((await rows.first().textContent())!, /Grace Hopper/);

  await page.getByRole("button", { name: "Rename contact Grace Hopper" }).click();
  await page.keyboard.type("nobody");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Rename contact Grace Hopper" }).click();
  await page.keyboard.type("Amazing Grace");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Amazing Grace" }).waitFor();
  await rows.filter({ hasText: "Amazing Grace" }).waitFor();
  await page.getByRole("button", { name: "Rename contact Amazing Grace" }).and(focused(page)).waitFor();

  await choose(page, "Block contact");
  await rows.filter({ hasText: "Amazing Grace" }).waitFor({ state: "detached" });
  await page.getByRole("navigation", { name: "Contacts" }).getByText("Blocked", { exact: true }).click();
  await rows.filter({ hasText: "Amazing Grace" }).waitFor();
  // The URL still names the conversation, so a reload opens it again.
  await page.reload();
  await choose(page, "Unblock contact");
  await rows.filter({ hasText: "Amazing Grace" }).waitFor();

  await choose(page, "Delete contact");
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await rows.filter({ hasText: "Amazing Grace" }).waitFor({ state: "detached" });
  await page.getByRole("heading", { name: "Choose a conversation" }).waitFor();
  assert.deepEqual(guard.complaints, []);
});

test("every control is reached by the keyboard, and a dialog traps the focus", {
  skip: noChromium,
}, async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  for (const name of ["ada", "alan", "barbara"]) await makeContact(server, user, name);
  const { page, guard } = await openPage(await openBrowser(t), server.url);
  await signIn(page, server.url, user.token);
  await page.getByRole("option").nth(2).waitFor();
  await page.getByLabel("Search contacts").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  const list = page.getByRole("listbox");
  const active = await list.getAttribute("aria-activedescendant");
  assert.equal(active, await page.getByRole("option", { name: "alan" }).getAttribute("id"));
  await page.keyboard.press("End");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "ada" }).waitFor();

  const add = page.getByRole("button", { name: "Add a contact" });
  await add.focus();
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog");
  await dialog.waitFor();
  for (let i = 0; i < 12; i++) {
    await page.keyboard.press("Tab");
    // The browser's toolbar is part of the tab order; there the page has no focus.
    const place = await page.evaluate(() => document.activeElement?.closest("dialog, body")?.nodeName);
    const focused = await page.evaluate(() => document.activeElement?.nodeName);
    assert.ok(place === "DIALOG" || focused === "BODY", `${focused} has the focus`);
  }
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  assert.equal(await add.evaluate((button) => button === document.activeElement), true);
  assert.deepEqual(guard.complaints, []);
});

test("contacts changed on another device update on the page", { skip: noChromium }, async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const { page, guard } = await openPage(await openBrowser(t), server.url);
  const listening = page.waitForEvent("websocket");
  await signIn(page, server.url, user.token);
  await listening;
  const { id } = await makeContact(server, user, "ada");
  await page.getByRole("option", { name: "ada" }).click();
  const address = `${server.url}/v1/contacts/${id}`;
  const body = new URLSearchParams({ display_name: "Ada Lovelace" });
  await fetch(address, { method: "PUT", headers: user.headers, body });
  await page.getByRole("option", { name: "Ada Lovelace" }).waitFor();
  await page.getByRole("heading", { name: "Ada Lovelace" }).waitFor();
  await fetch(address, { method: "DELETE", headers: user.headers });
  await page.getByText("No contacts yet").waitFor();
  await page.getByRole("heading", { name: "Welcome to Parley" }).waitFor();
  assert.deepEqual(guard.complaints, []);
});
