// The administration in Firefox: a user, a token and a webhook.
import assert from "node:assert/strict";
import { SCOPES } from "../../src/core/people/tokens.ts";
import { hook, newest } from "../support/hooks.ts";
import { receiver } from "../support/receiver.ts";
import { addUser, dialog, enter, go, hear, press, row, sendNote, statusFor } from "./in-admin.ts";
import { assertFit, testInFirefox } from "./in-firefox.ts";

testInFirefox("an administrator creates a user and a token, and revokes it", async (world) => {
  const { server, proxy } = world;
  const admin = await addUser(server, "admin", { scopes: SCOPES, name: "desk" });
  const { page, guard } = await world.visit();
  await enter(page, proxy.url, admin.token);
  await page.getByRole("img", { name: /^Requests:/ }).waitFor();
  await go(page, "Users");
  await press(page, "Create a user");
  await dialog(page).getByLabel("Username").fill("bob");
  await press(page, "Create");
  await page.getByRole("heading", { name: "bob", level: 1 }).waitFor();
  await press(page, "Create a token");
  await dialog(page).getByLabel("What it is for").fill("phone");
  await dialog(page).getByText("30 days").click();
  await press(page, "Create");
  const token = await dialog(page).getByLabel("Token", { exact: true }).inputValue();
  await press(page, "Copy token");
  await hear(page, "Token copied.");
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), token);
  await press(page, "Done");
  await row(page, "Tokens of bob", "phone").waitFor();
  assert.equal(await statusFor(server, token), 200);
  await press(page, "Revoke phone");
  await dialog(page).getByRole("button", { name: "Revoke" }).click();
  await hear(page, "phone was revoked.");
  assert.equal(await statusFor(server, token), 401);
  await go(page, "Audit trail");
  await row(page, "Audit trail", "admin revoked the token “phone” of bob").waitFor();
  assert.deepEqual(guard.complaints, []);
});

testInFirefox("a webhook's page says why it fails and sends the event again", async (world) => {
  const { t, server, proxy } = world;
  const admin = await addUser(server, "admin", { scopes: SCOPES, name: "desk" });
  const bob = await addUser(server, "bob");
  let status = 500;
  const to = await receiver(t, (response) => response.writeHead(status).end());
  const made = await hook(server, bob, to);
  await sendNote(server, bob, "hello");
  await newest(server, bob, made, { last_status: 500 });
  const { page, guard } = await world.visit();
  await enter(page, proxy.url, admin.token);
  await go(page, "Webhooks");
  await row(page, "Webhooks", /Failing.*bob/)
    .getByRole("link")
    .first()
    .click();
  await row(page, "Deliveries", /Message created.*Retrying.*Answers 500/).waitFor();
  for (const width of [390, 1280]) {
    await page.setViewportSize({ width, height: 844 });
    await assertFit(page, `a webhook at ${width} pixels`);
  }
  status = 204;
  await page.getByRole("button", { name: "Send again: Message created" }).first().click();
  await hear(page, "The event is sent again.");
  await to.wait(2);
  await row(page, "Deliveries", /Message created.*Delivered.*204/)
    .first()
    .waitFor();
  assert.deepEqual(guard.complaints, []);
});
