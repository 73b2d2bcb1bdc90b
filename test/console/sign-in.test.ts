import assert from "node:assert/strict";
import { test } from "node:test";
import { revokeTokensOf } from "../../src/core/access/tokens.ts";
import { startApp } from "../support/app.ts";
import { noChromium, openBrowser } from "../support/engines/chromium.ts";
import { openPage, signIn } from "./browser.ts";

test("a token signs in, and is kept no longer than the person wants", { skip: noChromium }, async (t) => {
  const server = await startApp(t);
  const { token } = await server.user();
  const { page, guard } = await openPage(await openBrowser(t), server.url);
  const stored = () => page.evaluate(() => JSON.stringify([{ ...sessionStorage }, { ...localStorage }]));
  await signIn(page, server.url, token);
  assert.doesNotMatch(await stored(), /parley_/);
  await page.reload();
  await page.getByLabel("Access token").fill(token);
  await page.getByLabel("Stay signed in").check();
  await page.keyboard.press("Enter");
  await page.getByText("No contacts yet").waitFor();
  assert.equal(await stored(), JSON.stringify([{ "parley-token": token }, {}]));
  await page.reload();
  await page.getByText("No contacts yet").waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Access token").waitFor();
  assert.equal(await stored(), "[{},{}]");
  assert.deepEqual(guard.complaints, []);
});

test("a token that is not known, or not one at all, is refused with a reason", {
  skip: noChromium,
}, async (t) => {
  const server = await startApp(t);
  const { page, guard } = await openPage(await openBrowser(t), server.url);
  await page.goto(`${server.url}/`);
  for (const [token, reason] of [
    ["parley_wrong", /does not accept this token/],
    ["zwei Wörter", /without spaces/],
  ] as const) {
    await page.getByLabel("Access token").fill(token);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").filter({ hasText: reason }).waitFor();
  }
  assert.deepEqual(guard.complaints, []);
});

test("a token that is revoked meanwhile leads back to the sign-in, with the reason", {
  skip: noChromium,
}, async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const { page } = await openPage(await openBrowser(t), server.url);
  await signIn(page, server.url, user.token);
  await revokeTokensOf(server.app.core, null, user.id);
  // The stream of events ends with the token.
  await page.getByRole("alert").filter({ hasText: "You were signed out." }).waitFor();
  assert.equal(await page.getByLabel("Access token").inputValue(), "");
});
