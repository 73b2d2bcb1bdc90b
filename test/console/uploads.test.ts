// Uploads over any network, and the upload tray.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { createToken, revokeTokensOf } from "../../src/core/people/tokens.ts";
import { startOn, type TestApp, type TestUser, testConfig } from "../support/app.ts";
import { noChromium, openBrowser } from "../support/engines/chromium.ts";
import {
  assertAccessible,
  assertNoSidewaysScroll,
  dropFiles,
  hide,
  makeContact,
  openFiles,
  openPage,
  signIn,
} from "./browser.ts";
import { openEmptyNotes } from "./in-files.ts";
import { gate, startProxy } from "./proxy.ts";
import { testScenes } from "./scenes.ts";
import { find, write } from "./talk.ts";

const WAITING = "Waiting for the connection";
const isUpload = (line: string) => line.startsWith("POST /v1/attachments");

const toFiles = (...names: string[]) =>
  names.map((name) => ({ name: `${name}.txt`, type: "text/plain", base64: btoa(name) }));

/** Returns the names of all files on the server. */
async function listNames({ url }: { url: string }, { headers }: TestUser): Promise<string[]> {
  const response = await fetch(`${url}/v1/attachments?limit=100`, { headers });
  return ((await response.json()) as { data: { filename: string }[] }).data
    .map(({ filename }) => filename)
    .sort();
}

/** Records the keys of all upload attempts. */
function watchKeys(page: Page): Set<string> {
  const keys = new Set<string>();
  page.on("request", (request) => {
    if (request.method() === "POST" && request.url().includes("/v1/attachments"))
      keys.add(request.headers()["idempotency-key"]!);
  });
  return keys;
}

async function openWith(page: Page, server: TestApp, user: TestUser, name: string): Promise<void> {
  await makeContact(server, user, name.toLowerCase(), name);
  await page.getByRole("option", { name }).click();
  await openFiles(page);
  await page.getByRole("heading", { name: "Drop files here" }).waitFor();
}

testScenes("uploads over a failing network", {
  "files dropped offline wait, and resume with the same keys": async (world) => {
    const { user, page, guard } = await world.arrive();
    await openEmptyNotes(page);
    const keys = watchKeys(page);
    await page.context().setOffline(true);
    await dropFiles(page, toFiles("a", "b", "c", "d", "e"));
    await page.locator(".tray-row").getByText(WAITING).nth(4).waitFor();
    assert.equal(await page.locator(".tray-row.failed").count(), 0);
    await page.getByText("Sending 5 files", { exact: true }).waitFor();
    // Files dropped now wait after them.
    await dropFiles(page, toFiles("f"));
    await page.locator(".tray-row", { hasText: "f.txt" }).getByText(WAITING).waitFor();
    await page.context().setOffline(false);
    await page.getByText("All files uploaded").waitFor();
    const names = ["a", "b", "c", "d", "e", "f"].map((name) => `${name}.txt`);
    assert.deepEqual(await listNames(world.server, user), names);
    assert.equal(keys.size, 6);
    for (const name of names) await page.getByRole("button", { name: `Open ${name}` }).waitFor();
    assert.deepEqual(guard.complaints, []);
  },

  "a window that was suspended resumes uploads when it is shown": async (world) => {
    const { user, page, guard } = await world.arrive();
    await openEmptyNotes(page);
    world.proxy.fate = (line) => (isUpload(line) ? "break" : "pass");
    await dropFiles(page, toFiles("a"));
    await page.locator(".tray-row").getByText(WAITING).waitFor();
    // From now on timers never fire, as in a suspended window.
    await page.evaluate(() => {
      globalThis.setTimeout = (() => 0) as unknown as typeof setTimeout;
    });
    let attempts = 0;
    world.proxy.fate = (line) => {
      if (isUpload(line)) attempts++;
      return isUpload(line) ? "break" : "pass";
    };
    // The pause that is running still ends, and the attempt after it fails.
    while (attempts === 0) await page.waitForTimeout(20);
    await hide(page, true);
    world.proxy.fate = () => "pass";
    await page.waitForTimeout(300);
    assert.deepEqual(await listNames(world.server, user), []);
    await hide(page, false);
    await page.getByText("All files uploaded").waitFor();
    assert.deepEqual(await listNames(world.server, user), ["a.txt"]);
    assert.deepEqual(guard.complaints, []);
  },

  "cancelling the last waiting upload resets the total progress": async (world) => {
    const { proxy } = world;
    const { page, guard } = await world.arrive();
    await openEmptyNotes(page);
    const [stored, waiting, next] = toFiles("stored", "waiting file", "b");
    const late = gate();
    let isLate = false;
    let reads = 0;
    proxy.fate = (line) => {
      if (line === "GET /v1/me") reads++;
      return isLate && isUpload(line) ? late.passed : "pass";
    };
    await page.route("**/v1/attachments*", (route) =>
      route.request().postDataBuffer()?.includes("waiting file")
        ? route.fulfill({ status: 500 })
        : route.fallback(),
    );
    await dropFiles(page, [stored!, waiting!]);
    await page.locator(".tray-row.done").waitFor();
    await page.locator(".tray-row.waiting").getByText(WAITING).waitFor();
    isLate = true;
    reads = 0;
    await page.getByRole("button", { name: "Cancel waiting file.txt" }).click();
    await page.getByText("1 sent, 1 cancelled").waitFor();
    while (reads === 0) await page.waitForTimeout(20);
    await dropFiles(page, [next!]);
    await page.locator(".tray-total").getByText("of 1 byte").waitFor();
    late.open();
    await page.getByText("2 sent, 1 cancelled").waitFor();
    assert.deepEqual(guard.complaints, []);
  },

  "files that the server fails to store do not block others": async (world) => {
    const { user, page, guard } = await world.arrive();
    await openEmptyNotes(page);
    await page.route("**/v1/attachments*", (route) => {
      const isBad = route.request().postDataBuffer()?.includes("bad");
      return isBad ? route.fulfill({ status: 502 }) : route.fallback();
    });
    await dropFiles(page, toFiles("bad 1", "bad 2", "bad 3", "a", "b", "c", "d", "e"));
    await page.getByText("Sending 3 files", { exact: true }).waitFor();
    await page.locator(".tray-row", { hasText: "bad 1" }).getByText(WAITING).waitFor();
    assert.equal((await listNames(world.server, user)).length, 5);
    await page.unroute("**/v1/attachments*");
    await page.getByText("All files uploaded").waitFor();
    assert.deepEqual(guard.complaints, []);
  },

  "revoking a token names the unsent files and messages": async (world) => {
    const { server, proxy } = world;
    const { user, page, guard } = await world.arrive();
    await openWith(page, server, user, "Bob");
    proxy.fate = (line) => (line.startsWith("POST") ? "break" : "pass");
    await dropFiles(page, toFiles("plan", "map"));
    await page.locator(".tray-row").getByText(WAITING).first().waitFor();
    await page.getByText("Messages", { exact: true }).click();
    await write(page, "On my way");
    await dropFiles(page, toFiles("photo"));
    await write(page, "");
    await page.getByText("Not sent yet").first().waitFor();
    await revokeTokensOf(server.app.core, null, user.id);
    await page.getByText("You were signed out.").waitFor();
    const unsent = page.getByRole("region", { name: "Not sent" });
    assert.deepEqual((await unsent.getByRole("listitem").allTextContents()).sort(), [
      "map.txt, to Bob",
      "photo.txt, to Bob",
      "plan.txt, to Bob",
      "“On my way”, to Bob",
    ]);
    await assertAccessible(page, "what was not sent");
    proxy.fate = () => "pass";
    const { token } = await createToken(server.app.core, null, user.id, {});
    await signIn(page, proxy.url, token);
    // Nothing is left of it, and nothing was sent.
    assert.equal(await page.locator(".tray").count(), 0);
    const headers = { authorization: `Bearer ${token}` };
    assert.deepEqual(await listNames(server, { ...user, headers }), []);
    assert.deepEqual(guard.complaints, []);
  },

  "leaving the page asks while a file is unsent: failed, or attached": async (world) => {
    const { page, guard } = await world.arrive();
    await openEmptyNotes(page);
    const isAsked = async () => {
      const dialog = page.waitForEvent("dialog");
      await page.close({ runBeforeUnload: true });
      await (await dialog).dismiss();
    };
    await page.route("**/v1/attachments*", (route) =>
      route.fulfill({
        status: 507,
        contentType: "application/problem+json",
        body: JSON.stringify({ code: "disk_full", status: 507, detail: "Full." }),
      }),
    );
    await dropFiles(page, toFiles("a"));
    await page.locator(".tray-row.failed").getByText("Full.").waitFor();
    await isAsked();
    await page.getByRole("button", { name: "Clear the list of uploads" }).click();
    await page.getByText("Messages", { exact: true }).click();
    await dropFiles(page, toFiles("b"));
    await page.getByRole("list", { name: "Files to send" }).waitFor();
    await isAsked();
    assert.deepEqual(guard.complaints, []);
  },

  "the tray shows running uploads first and their total, and collapses": async (world) => {
    const { proxy } = world;
    const { page, guard } = await world.arrive();
    await openEmptyNotes(page);
    const late = gate();
    let passed = 0;
    // One file is stored and one refused. The next three never finish.
    proxy.fate = (line) => (isUpload(line) && passed++ > 0 ? late.passed : "pass");
    await page.route("**/v1/attachments*", (route) => {
      if (!route.request().postDataBuffer()?.includes("refused.txt")) return route.fallback();
      const problem = { code: "invalid_parameter", status: 400, detail: "Not so." };
      const contentType = "application/problem+json";
      return route.fulfill({ status: 400, contentType, body: JSON.stringify(problem) });
    });
    await dropFiles(page, toFiles("stored"));
    await page.getByText("All files uploaded").waitFor();
    await dropFiles(page, toFiles("refused", "a", "b", "c", "d"));
    await page.locator(".tray-row.failed").waitFor();
    await page.locator(".tray-row.sending").nth(2).waitFor();
    const rows = await page.locator(".tray-row .ellipsis:first-child").allTextContents();
    assert.deepEqual(
      rows,
      ["a", "b", "c", "d", "refused", "stored"].map((name) => `${name}.txt`),
    );
    await page.getByRole("progressbar", { name: "Sending all files" }).waitFor();
    const fold = page.getByRole("button", { name: "Sending 4 files" });
    await fold.click();
    await page.locator(".tray-list").waitFor({ state: "hidden" });
    assert.equal(await fold.getAttribute("aria-expanded"), "false");
    await page.getByRole("progressbar", { name: "Sending all files" }).waitFor();
    late.open();
    await page.getByText("1 file was not sent").waitFor();
    assert.deepEqual(guard.complaints, []);
  },

  "the tray covers nothing, on a phone and on a desktop": async (world) => {
    const { server, proxy } = world;
    const { user, page, guard } = await world.arrive();
    proxy.fate = (line) => (isUpload(line) ? "break" : "pass");
    for (const [width, height] of [
      [390, 844],
      [1280, 800],
    ] as const) {
      await page.setViewportSize({ width, height });
      if (width === 390) {
        await openWith(page, server, user, "Bob");
        await dropFiles(page, toFiles("a", "b", "c", "d", "e", "f"));
      }
      await page.locator(".tray").waitFor();
      await page.getByText("Messages", { exact: true }).click();
      const fold = page.locator(".tray-title");
      for (const isOpen of [true, false]) {
        if (((await fold.getAttribute("aria-expanded")) === "true") !== isOpen) await fold.click();
        await assertNotCovered(page, ".composer :is(button, textarea)");
        await assertNoSidewaysScroll(page, `the tray at ${width}`);
        await assertAccessible(page, `the tray at ${width}, ${isOpen ? "open" : "folded"}`);
      }
      if (width === 390) await page.getByRole("button", { name: "Back to contacts" }).click();
      await assertNotCovered(page, ".side :is(button, input, a), .tray button");
      if (width === 390) await page.getByRole("option", { name: "Bob" }).click();
    }
    assert.deepEqual(guard.complaints, []);
  },
});

/** Fails if something covers the middle of one of these elements, or none exist. */
async function assertNotCovered(page: Page, selector: string): Promise<void> {
  const covered = await page.evaluate((selector) => {
    const all = [...document.querySelectorAll(selector)].filter((each) => each.checkVisibility());
    const isCovered = (element: Element) => {
      const { x, y, width, height } = element.getBoundingClientRect();
      const top = document.elementFromPoint(x + width / 2, y + height / 2);
      return top === null || !(element.contains(top) || element.closest("label")?.contains(top));
    };
    return all.length === 0 ? ["nothing"] : all.filter(isCovered).map((each) => each.outerHTML.slice(0, 80));
  }, selector);
  assert.deepEqual(covered, []);
}

test("uploads and messages survive a server restart", { skip: noChromium }, async (t) => {
  const config = await testConfig(t, { shutdownTimeoutMs: 500 });
  const before = await startOn(t, config);
  const user = await before.user();
  const proxy = await startProxy(t, before);
  const { page, guard } = await openPage(await openBrowser(t), proxy.url);
  await signIn(page, proxy.url, user.token);
  await openWith(page, before, user, "Bob");
  const keys = watchKeys(page);
  // Throttled, so that the server stops during an upload.
  const network = await page.context().newCDPSession(page);
  const limit = (uploadThroughput: number) =>
    network.send("Network.emulateNetworkConditions", {
      ...{ offline: false, latency: 0, downloadThroughput: -1, uploadThroughput },
    });
  await network.send("Network.enable");
  await limit(200_000);
  const base64 = Buffer.alloc(100_000, "Parley ").toString("base64");
  await dropFiles(page, [
    { name: "big.bin", type: "application/octet-stream", base64, size: 3_000_000 },
    ...toFiles("a", "b", "c", "d"),
  ]);
  await page.getByText(/ of .+ · .+ left/).waitFor();
  await before.app.stop();
  await page.locator(".tray-row", { hasText: "big.bin" }).getByText(WAITING).waitFor();
  assert.equal(await page.locator(".tray-row.failed").count(), 0);
  await page.getByText("Messages", { exact: true }).click();
  await write(page, "sent when it is back");
  await page.getByText("Not sent yet").waitFor();
  await limit(-1);
  const after = await startOn(t, config);
  proxy.port = after.app.port();
  await page.getByText("All files uploaded").waitFor();
  await find(page, "sent when it is back")
    .locator(".tick")
    .getByText("Waiting")
    .waitFor({ state: "detached" });
  await page.locator(".outgoing").waitFor({ state: "detached" });
  const names = ["a.txt", "b.txt", "big.bin", "c.txt", "d.txt"];
  assert.deepEqual(await listNames(after, user), names);
  assert.equal(keys.size, names.length);
  for (const name of names) await page.getByRole("button", { name: `Open ${name}` }).waitFor();
  assert.deepEqual(guard.complaints, []);
});
