// The administration in Firefox: a user and a token.
import assert from "node:assert/strict";
import { SCOPES } from "../../src/core/people/tokens.ts";
import { addUser, dialog, enter, go, hear, press, row, statusFor } from "./in-admin.ts";
import { testInFirefox } from "./in-firefox.ts";

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
