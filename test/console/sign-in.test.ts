import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Page } from "playwright-core";
import { revokeTokensOf } from "../../src/core/people/tokens.ts";
import { startApp } from "../support/app.ts";
import { noChromium, openBrowser, openProfile } from "../support/engines/chromium.ts";
import { dropFiles, focused, openFiles, openPage, signIn, signOut } from "./browser.ts";
import { startProxy } from "./proxy.ts";

const isIn = (page: Page) => page.getByText("No contacts yet").waitFor();
const isOut = (page: Page) => page.getByLabel("Access token").waitFor();

/** Returns what a script in the page can read. */
const readable = (page: Page) =>
  page.evaluate(() => JSON.stringify([{ ...sessionStorage }, { ...localStorage }, document.cookie]));

async function openTab(page: Page): Promise<Page> {
  const tab = await page.context().newPage();
  await tab.goto(page.url());
  return tab;
}

test("a session survives a reload and a new tab, and scripts cannot read its token", {
  skip: noChromium,
}, async (t) => {
  const server = await startApp(t);
  const { token } = await server.user();
  const { page, guard } = await openPage(await openBrowser(t), server.url);
  await signIn(page, server.url, token);
  assert.doesNotMatch(await readable(page), /parley_/);
  await page.reload();
  await isIn(page);
  const tab = await openTab(page);
  await isIn(tab);
  const [cookie, ...others] = await page.context().cookies();
  assert.deepEqual(others, []);
  assert.deepEqual([cookie!.httpOnly, cookie!.sameSite, cookie!.path], [true, "Strict", "/"]);
  // The picture uses its signed link, and the upload uses the session.
  await tab.getByRole("link", { name: "Notes to self" }).click();
  await openFiles(tab);
  await dropFiles(tab, [{ name: "a.txt", type: "text/plain", base64: btoa("a") }]);
  await tab.getByText("All files uploaded").waitFor();
  assert.deepEqual(guard.complaints, []);
});

test("signing out ends all tabs and leaves nothing in the browser", { skip: noChromium }, async (t) => {
  const server = await startApp(t);
  const { token } = await server.user();
  const { page, guard } = await openPage(await openBrowser(t), server.url);
  await signIn(page, server.url, token);
  const tab = await openTab(page);
  await isIn(tab);
  for (const each of [page, tab]) {
    await each.getByRole("link", { name: "Notes to self" }).click();
    await each.getByRole("textbox", { name: "Message to your notes" }).fill("a draft");
  }
  await signOut(page);
  await isOut(page);
  await tab.getByRole("alert").filter({ hasText: "You signed out in another tab." }).waitFor();
  for (const each of [page, tab]) assert.equal(await readable(each), '[{},{},""]');
  while ((await page.context().cookies()).length > 0) await page.waitForTimeout(20);
  await tab.reload();
  await isOut(tab);
  // Signing in also reaches the other tab, and the next user's session replaces the previous one.
  const { token: other } = await server.user();
  await signIn(tab, server.url, other);
  await isIn(page);
  await signOut(page);
  await isOut(tab);
  assert.deepEqual(guard.complaints, []);
});

test("on a shared computer the token stays in one tab until its reload", {
  skip: noChromium,
}, async (t) => {
  const server = await startApp(t);
  const { token } = await server.user();
  const { page, guard } = await openPage(await openBrowser(t), server.url);
  await page.goto(`${server.url}/`);
  await page.getByLabel("Access token").fill(token);
  await page.getByLabel("Shared computer").check();
  await page.keyboard.press("Enter");
  await isIn(page);
  assert.equal(await readable(page), '[{},{},""]');
  assert.deepEqual(await page.context().cookies(), []);
  const tab = await openTab(page);
  await isOut(tab);
  await page.reload();
  await isOut(page);
  assert.deepEqual(guard.complaints, []);
});

test("signing in and out for one tab leaves what another tab has not sent", {
  skip: noChromium,
}, async (t) => {
  const server = await startApp(t);
  const [{ token }, { token: other }] = [await server.user(), await server.user()];
  const { page, guard } = await openPage(await openBrowser(t), server.url);
  await page.goto(`${server.url}/`);
  const tab = await openTab(page);
  await isOut(tab);
  // Other tabs follow a sign-in, so the one for this tab is first.
  const signInAlone = async () => {
    await tab.getByLabel("Access token").fill(other);
    await tab.getByLabel("Shared computer").check();
    await tab.keyboard.press("Enter");
    await isIn(tab);
  };
  const names = () => page.evaluate(async () => (await indexedDB.databases()).map(({ name }) => name));
  await signInAlone();
  await signIn(page, server.url, token);
  const kept = await names();
  assert.equal(kept.length, 1);
  await signOut(tab);
  await isOut(tab);
  assert.deepEqual(await names(), kept);
  await signInAlone();
  assert.deepEqual(await names(), kept);
  await page.getByRole("link", { name: "Notes to self" }).click();
  await page.getByRole("textbox", { name: "Message to your notes" }).fill("hello");
  await page.keyboard.press("Enter");
  await page.getByText("hello").first().waitFor();
  await page.reload();
  await page.getByText("hello").first().waitFor();
  assert.deepEqual(guard.complaints, []);
});

test("a session survives a restart of the browser", { skip: noChromium }, async (t) => {
  const server = await startApp(t);
  const { token } = await server.user();
  const folder = await mkdtemp(join(tmpdir(), "parley-profile-"));
  const first = await openProfile(t, folder);
  await signIn(await first.newPage(), server.url, token);
  await first.close();
  const second = await openProfile(t, folder);
  t.after(() => rm(folder, { recursive: true, force: true }));
  const page = await second.newPage();
  await page.goto(`${server.url}/`);
  await isIn(page);
});

test("an unknown or malformed token is refused with a reason", {
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
  assert.equal(await readable(page), '[{},{},""]');
  assert.deepEqual(guard.complaints, []);
});

test("revoking a token ends the session in all tabs with the reason, and keeps drafts", {
  skip: noChromium,
}, async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const { page, guard } = await openPage(await openBrowser(t), server.url);
  await signIn(page, server.url, user.token);
  const tab = await openTab(page);
  await isIn(tab);
  await tab.getByRole("link", { name: "Notes to self" }).click();
  await tab.getByRole("textbox", { name: "Message to your notes" }).fill("a draft");
  await revokeTokensOf(server.app.core, null, user.id);
  // The event stream ends with the token.
  for (const each of [page, tab]) {
    await each.getByRole("alert").filter({ hasText: "You were signed out." }).waitFor();
    assert.equal(await each.getByLabel("Access token").inputValue(), "");
    await each.getByLabel("Access token").and(focused(each)).waitFor();
  }
  assert.match(await readable(tab), /a draft/);
  while ((await page.context().cookies()).length > 0) await page.waitForTimeout(20);
  // A reload keeps the reason until the next sign-in.
  await page.reload();
  await page.getByRole("alert").filter({ hasText: "You were signed out." }).waitFor();
  const { token } = await server.user();
  await signIn(page, server.url, token);
  await signOut(page);
  await isOut(page);
  await page.reload();
  await isOut(page);
  assert.equal(await page.getByText("You were signed out.").count(), 0);
  assert.deepEqual(guard.complaints, []);
});

test("a session that ended while no tab was open is refused with the reason", {
  skip: noChromium,
}, async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const { page } = await openPage(await openBrowser(t), server.url);
  await signIn(page, server.url, user.token);
  await page.goto("about:blank");
  await revokeTokensOf(server.app.core, null, user.id);
  await page.goto(`${server.url}/`);
  await page.getByRole("alert").filter({ hasText: "has expired or was revoked" }).waitFor();
  // Only the reason stays, for a reload.
  const [{ "parley-sign-out-reason": reason, ...tab }, ...others] = JSON.parse(await readable(page));
  assert.match(reason, /has expired or was revoked/);
  assert.deepEqual([tab, ...others], [{}, {}, ""]);
  while ((await page.context().cookies()).length > 0) await page.waitForTimeout(20);
  const other = await server.user();
  await signIn(page, server.url, other.token);
  await page.goto("about:blank");
  await page.context().clearCookies();
  await page.goto(`${server.url}/`);
  await page.getByRole("alert").filter({ hasText: "The session has expired." }).waitFor();
});

test("a browser that refuses cookies signs in for one tab", { skip: noChromium }, async (t) => {
  const server = await startApp(t);
  const { token } = await server.user();
  const { page } = await openPage(await openBrowser(t), server.url);
  await page.route("**/session", (route) => route.fulfill({ status: 204 }));
  await signIn(page, server.url, token);
  await isIn(page);
  await page.reload();
  await isOut(page);
});

test("a browser without storage signs in for one tab", { skip: noChromium }, async (t) => {
  const server = await startApp(t);
  const { token } = await server.user();
  const { page, guard } = await openPage(await openBrowser(t), server.url);
  await page.addInitScript(() => {
    for (const name of ["localStorage", "sessionStorage"])
      Object.defineProperty(globalThis, name, {
        get() {
          throw new DOMException("Access is denied for this document.", "SecurityError");
        },
      });
  });
  await signIn(page, server.url, token);
  await page.getByRole("link", { name: "Notes to self" }).click();
  const field = page.getByRole("textbox", { name: "Message to your notes" });
  await field.fill("a note");
  await openFiles(page);
  await page.getByText("Messages", { exact: true }).click();
  assert.equal(await field.inputValue(), "a note");
  await signOut(page);
  await isOut(page);
  assert.deepEqual(guard.complaints, []);
});

test("below a proxy's path the cookie is limited to that path", { skip: noChromium }, async (t) => {
  const server = await startApp(t);
  const { token } = await server.user();
  const proxy = await startProxy(t, server, "/parley");
  const { page, guard } = await openPage(await openBrowser(t), proxy.url);
  await signIn(page, proxy.url, token);
  await page.reload();
  await isIn(page);
  const [cookie] = await page.context().cookies();
  assert.equal(cookie!.path, "/parley");
  assert.deepEqual(guard.complaints, []);
});

/** Starts a server on another port of the host, as any local user can. Records the cookies it gets. */
async function startNeighbour(t: TestContext): Promise<{ url: string; cookies: string[] }> {
  const cookies: string[] = [];
  const server = createServer((request, response) => {
    cookies.push(request.headers.cookie ?? "");
    response.setHeader("content-type", "text/html").end("<!doctype html><title>Neighbour</title>");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, cookies };
}

test("a server on another port gets the cookie, but cannot use it", {
  skip: noChromium,
}, async (t) => {
  const server = await startApp(t);
  const { token } = await server.user();
  const neighbour = await startNeighbour(t);
  const { page } = await openPage(await openBrowser(t), server.url);
  await signIn(page, server.url, token);
  await page.goto(`${neighbour.url}/`);
  const cookie = neighbour.cookies.find((each) => each.includes("parley-"))!;
  assert.ok(cookie, "browsers do not tell ports apart");
  assert.ok(!cookie.includes(token.slice(7)));
  const key = "0".repeat(64);
  for (const headers of [{ cookie }, { cookie, "parley-session": key }] as Record<string, string>[])
    assert.equal((await fetch(`${server.url}/v1/me`, { headers })).status, 401);
  // Its page is same-site, so the browser sends the cookie.
  const outcomes = await page.evaluate(
    async ({ url, key }) => {
      const ask = (path: string, init: RequestInit) =>
        fetch(url + path, { ...init, credentials: "include" }).then(
          ({ status }) => status,
          () => "blocked",
        );
      const headers = { "parley-session": key };
      const form = new URLSearchParams({ username: "x", phone_number: "555" });
      return [
        await ask("/v1/me", { headers }),
        await ask("/session", { method: "DELETE", headers }),
        await ask("/v1/me", {}),
        await ask("/v1/contacts", { method: "POST", mode: "no-cors", body: form }),
      ];
    },
    { url: server.url, key },
  );
  assert.deepEqual(outcomes, ["blocked", "blocked", "blocked", 0]);
  await page.goto(`${server.url}/`);
  await isIn(page);
});
