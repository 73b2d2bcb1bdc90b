import assert from "node:assert/strict";
import { test } from "node:test";
import { upload } from "../support/app.ts";
import { asker } from "../support/asker.ts";
import { noChromium, openBrowser } from "../support/engines/chromium.ts";
import { hook, newest } from "../support/hooks.ts";
import { receiver } from "../support/receiver.ts";
import { assertAccessible, openAccount, openPage, signIn } from "./browser.ts";
import {
  addUser,
  dialog,
  go,
  hear,
  type Office,
  openOffice,
  press,
  row,
  sendNote,
  statusFor,
} from "./in-admin.ts";

const skip = noChromium;

/** Creates Bob, and returns the token that the page shows once. */
async function welcomeBob({ page, server, ask }: Office): Promise<string> {
  await go(page, "Users");
  await press(page, "Create a user");
  await dialog(page).getByLabel("Username").fill("bob");
  await dialog(page).getByLabel("Phone number").fill("+1 555 0100");
  await dialog(page).getByLabel("Display name").fill("Bob Kahn");
  await press(page, "Create");
  await page.getByRole("heading", { name: "bob", level: 1 }).waitFor();
  await page.getByText("+1 555 0100").waitFor();
  await press(page, "Create a token");
  await dialog(page).getByLabel("What it is for").fill("phone");
  assert.equal(await dialog(page).getByLabel("metrics").isChecked(), false);
  await dialog(page).getByLabel("Upload, rename and delete files").uncheck();
  await dialog(page).getByText("30 days").click();
  await press(page, "Create");
  const field = dialog(page).getByLabel("Token", { exact: true });
  const token = await field.inputValue();
  // This warns first: the token would be lost.
  await press(page, "Done");
  await dialog(page).getByText("The token has not been copied").waitFor();
  await press(page, "Copy token");
  await hear(page, "Token copied.");
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), token);
  await press(page, "Done");
  await row(page, "Tokens of bob", /phone.*All except|phone.*contacts:read/).waitFor();
  assert.equal(await page.getByText(token).count(), 0);
  const { data } = (await ask("GET", "/v1/tokens?limit=1")).body as { data: Record<string, unknown>[] };
  const inDays = (Number(data[0]!.expires_at) - Date.now() / 1000) / 86_400;
  assert.ok(Math.abs(inDays - 30) < 0.1, `${inDays}`);
  assert.ok(!(data[0]!.scopes as string[]).includes("attachments:write"));
  assert.equal(await statusFor(server, token), 200);
  return token;
}

/** Finds the owner of the leaked token, revokes it, and reads in the audit trail who did. */
async function revokeLeaked({ page, server }: Office, token: string): Promise<void> {
  await go(page, "Users");
  await page.getByRole("searchbox", { name: "Find users" }).fill("kah");
  await page.getByText("1 found").waitFor();
  await row(page, "Users", "Bob Kahn").getByRole("link").click();
  await press(page, "Revoke phone");
  await dialog(page).getByText("this token of bob").waitFor();
  await press(page, "Revoke");
  await hear(page, "phone was revoked.");
  await page.getByText("No tokens.").waitFor();
  assert.equal(await statusFor(server, token), 401);
  await go(page, "Audit trail");
  await row(page, "Audit trail", "admin revoked the token “phone” of bob").waitFor();
}

async function erase({ page, ask }: Office): Promise<void> {
  await go(page, "Users");
  await row(page, "Users", "bob").getByRole("link").click();
  await press(page, "Erase user");
  await dialog(page).getByText("They leave every conversation and group.").waitFor();
  await dialog(page).getByLabel("Type bob to confirm").fill("bo");
  await dialog(page).getByRole("button", { name: "Erase user" }).click();
  await dialog(page).getByRole("alert").filter({ hasText: "Type bob exactly" }).waitFor();
  const { data } = (await ask("GET", "/v1/users?username=bob")).body as { data: { id: string }[] };
  assert.equal(data.length, 1);
  await dialog(page).getByLabel("Type bob to confirm").fill("bob");
  await dialog(page).getByRole("button", { name: "Erase user" }).click();
  await hear(page, "bob was erased.");
  await page.getByRole("heading", { name: "Users", level: 1 }).waitFor();
  assert.equal(await row(page, "Users", "bob").count(), 0);
  assert.equal((await ask("GET", `/v1/users/${data[0]!.id}`)).status, 404);
  await page.goBack();
  await page.getByText("This user does not exist").waitFor();
}

test("an administrator creates a user and a token, revokes it and erases the user", { skip }, async (t) => {
  const office = await openOffice(t);
  const token = await welcomeBob(office);
  await revokeLeaked(office, token);
  await erase(office);
  assert.deepEqual(office.guard.complaints, []);
});

test("a taken username links to its user", { skip }, async (t) => {
  const { page, server } = await openOffice(t);
  await addUser(server, "bob");
  await go(page, "Users");
  await press(page, "Create a user");
  await dialog(page).getByLabel("Username").fill("BOB");
  await press(page, "Create");
  await dialog(page).getByText("A user with this username already exists.").waitFor();
  await dialog(page).getByRole("link", { name: "Open the user" }).click();
  await page.getByRole("heading", { name: "bob", level: 1 }).waitFor();
});

test("a webhook's page says why it fails and sends the event again", { skip }, async (t) => {
  const { page, guard, server, ask } = await openOffice(t);
  const bob = await addUser(server, "bob");
  let status = 401;
  const to = await receiver(t, (response) => response.writeHead(status).end());
  const made = await hook(server, bob, to);
  await sendNote(server, bob, "hello");
  await newest(server, bob, made, { last_status: 401 });
  await go(page, "Webhooks");
  const found = row(page, "Webhooks", /Failing.*Returned 401.*bob/);
  await found.getByRole("link").first().click();
  const verdict = page.getByRole("status", { name: "State" });
  await verdict.getByText("asks for a sign-in").waitFor();
  await verdict.getByText("Exempt this address from the sign-in").waitFor();
  await row(page, "Deliveries", /Message created.*Retrying.*Returned 401/).waitFor();
  // Only the owner can send a test.
  assert.equal(await page.getByRole("button", { name: "Send a test" }).count(), 0);
  status = 204;
  const before = to.received.length;
  await page.getByRole("button", { name: "Send again: Message created" }).first().click();
  await hear(page, "The event is sent again.");
  await to.wait(before + 1);
  await row(page, "Deliveries", /Message created.*Delivered.*204/)
    .first()
    .waitFor();
  await verdict.getByText("Delivering").waitFor();
  // Nobody else can resend an accepted delivery.
  const accepted = to.received.length;
  await page.getByRole("button", { name: "Send again: Message created" }).first().click();
  await to.wait(accepted + 1);
  await press(page, "Disable");
  await dialog(page).getByRole("button", { name: "Disable" }).click();
  await verdict.getByText("Disabled").waitFor();
  assert.equal((await ask("GET", `/v1/webhooks/${made.id}`)).body.enabled, false);
  await press(page, "Enable");
  await verdict.getByText("Delivering").waitFor();
  await press(page, "Delete");
  await dialog(page).getByRole("button", { name: "Delete" }).click();
  await page.getByText("No webhooks yet").waitFor();
  assert.equal((await ask("GET", `/v1/webhooks/${made.id}`)).status, 404);
  assert.deepEqual(guard.complaints, []);
});

test("a webhook whose receiver answers 410 shows as disabled, with advice", { skip }, async (t) => {
  const { page, server, admin } = await openOffice(t);
  const to = await receiver(t, (response) => response.writeHead(410).end());
  const { id } = await hook(server, admin, to);
  await page.goto(`${server.url}/#admin/webhooks/${id}`);
  await page.getByText("Nothing sent yet").waitFor();
  await press(page, "Send a test");
  await hear(page, "A test event was sent.");
  const verdict = page.getByRole("status", { name: "State" });
  await verdict.getByText("Disabled", { exact: true }).waitFor();
  await verdict.getByText("Returned 410", { exact: true }).waitFor();
  await row(page, "Deliveries", /Test event.*Failed/).waitFor();
});

test("the overview shows the server's metrics", { skip }, async (t) => {
  const { page, guard, server, admin, ask } = await openOffice(t);
  assert.equal((await upload(server.url, admin, new File(["x".repeat(950)], "a.txt"))).status, 201);
  await page.getByText("All checks pass.").waitFor();
  await page.getByText("The files of all users take 950 bytes.").waitFor();
  for (const label of ["Requests", "Server errors", "Latency", "Queued writes", "Memory"])
    await page.getByRole("img", { name: new RegExp(`^${label}:`) }).waitFor();
  await page.getByRole("img", { name: /^Memory: now \d/ }).waitFor();
  for (let count = 0; count < 40; count++) await ask("GET", "/v1/users");
  await page.getByRole("img", { name: /^Requests: now (?!0 )/ }).waitFor();
  await page.getByRole("img", { name: /^Latency: now [\d.,]+ m?s/ }).waitFor();
  // The server is unreachable, and then back.
  await page.route("**/metrics", (route) => route.abort());
  await page.getByRole("alert").filter({ hasText: "The figures are not up to date." }).waitFor();
  await page.unroute("**/metrics");
  await page
    .getByRole("alert")
    .filter({ hasText: "The figures are not up to date." })
    .waitFor({ state: "detached" });
  assert.deepEqual(guard.complaints, []);
  server.app.core.fuse.blow(new Error("EIO"));
  await page.getByText("Not ready").waitFor();
  await page.getByText("Check the disk, then restart the server.").waitFor();
});

test("the title counts unread conversations, and / opens a search", { skip }, async (t) => {
  const { page, server, ask } = await openOffice(t);
  const bob = asker(server, await addUser(server, "bob"));
  await ask("POST", "/v1/contacts", { username: "bob", phone_number: "555" });
  const { body } = await bob("POST", "/v1/contacts", { username: "admin", phone_number: "555" });
  await bob("POST", "/v1/messages", { conversation_id: body.conversation_id, text: "hello" });
  await page.waitForFunction(() => document.title === "(1) Overview · Administration · Parley");
  await page.keyboard.press("/");
  await page.getByRole("searchbox", { name: "Find users" }).and(page.locator(":focus")).waitFor();
  await go(page, "Tokens");
  await page.keyboard.press("/");
  await page.getByRole("combobox", { name: "User of the tokens" }).and(page.locator(":focus")).waitFor();
});

test("a table that names many users reads a few at a time", { skip }, async (t) => {
  const { page, server } = await openOffice(t);
  for (let at = 0; at < 30; at++) await addUser(server, `user ${at}`);
  let [reading, most] = [0, 0];
  await page.route("**/v1/users/usr_*", async (route) => {
    most = Math.max(most, ++reading);
    const response = await route.fetch();
    reading--;
    await route.fulfill({ response });
  });
  await go(page, "Tokens");
  for (let at = 0; at < 30; at++) await page.getByRole("link", { name: `user ${at}`, exact: true }).waitFor();
  assert.ok(most > 0 && most <= 4, `${most} at once`);
});

test("a token with only the scope admin shows only the administration", { skip }, async (t) => {
  const { page, guard, server } = await openOffice(t, { scopes: ["admin"] });
  assert.equal(await page.getByRole("link", { name: "Conversations" }).count(), 0);
  await page.goto(`${server.url}/#notes`);
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await go(page, "Users");
  await row(page, "Users", "admin").getByRole("link").click();
  await row(page, "Tokens of admin", "admin").waitFor();
  await go(page, "Webhooks");
  await page.getByText("This token does not show webhooks").waitFor();
  assert.deepEqual(await page.locator(".toast").allTextContents(), []);
  await press(page, "Sign out");
  await page.getByLabel("Access token").waitFor();
  assert.deepEqual(guard.complaints, []);
});

test("a token without the scope admin sees nothing of the administration", { skip }, async (t) => {
  const { server } = await openOffice(t);
  const bob = await addUser(server, "bob");
  const { page, guard } = await openPage(await openBrowser(t), server.url);
  const asked: string[] = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  await signIn(page, server.url, bob.token);
  await openAccount(page);
  await page.getByRole("menuitem", { name: "Sign out" }).waitFor();
  assert.equal(await page.getByRole("link", { name: "Administration" }).count(), 0);
  await page.goto(`${server.url}/#admin/users`);
  await page.getByRole("link", { name: "Notes to self" }).waitFor();
  assert.deepEqual(
    asked.filter((path) => /administration|users|tokens|audit|metrics/.test(path)),
    [],
  );
  assert.deepEqual(guard.complaints, []);
});

test("a leaked token is found by its secret and revoked after a confirmation", { skip }, async (t) => {
  const { server, page, guard } = await openOffice(t);
  const ann = await addUser(server, "ann", { name: "bot" });
  await go(page, "Tokens");
  const find = async (secret: string) => {
    await press(page, "Revoke a leaked token");
    await dialog(page).getByLabel("Token").fill(secret);
    await press(page, "Find");
  };
  await find(ann.token);
  await dialog(page).getByRole("heading", { name: "Revoke “bot”?" }).waitFor();
  await dialog(page).getByText("this token of ann").waitFor();
  assert.equal(await statusFor(server, ann.token), 200);
  await press(page, "Revoke");
  await hear(page, "bot was revoked.");
  await row(page, "Tokens", "bot").waitFor({ state: "detached" });
  assert.equal(await statusFor(server, ann.token), 401);
  await assertAccessible(page, "a notice with a link");
  await page.getByRole("link", { name: "See what it did" }).press("Enter");
  await row(page, "Audit trail", "admin revoked the token “bot” of ann").waitFor();
  assert.equal(await row(page, "Audit trail", "created the user").count(), 0, "of other things");
  await page.getByText("was revoked.").waitFor({ state: "detached" });
  await page.goBack();
  await find(ann.token);
  await dialog(page).getByText("This token cannot be used").waitFor();
  await press(page, "Cancel");
  await find("not a token ☃");
  await dialog(page).getByText("There is no token in this text.").waitFor();
  assert.deepEqual(guard.complaints, []);
});

test("revoking the session's own token warns and signs out", { skip }, async (t) => {
  const { page, server, admin } = await openOffice(t);
  await go(page, "Tokens");
  await row(page, "Tokens", "This session").waitFor();
  await press(page, "Revoke desk");
  await dialog(page).getByText("revoking it signs you out").waitFor();
  await press(page, "Cancel");
  assert.equal(await statusFor(server, admin.token), 200);
  await press(page, "Revoke desk");
  await press(page, "Revoke and sign out");
  await page.getByRole("alert").filter({ hasText: "You were signed out." }).waitFor();
  assert.equal(await statusFor(server, admin.token), 401);
});

test("a table is one tab stop, and the arrow keys move inside", { skip }, async (t) => {
  const { page, server } = await openOffice(t);
  for (const name of ["ann", "bob", "cat"]) await addUser(server, name, { name: `of ${name}` });
  await go(page, "Tokens");
  await row(page, "Tokens", "of ann").getByText("ann", { exact: true }).waitFor();
  const focused = () =>
    page.evaluate(
      () => document.activeElement!.getAttribute("aria-label") ?? document.activeElement!.textContent,
    );
  await page.getByRole("combobox", { name: "User of the tokens" }).focus();
  await page.keyboard.press("Tab");
  assert.equal(await focused(), "cat");
  await page.keyboard.press("ArrowDown");
  assert.equal(await focused(), "bob");
  await page.keyboard.press("ArrowRight");
  assert.equal(await focused(), "Activity of of bob");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowDown");
  assert.equal(await focused(), "Revoke of ann");
  await page.keyboard.press("End");
  assert.equal(await focused(), "Revoke desk");
  await page.keyboard.press("Shift+Tab");
  assert.equal(
    await page.evaluate(() => document.activeElement!.getAttribute("aria-label")),
    "User of the tokens",
  );
  // The focus stays in the table when its row is removed.
  await page.keyboard.press("Tab");
  for (const key of ["Home", "ArrowRight", "ArrowRight", "Enter"]) await page.keyboard.press(key);
  await dialog(page).getByRole("button", { name: "Revoke" }).press("Enter");
  await hear(page, "of cat was revoked.");
  await page.waitForFunction(() => document.activeElement!.closest("tr")?.textContent?.includes("of bob"));
});

test("Back returns from the administration to the conversation", { skip }, async (t) => {
  const { page, server, admin } = await openOffice(t);
  await page.getByRole("link", { name: "Conversations" }).click();
  await page.getByRole("link", { name: "Notes to self" }).waitFor();
  await page.getByRole("link", { name: "Administration" }).click();
  await page.waitForFunction(() => document.title === "Overview · Administration · Parley");
  await page.goBack();
  await page.waitForFunction(() => document.title === "Parley");
  await page.goto(`${server.url}/#admin/users/${admin.id}`);
  await page.reload();
  await page.getByRole("heading", { name: "admin", level: 1 }).waitFor();
});
