import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import type { Download, Page } from "playwright-core";
import { asker } from "../support/asker.ts";
import { noChromium } from "../support/engines/chromium.ts";
import { addUser, dialog, go, openOffice, press, row } from "./in-admin.ts";

const skip = noChromium;

/** Exports the listed entries, and returns the lines of the file. */
async function exportAs(page: Page, format: string): Promise<string[]> {
  await press(page, "Export");
  await dialog(page).getByText(format, { exact: true }).click();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    dialog(page).getByRole("button", { name: "Export" }).click(),
  ]);
  return (await readFile(await (download as Download).path(), "utf8")).trim().split(/\r?\n/);
}

test("the audit trail is filtered, and the export has the same filters", { skip }, async (t) => {
  const { page, guard, server, ask, admin } = await openOffice(t);
  const bob = await addUser(server, "bob");
  const ann = await addUser(server, "ann");
  for (const [user_id, name] of [
    [bob.id, "phone"],
    [ann.id, "=cmd()"],
  ])
    assert.equal((await ask("POST", "/v1/tokens", { user_id, name })).status, 201);
  await asker(server, bob)("POST", "/v1/contacts", { username: "ann", phone_number: "+1 555 0100" });
  await go(page, "Audit trail");
  const rows = page.getByRole("grid", { name: "Audit trail" }).locator("tbody tr");
  const settled = (count: number) =>
    page.waitForFunction((count) => document.querySelectorAll("tbody tr").length === count, count);
  await row(page, "Audit trail", "bob added a contact").waitFor();
  await page.getByRole("combobox", { name: "Done by" }).fill("BOB");
  await settled(1);
  await page.getByRole("combobox", { name: "Done by" }).fill("nobody");
  await page.getByText("No user has this username.").waitFor();
  await page.getByText("No entry matches these filters").waitFor();
  await press(page, "Clear the filters");
  await page.getByRole("searchbox", { name: "About" }).fill("bob");
  await page.getByLabel("Action").selectOption({ label: "Tokens: all" });
  // Two entries: the token of the command line and the administrator's.
  await settled(2);
  await rows.first().getByText("admin created the token “phone” of bob").waitFor();
  assert.match(page.url(), /#admin\/audit\?about=bob&action=token\.$/);
  const lines = (await exportAs(page, "JSON lines")).map((line) => JSON.parse(line));
  assert.deepEqual(
    lines.map(({ actor_id }) => actor_id),
    [admin.id, null],
  );
  await page.getByRole("searchbox", { name: "About" }).fill("=cmd");
  await settled(1);
  const [header, line, ...others] = await exportAs(page, "CSV");
  assert.match(header!, /^time,what,action,/);
  assert.match(line!, /,admin created the token “=cmd\(\)” of ann,token\.created,/);
  assert.deepEqual(others, []);
  await page.getByLabel("To (UTC)", { exact: true }).fill("2001-01-01");
  await page.getByText("No entry matches these filters").waitFor();
  assert.deepEqual(guard.complaints, []);
});

test("a search of the audit trail finds old entries on the server", { skip }, async (t) => {
  const { page, server, guard, ask } = await openOffice(t);
  const bob = await addUser(server, "bob");
  assert.equal((await ask("DELETE", `/v1/users/${bob.id}`)).status, 204);
  const { db, newId, clock } = server.app.core;
  const newDownload = () => ({
    entry: { id: newId("aud"), at: clock(), actorId: null, tokenId: null, actedById: null },
    attachmentId: newId("att"),
    details: { address: "192.0.2.1", count: 1 },
  });
  // More entries than the server examines per request.
  for (let part = 0; part < 5; part++)
    await db.write("recordDownloads", { downloads: Array.from({ length: 4100 }, newDownload) });
  await go(page, "Audit trail");
  const asked: string[] = [];
  page.on("request", (request) => request.url().includes("/v1/audit") && asked.push(request.url()));
  await page.getByLabel("Action").selectOption({ label: "Users: Erased" });
  await row(page, "Audit trail", "admin erased the user “bob”").waitFor();
  assert.equal(asked.length, 2, asked.join("\n"));
  assert.deepEqual(guard.complaints, []);
});

test("a user who cannot be read is not reported as unknown", { skip }, async (t) => {
  const { page, server } = await openOffice(t);
  await addUser(server, "bob", { name: "phone" });
  await page.route("**/v1/users?*", (route) => route.abort());
  for (const [section, field, text] of [
    ["Audit trail", "Done by", "No entry matches these filters"],
    ["Tokens", "User of the tokens", "bob has no tokens"],
  ] as const) {
    await go(page, section);
    const table = page.getByRole("grid", { name: section });
    await table.waitFor();
    await page.getByRole("combobox", { name: field }).fill("bob");
    await page.getByRole("alert").filter({ hasText: "The server cannot be reached." }).waitFor();
    assert.equal(await table.count(), 0, "no entries of others");
    assert.equal(await page.getByText(text).count(), 0);
  }
  await page.unroute("**/v1/users?*");
  await press(page, "Try again");
  await row(page, "Tokens", "phone").waitFor();
  assert.equal(await page.getByRole("grid", { name: "Tokens" }).locator("tbody tr").count(), 1);
});

test("an export can be cancelled", { skip }, async (t) => {
  const { page } = await openOffice(t);
  await go(page, "Audit trail");
  let isHeld = false;
  await page.route("**/v1/audit*", async () => {
    isHeld = true;
  });
  await press(page, "Export");
  await dialog(page).getByRole("button", { name: "Export" }).click();
  await dialog(page).getByText("Reading").waitFor();
  await press(page, "Cancel");
  await dialog(page).waitFor({ state: "detached" });
  assert.ok(isHeld);
});
