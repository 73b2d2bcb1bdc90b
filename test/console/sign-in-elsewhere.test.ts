// Sign-ins that need no pasted token: at an identity provider, and by a link of the command line.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Page } from "playwright-core";
import { allTokens } from "../../src/core/people/tokens.ts";
import { startApp, startOn, type TestApp, testConfig } from "../support/app.ts";
import { noChromium, openBrowser } from "../support/engines/chromium.ts";
import { eventually } from "../support/files-on-disk.ts";
import { type OpenIdProvider, startOpenIdProvider } from "../support/openid-provider.ts";
import { openPage, signIn, signOut } from "./browser.ts";

async function start(t: TestContext): Promise<{ server: TestApp; provider: OpenIdProvider }> {
  const provider = await startOpenIdProvider(t);
  const { issuer, clientId } = provider;
  const openId = { issuer, clientId, clientSecret: null };
  const server = await startOn(t, { ...(await testConfig(t)), openId });
  return { server, provider };
}

const offer = (page: Page) => page.getByRole("button", { name: /^Sign in with / });

/** Signs in on the pages of the provider, and consents. */
async function signInThere(page: Page, name: string): Promise<void> {
  await page.locator("input[name=login]").fill(name);
  await page.locator("input[name=password]").fill("any");
  await page.locator("button[type=submit]").click();
  await page.getByRole("button", { name: "Continue" }).click();
}

test("a user signs in at the identity provider, and the address keeps nothing of it", {
  skip: noChromium,
}, async (t) => {
  const { server, provider } = await start(t);
  provider.register(`${server.url}/`);
  const { page, guard } = await openPage(await openBrowser(t), server.url);
  // The pages of the provider ask for it.
  await page.route("https://fonts.googleapis.com/**", (route) => route.abort());
  await page.goto(`${server.url}/`);
  await offer(page).click();
  await signInThere(page, "ada");
  await page.getByRole("link", { name: "Notes to self" }).waitFor();
  assert.equal(page.url(), `${server.url}/`);
  const stored = await page.evaluate(() => JSON.stringify([{ ...sessionStorage }, { ...localStorage }]));
  assert.doesNotMatch(stored, /parley_|code|verifier|signing/);
  await page.reload();
  await page.getByRole("link", { name: "Notes to self" }).waitFor();
  const tokens = () => allTokens(server.app.core);
  assert.equal((await tokens()).length, 1);
  await signOut(page);
  await offer(page).waitFor();
  // The token of the session is of no more use.
  assert.ok(await eventually(async () => (await tokens()).length === 0));
  const ours = guard.complaints.filter((each) => !/^asked /.test(each));
  assert.deepEqual(ours, []);
});

test("a refused or foreign answer of the provider signs nobody in", { skip: noChromium }, async (t) => {
  const { server, provider } = await start(t);
  provider.register(`${server.url}/`);
  const { page } = await openPage(await openBrowser(t), server.url);
  await page.goto(`${server.url}/?state=foreign&code=stolen`);
  await page.getByRole("alert").filter({ hasText: "Sign in again." }).waitFor();
  assert.equal(page.url(), `${server.url}/`);
  await offer(page).click();
  await page.getByRole("link", { name: /Cancel/ }).click();
  await page.getByRole("alert").filter({ hasText: "Sign in again." }).waitFor();
});

test("the sign-in page says that the provider does not answer", { skip: noChromium }, async (t) => {
  const { server, provider } = await start(t);
  await provider.close();
  const { page } = await openPage(await openBrowser(t), server.url);
  await page.goto(`${server.url}/`);
  await offer(page).click();
  await page.getByRole("alert").filter({ hasText: "The identity provider does not answer." }).waitFor();
});

test("a sign-in link asks, then signs a browser in, but replaces no user", {
  skip: noChromium,
}, async (t) => {
  const server = await startApp(t);
  const [ada, bob] = [await server.user(), await server.user()];
  const link = async ({ headers }: { headers: { authorization: string } }) => {
    const response = await fetch(`${server.url}/sign-in-link`, { method: "POST", headers });
    assert.equal(response.status, 201);
    const { code } = (await response.json()) as { code: string };
    return `${server.url}/#sign-in=${code}`;
  };
  const { page, guard } = await openPage(await openBrowser(t), server.url);
  const adas = await link(ada);
  const question = page.getByRole("heading", { name: "Sign in as user-1?", exact: true });
  await page.goto(adas);
  await question.waitFor();
  assert.doesNotMatch(page.url(), /sign-in/);
  assert.deepEqual(await page.context().cookies(), []);
  assert.equal(await page.evaluate(() => Object.keys(localStorage).length), 0);
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByLabel("Access token").waitFor();
  await page.goto("about:blank");
  await page.goto(adas);
  await question.waitFor();
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByRole("link", { name: "Notes to self" }).waitFor();
  const me = () =>
    page.evaluate(async () => {
      const [session] = Object.values(localStorage);
      return (await (await fetch("v1/me", { headers: { "parley-session": session } })).json()).id;
    });
  assert.equal(await me(), ada.id);
  const other = await page.context().newPage();
  await other.goto(await link(bob));
  await other.getByRole("link", { name: "Notes to self" }).waitFor();
  assert.equal(await me(), ada.id);
  // Only the hash of the address changes.
  const asked: string[] = [];
  other.on("request", (request) => asked.push(request.url()));
  const bobs = await link(bob);
  await other.goto(bobs);
  await other.waitForURL(`${server.url}/`);
  await other.getByRole("link", { name: "Notes to self" }).click();
  await other.getByRole("heading", { name: "Notes to self" }).waitFor();
  const code = bobs.slice(bobs.indexOf("=") + 1);
  assert.deepEqual(
    asked.filter((url) => url.includes("sign-in") || url.includes(code)),
    [],
  );
  assert.equal(await me(), ada.id);
  await signOut(other);
  await other.getByLabel("Access token").waitFor();
  await other.goto(bobs);
  await other.getByRole("heading", { name: "Sign in as user-2?", exact: true }).waitFor();
  assert.deepEqual(guard.complaints, []);
});

test("a refused sign-in link does not sign out a user who has signed in in another tab meanwhile", {
  skip: noChromium,
}, async (t) => {
  const server = await startApp(t);
  const { token } = await server.user();
  const { page } = await openPage(await openBrowser(t), server.url);
  const answered = Promise.withResolvers<void>();
  await page.route("**/sign-in", async (route) => {
    await answered.promise;
    await route.continue();
  });
  const asking = page.waitForRequest("**/sign-in");
  await page.goto(`${server.url}/#sign-in=guessed`);
  await asking;
  await signIn(await page.context().newPage(), server.url, token);
  const notes = page.getByRole("link", { name: "Notes to self" });
  await notes.waitFor();
  const refused = page.waitForResponse("**/sign-in");
  answered.resolve();
  assert.equal((await refused).status(), 401);
  await notes.click();
  await page.getByRole("heading", { name: "Notes to self" }).waitFor();
});

test("a user whom the provider gives no usable username learns which claim is wrong", {
  skip: noChromium,
}, async (t) => {
  const { server, provider } = await start(t);
  provider.register(`${server.url}/`);
  const { page } = await openPage(await openBrowser(t), server.url);
  await page.route("https://fonts.googleapis.com/**", (route) => route.abort());
  await page.goto(`${server.url}/`);
  await offer(page).click();
  await signInThere(page, "x".repeat(129));
  await page.getByRole("alert").filter({ hasText: "the claim preferred_username" }).waitFor();
});
