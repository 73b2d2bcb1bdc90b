// Uploads of large files, which resume at the server's offset.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { revokeTokensOf } from "../../src/core/people/tokens.ts";
import { startOn, type TestApp, type TestUser, testConfig } from "../support/app.ts";
import { noChromium, openBrowser } from "../support/engines/chromium.ts";
import { eventually } from "../support/files-on-disk.ts";
import { dropFiles, openPage, signIn, signOut } from "./browser.ts";
import { openEmptyNotes } from "./in-files.ts";
import { gate, type ProxyServer, startProxy } from "./proxy.ts";
import { testScenes } from "./scenes.ts";
import { find, shownTexts, write } from "./talk.ts";

const MIB = 1024 * 1024;
const SIZE = 24 * MIB;
/** How much the server stores at once. */
const PART = 8 * MIB;
/** At this many bytes per second, a file takes 12 seconds. */
const SLOW = 2 * MIB;
const WAITING = "Waiting for the connection";

/** Drops a file without repeating parts on the notes to self. Returns the id of its upload. */
async function dropLarge(page: Page): Promise<string> {
  await openEmptyNotes(page);
  const begun = page.waitForResponse(
    (each) => each.request().method() === "POST" && each.url().includes("/v1/uploads"),
  );
  await drop(page);
  return ((await (await begun).json()) as { id: string }).id;
}

/** Drops the file on the open conversation. */
async function drop(page: Page): Promise<void> {
  const data = await page.evaluateHandle((size) => {
    const numbers = Uint32Array.from({ length: size / 4 }, (_, at) => at);
    const transfer = new DataTransfer();
    transfer.items.add(new File([numbers], "large.bin", { type: "application/octet-stream" }));
    return transfer;
  }, SIZE);
  await page.locator(".conversation").dispatchEvent("drop", { dataTransfer: data });
  await data.dispose();
}

/** Throttles the page's uploads, so that there is time to inspect or abort them. */
async function slowDown(page: Page, bytesPerSecond = 6 * MIB): Promise<void> {
  const network = await page.context().newCDPSession(page);
  await network.send("Network.enable");
  await network.send("Network.emulateNetworkConditions", {
    ...{ offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: bytesPerSecond },
  });
}

/** Calls `act` once the server may have this many bytes of a file. Returns a counter of all bytes sent. */
function afterBytes(proxy: ProxyServer, bytes: number, act: () => unknown): { sent: () => number } {
  const requests: number[] = [];
  let isDone = false;
  proxy.passed = (line, count) => {
    if (!line.startsWith("PATCH")) return;
    const at = requests.length - 1;
    if (at < 0 || count < requests[at]!) requests.push(count);
    else requests[at] = count;
    if (isDone || count < bytes) return;
    isDone = true;
    act();
  };
  return { sent: () => requests.reduce((sum, each) => sum + each, 0) };
}

/** Cuts the network until the test restores it. */
function lose(proxy: ProxyServer): void {
  proxy.fate = (line) => (line.includes("/v1/") ? "break" : "pass");
  proxy.cut();
}

const row = (page: Page) => page.locator(".tray-row");

/** The values that the bars of an upload and of the total have shown. */
type Seen = Record<"row" | "total", number[]>;

/** Records the progress of the upload and the total from now on. */
async function watchProgress(page: Page): Promise<() => Promise<Seen>> {
  await page.evaluate(() => {
    const seen: Seen = { row: [], total: [] };
    Object.assign(globalThis, { seen });
    const look = () => {
      for (const name of ["row", "total"] as const) {
        const bar = document.querySelector<HTMLProgressElement>(`.tray-${name} progress`);
        if (bar) seen[name].push(bar.value);
      }
      requestAnimationFrame(look);
    };
    look();
  });
  return () => page.evaluate(() => (globalThis as unknown as { seen: Seen }).seen);
}

async function isKept({ url }: TestApp, { headers }: TestUser, uploadId: string): Promise<boolean> {
  return (await fetch(`${url}/v1/uploads/${uploadId}`, { headers })).status === 200;
}

/** Returns whether the server has stored a part of an upload. */
async function hasStored({ url }: TestApp, { headers }: TestUser): Promise<boolean> {
  const listed = await fetch(`${url}/v1/uploads`, { headers });
  const { data } = (await listed.json()) as { data: { offset: number }[] };
  return data.some(({ offset }) => offset >= PART);
}

/** Waits until the server has deleted an upload. */
async function waitGone(server: TestApp, user: TestUser, uploadId: string): Promise<void> {
  assert.ok(await eventually(async () => !(await isKept(server, user, uploadId))), "the server keeps it");
}

/** Fails unless the server has this file, byte for byte, and no other. */
async function assertStored({ url }: TestApp, { headers }: TestUser): Promise<void> {
  const listed = await fetch(`${url}/v1/attachments`, { headers });
  const { data } = (await listed.json()) as { data: { file_url: string }[] };
  assert.equal(data.length, 1);
  const head = await fetch(data[0]!.file_url, { method: "HEAD" });
  const bytes = Uint32Array.from({ length: SIZE / 4 }, (_, at) => at);
  const digest = createHash("sha256").update(bytes).digest("base64");
  assert.equal(head.headers.get("repr-digest"), `sha-256=:${digest}:`);
}

testScenes("uploads of large files", {
  "a large file of a message continues from the server's offset after a reload": async (world) => {
    const { server, proxy, arrive } = world;
    const { user, page, guard } = await arrive();
    await page.getByRole("link", { name: "Notes to self" }).click();
    await page.getByRole("heading", { name: "No messages yet" }).waitFor();
    await slowDown(page);
    const { sent } = afterBytes(proxy, SIZE, () => {});
    await drop(page);
    await write(page, "with a large file");
    await page.getByRole("progressbar", { name: "Files sent" }).waitFor();
    assert.ok(await eventually(() => hasStored(server, user)));
    // The page asks before it is left.
    page.on("dialog", (dialog) => dialog.accept());
    await page.reload();
    await find(page, "with a large file").getByText("large.bin").waitFor();
    await page.getByRole("progressbar", { name: "Files sent" }).waitFor();
    await find(page, "with a large file").getByRole("button", { name: "Open large.bin" }).waitFor();
    await page.getByRole("button", { name: "Cancel" }).waitFor({ state: "detached" });
    assert.deepEqual(await shownTexts(page), ["with a large file"]);
    await assertStored(server, user);
    assert.ok(sent() < 2 * SIZE - PART / 2, `${sent()} bytes were sent`);
    assert.deepEqual(guard.complaints, []);
  },

  "continue from the server's offset after a network failure": async ({ server, proxy, arrive }) => {
    const { user, page, guard } = await arrive();
    await slowDown(page);
    const lines: string[] = [];
    page.on("request", (request) => lines.push(`${request.method()} ${new URL(request.url()).pathname}`));
    const { sent } = afterBytes(proxy, 2 * PART, async () => {
      await eventually(() => hasStored(server, user));
      lose(proxy);
    });
    await dropLarge(page);
    await row(page).getByText(WAITING).waitFor();
    assert.equal(await page.getByRole("progressbar").count(), 1, "the bar of all uploads alone");
    const seen = await watchProgress(page);
    proxy.fate = () => "pass";
    await page.getByText("All files uploaded").waitFor();
    await page.getByRole("button", { name: "Open large.bin" }).waitFor();
    assert.ok(sent() >= SIZE && sent() < SIZE + 2 * PART, `${sent()} bytes`);
    for (const [bar, shown] of Object.entries(await seen())) {
      const least = Math.min(...shown);
      assert.ok(shown.length > 0 && least >= PART, `the bar of the ${bar} fell back to ${least}`);
    }
    assert.equal(lines.filter((line) => line === "POST /v1/uploads").length, 1);
    assert.equal(lines.filter((line) => line === "POST /v1/attachments").length, 0);
    await assertStored(server, user);
    assert.deepEqual(guard.complaints, []);
  },

  "are deleted from the server when cancelled, also offline": async ({ server, proxy, arrive }) => {
    const { user, page, guard } = await arrive();
    await slowDown(page, SLOW);
    const cancel = page.getByRole("button", { name: "Cancel large.bin" });
    const id = await dropLarge(page);
    await row(page)
      .getByText(/ MB of .+\/s$/)
      .waitFor();
    assert.equal(await isKept(server, user, id), true);
    await cancel.click();
    await waitGone(server, user, id);
    await page.getByRole("button", { name: "Clear the list of uploads" }).click();
    afterBytes(proxy, PART, () => lose(proxy));
    const other = await dropLarge(page);
    await row(page).getByText(WAITING).waitFor();
    await cancel.click();
    await page.getByText("Cancelled", { exact: true }).first().waitFor();
    assert.equal(await isKept(server, user, other), true);
    proxy.fate = () => "pass";
    await waitGone(server, user, other);
    assert.deepEqual(guard.complaints, []);
  },

  "restart if they are sent again or the server no longer has them": async (world) => {
    const { server, proxy } = world;
    const { user, page, guard } = await world.arrive();
    await slowDown(page, SLOW);
    const first = await dropLarge(page);
    await page.getByRole("button", { name: "Cancel large.bin" }).click();
    afterBytes(proxy, PART, () => lose(proxy));
    const begun = page.waitForResponse((each) => each.request().method() === "POST" && each.ok());
    await page.getByRole("button", { name: "Send large.bin again" }).click();
    const { id } = (await (await begun).json()) as { id: string };
    assert.notEqual(id, first);
    await row(page).getByText(WAITING).waitFor();
    const { headers } = user;
    const gone = await fetch(`${server.url}/v1/uploads/${id}`, { method: "DELETE", headers });
    assert.equal(gone.status, 204);
    proxy.fate = () => "pass";
    await page.getByText("All files uploaded").waitFor();
    await assertStored(server, user);
    assert.deepEqual(guard.complaints, []);
  },

  "are deleted from the server on a reload or a sign-out": async (world) => {
    const { server, proxy } = world;
    const { user, page, guard } = await world.arrive();
    await slowDown(page, SLOW);
    const id = await dropLarge(page);
    page.on("dialog", (dialog) => dialog.accept());
    await page.reload();
    await waitGone(server, user, id);
    await slowDown(page, SLOW);
    const other = await dropLarge(page);
    const deletes: string[] = [];
    const late = gate();
    proxy.fate = (line) => {
      if (!line.startsWith("DELETE")) return "pass";
      deletes.push(line);
      return line === `DELETE /v1/uploads/${other}` ? late.passed : "pass";
    };
    await signOut(page);
    await page.getByRole("dialog").getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Access token").waitFor();
    await waitGone(server, user, other);
    await page.waitForTimeout(300);
    assert.deepEqual(deletes, [`DELETE /v1/uploads/${other}`], "the session lasts until it is answered");
    late.open();
    while (deletes.length === 1) await page.waitForTimeout(20);
    assert.equal(deletes[1], "DELETE /session");
    assert.deepEqual(guard.complaints, []);
  },

  "are named when the token is revoked": async ({ server, proxy, arrive }) => {
    const { user, page, guard } = await arrive();
    await slowDown(page);
    afterBytes(proxy, PART, async () => {
      await revokeTokensOf(server.app.core, null, user.id);
      proxy.cut();
    });
    await dropLarge(page);
    await page.getByText("You were signed out.").waitFor();
    const unsent = page.getByRole("region", { name: "Not sent" });
    assert.deepEqual(await unsent.getByRole("listitem").allTextContents(), ["large.bin, to your notes"]);
    assert.deepEqual(guard.complaints, []);
  },

  "fail if the file was changed since it was selected": async ({ t, server, proxy, arrive }) => {
    const folder = await mkdtemp(join(tmpdir(), "parley-console-"));
    t.after(() => rm(folder, { recursive: true, force: true }));
    const path = join(folder, "log.bin");
    await writeFile(path, Buffer.alloc(PART, "as it was"));
    const { user, page, guard } = await arrive();
    await openEmptyNotes(page);
    proxy.fate = (line) => (line.startsWith("PATCH") ? "break" : "pass");
    const begun = page.waitForResponse((each) => each.request().method() === "POST" && each.ok());
    await page.locator("input[type=file]").first().setInputFiles(path);
    const { id } = (await (await begun).json()) as { id: string };
    await row(page).getByText(WAITING).waitFor();
    await writeFile(path, Buffer.alloc(PART + 1, "changed"));
    proxy.fate = () => "pass";
    await row(page).getByText("The file was changed or removed after you chose it.").waitFor();
    await waitGone(server, user, id);
    assert.deepEqual(guard.complaints, []);
  },
});

test("an upload of a large file continues after a server restart", {
  skip: noChromium,
}, async (t) => {
  const config = await testConfig(t, { shutdownTimeoutMs: 500 });
  const before = await startOn(t, config);
  const user = await before.user();
  const proxy = await startProxy(t, before);
  const { page, guard } = await openPage(await openBrowser(t), proxy.url);
  await signIn(page, proxy.url, user.token);
  await slowDown(page);
  let stopped: Promise<unknown> | undefined;
  const { sent } = afterBytes(proxy, 2 * PART, () => {
    stopped = before.app.stop();
  });
  await dropLarge(page);
  await row(page).getByText(WAITING).waitFor();
  await stopped;
  const after = await startOn(t, config);
  proxy.port = after.app.port();
  await page.getByText("All files uploaded").waitFor();
  assert.ok(sent() >= SIZE && sent() < SIZE + 2 * PART, `${sent()} bytes`);
  await assertStored(after, user);
  assert.deepEqual(guard.complaints, []);
});

test("the daily limit of files is named, and the file can be sent again", { skip: noChromium }, async (t) => {
  const server = await startOn(t, await testConfig(t, { filesPerDay: 1 }));
  const user = await server.user();
  const { page, guard } = await openPage(await openBrowser(t), server.url);
  await signIn(page, server.url, user.token);
  await openEmptyNotes(page);
  await dropFiles(page, [{ name: "first.txt", type: "text/plain", base64: btoa("1") }]);
  await page.getByText("All files uploaded").waitFor();
  await dropFiles(page, [{ name: "second.txt", type: "text/plain", base64: btoa("2") }]);
  await row(page).getByText("You have sent as many files today as the server accepts.").waitFor();
  await page.getByRole("button", { name: "Send second.txt again" }).waitFor();
  assert.deepEqual(guard.complaints, []);
});
