// What administrators create and change in the console: webhooks and users, and what they see of them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { upload } from "../support/app.ts";
import { asker } from "../support/asker.ts";
import { noChromium } from "../support/engines/chromium.ts";
import { eventually } from "../support/files-on-disk.ts";
import { verify } from "../support/hooks.ts";
import { receiver } from "../support/receiver.ts";
import { assertAccessible, makeContact, openPage, signIn } from "./browser.ts";
import { addUser, dialog, go, hear, openOffice, press, row, sendNote } from "./in-admin.ts";

const skip = noChromium;

test("a webhook is created, changed and its secret rotated in the console", { skip }, async (t) => {
  const { page, guard, server, admin } = await openOffice(t);
  const [to, elsewhere] = [await receiver(t), await receiver(t)];
  await go(page, "Webhooks");
  await press(page, "Create a webhook");
  await dialog(page).getByLabel("Address").fill("ftp://receiver.invalid");
  await press(page, "Create");
  await dialog(page).getByText("The address must start with https:").waitFor();
  await dialog(page).getByLabel("Address").fill(to.url);
  await dialog(page).getByLabel("Events of all users").uncheck();
  await dialog(page).getByText("Some", { exact: true }).click();
  await press(page, "Create");
  await dialog(page).getByText("Choose at least one type").waitFor();
  await dialog(page).getByLabel("Message created").check();
  await assertAccessible(page, "creating a webhook");
  await press(page, "Create");
  const secret = await dialog(page).getByLabel("Secret", { exact: true }).inputValue();
  await press(page, "Copy secret");
  await press(page, "Done");
  await row(page, "Webhooks", /Nothing sent yet.*admin.*Message created/)
    .getByRole("link")
    .first()
    .click();
  await sendNote(server, admin, "hello");
  const [received] = await to.wait(1);
  verify(secret, received!);
  // The receiver's log has the same id.
  await row(page, "Deliveries", String(received!.headers["webhook-id"])).getByText("204").waitFor();
  await press(page, "Copy event id");
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), received!.headers["webhook-id"]);
  await press(page, "Rotate the secret");
  await press(page, "Rotate");
  const rotated = await dialog(page).getByLabel("Secret", { exact: true }).inputValue();
  assert.notEqual(rotated, secret);
  await press(page, "Copy secret");
  await press(page, "Done");
  await press(page, "Change");
  await dialog(page).getByLabel("Address").fill(elsewhere.url);
  assert.ok(await dialog(page).getByLabel("Message created").isChecked());
  await dialog(page).getByText("All types", { exact: true }).click();
  await press(page, "Save");
  await hear(page, "The webhook was changed.");
  await page.getByText("All types", { exact: true }).waitFor();
  await sendNote(server, admin, "again");
  verify(rotated, (await elsewhere.wait(1))[0]!);
  assert.deepEqual(guard.complaints, []);
});

test("the webhook of another user has no button to change it", { skip }, async (t) => {
  const { page, server } = await openOffice(t);
  const bob = await addUser(server, "bob");
  const { body } = await asker(server, bob)("POST", "/v1/webhooks", { url: "https://receiver.invalid/" });
  await page.goto(`${server.url}/#admin/webhooks/${body.id}`);
  await page.getByRole("button", { name: "Disable" }).waitFor();
  for (const name of ["Change", "Rotate the secret"])
    assert.equal(await page.getByRole("button", { name }).count(), 0);
});

test("a user's page has files, groups and the use of tokens, and changes the profile", {
  skip,
}, async (t) => {
  const { page, guard, server, ask } = await openOffice(t);
  const [bob, ann] = [await addUser(server, "bob", { name: "phone" }), await addUser(server, "ann")];
  const { conversation_id } = await makeContact(server, ann, "bob");
  await makeContact(server, bob, "ann");
  await upload(server.url, bob, new File(["12345"], "report.pdf"));
  await upload(server.url, ann, new File(["1"], "hills.png"), { conversation_id });
  await asker(server, bob)("POST", "/v1/groups", { name: "Book club", members: [] });
  await eventually(async () => {
    const { data } = (await ask("GET", `/v1/tokens?user_id=${bob.id}`)).body;
    return (data as { last_used_at: unknown }[])[0]!.last_used_at !== null;
  });
  await page.goto(`${server.url}/#admin/users/${bob.id}`);
  await row(page, "Files of bob", /report\.pdf *5 bytes/).waitFor();
  await row(page, "Files of bob", /hills\.png *Received/).waitFor();
  await row(page, "Groups of bob", /Book club.*Admin.*1 member/).waitFor();
  await row(page, "Tokens of bob", "phone").locator("td[data-label='Last used'] time").waitFor();
  await press(page, "Change");
  await dialog(page).getByLabel("Display name").fill("Bob Kahn");
  await dialog(page).getByLabel("Phone number").fill("1");
  await press(page, "Save");
  await dialog(page).getByText("must have 3 to 64 characters").waitFor();
  await dialog(page).getByLabel("Phone number").fill("+1 555 0100");
  await dialog(page).getByLabel("Messages to others per minute").fill("600");
  await assertAccessible(page, "changing a user");
  await press(page, "Save");
  await hear(page, "bob was changed.");
  for (const text of ["Bob Kahn", "+1 555 0100", "600"])
    await page.getByText(text, { exact: true }).waitFor();
  const { body } = await ask("GET", `/v1/users/${bob.id}`);
  assert.deepEqual(
    [body.display_name, body.phone_number, body.message_limit],
    ["Bob Kahn", "+1 555 0100", 600],
  );
  assert.deepEqual(guard.complaints, []);
});

test("the downloads of a file are one entry of the audit trail, with its name", { skip }, async (t) => {
  const { page, guard, server, admin } = await openOffice(t);
  const sent = await upload(server.url, admin, new File(["x"], "report.pdf"));
  const { id } = (await sent.json()) as { id: string };
  const { db, newId, clock } = server.app.core;
  const downloads = [9, 2, 1].map((count, at) => ({
    entry: { id: newId("aud"), at: clock(), actorId: null, tokenId: null, actedById: null },
    attachmentId: id,
    details: { address: `192.0.2.${at}`, count },
  }));
  await db.write("recordDownloads", { downloads });
  await go(page, "Audit trail");
  await row(page, "Audit trail", "admin uploaded “report.pdf”").waitFor();
  const one = row(page, "Audit trail", "12 downloads of “report.pdf” by its link from 192.0.2.2 and 2 other");
  await one.waitFor();
  await assertAccessible(page, "grouped entries");
  await one.getByRole("button", { name: "Show each" }).click();
  await row(page, "Audit trail", "downloaded “report.pdf” by its link from 192.0.2.0, 9 times").waitFor();
  assert.equal(await one.count(), 0);
  assert.deepEqual(guard.complaints, []);
});

test("a user is paused and resumed, which lists, the trail and the user's own console show", {
  skip,
}, async (t) => {
  const { page, guard, server } = await openOffice(t);
  const bob = await addUser(server, "bob");
  const { page: bobs } = await openPage(page.context().browser()!, server.url);
  await signIn(bobs, server.url, bob.token);
  await page.goto(`${server.url}/#admin/users/${bob.id}`);
  await press(page, "Pause");
  await dialog(page).getByText("Nothing is lost").waitFor();
  await assertAccessible(page, "pausing a user");
  await dialog(page).getByRole("button", { name: "Pause" }).click();
  await hear(page, "bob was paused.");
  await page.getByText("Paused", { exact: true }).waitFor();
  await assertAccessible(page, "a paused user");
  await bobs.getByText("An administrator has paused your account.").waitFor();
  await go(page, "Users");
  await row(page, "Users", /bob.*Paused/).waitFor();
  assert.equal(await row(page, "Users", /admin.*Paused/).count(), 0);
  await assertAccessible(page, "a list with a paused user");
  await row(page, "Users", /bob/).getByRole("link").click();
  await press(page, "Resume");
  await dialog(page).getByRole("button", { name: "Resume" }).click();
  await hear(page, "bob was resumed.");
  await page.getByRole("button", { name: "Pause" }).waitFor();
  await go(page, "Audit trail");
  await page.getByText("paused bob").waitFor();
  await page.getByText("resumed bob").waitFor();
  await go(page, "Users");
  await row(page, "Users", /admin/).getByRole("link").click();
  await page.getByRole("button", { name: "Change" }).waitFor();
  assert.equal(await page.getByRole("button", { name: "Pause" }).count(), 0);
  assert.deepEqual(guard.complaints, []);
});
