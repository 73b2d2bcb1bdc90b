import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { startApp, type TestApp, type TestUser, upload } from "../support/app.ts";
import { noChromium, openBrowser } from "../support/engines/chromium.ts";
import { dropFiles, makeContact, openAccount, openFiles, openPage, signIn } from "./browser.ts";
import { PNG } from "./pictures.ts";

const BIG = 200_000_000;
const CHUNK = Buffer.alloc(1_000_000, "Parley ");

/** Creates two users who are contacts, and opens their conversation for the first. */
async function openPair(page: Page, server: TestApp): Promise<{ ann: TestUser; bob: TestUser; id: string }> {
  const ann = await server.user();
  const bob = await server.user();
  const { conversation_id } = await makeContact(server, ann, "user-2", "Bob");
  await makeContact(server, bob, "user-1", "Ann");
  await signIn(page, server.url, ann.token);
  await page.getByRole("option", { name: "Bob" }).click();
  await openFiles(page);
  await page.getByRole("heading", { name: "Drop files here" }).waitFor();
  return { ann, bob, id: conversation_id };
}

test("of three dropped files, a large one is cancelled and sent again", {
  skip: noChromium,
}, async (t) => {
  const server = await startApp(t, { maxFileBytes: 2 * BIG });
  const { page, guard } = await openPage(await openBrowser(t), server.url);
  const { ann, id } = await openPair(page, server);
  // Throttled, so that there is time to cancel on any machine.
  const network = await page.context().newCDPSession(page);
  const limit = (uploadThroughput: number) =>
    network.send("Network.emulateNetworkConditions", {
      ...{ offline: false, latency: 0, downloadThroughput: -1, uploadThroughput },
    });
  await network.send("Network.enable");
  await limit(20_000_000);
  await dropFiles(page, [
    { name: "small.txt", type: "text/plain", base64: btoa("hello") },
    { name: "dot.png", type: "image/png", base64: PNG.toString("base64") },
    { name: "big.bin", type: "application/octet-stream", base64: CHUNK.toString("base64"), size: BIG },
  ]);
  const progress = page.getByRole("progressbar", { name: "Sending big.bin" });
  await page.getByText(/MB of 200 MB · .+\/s$/).waitFor();
  const sent = Number(await progress.getAttribute("value"));
  assert.ok(sent > 0 && sent < BIG, `${sent} bytes`);
  const cut = page.waitForEvent("requestfailed", (request) => request.method() === "PATCH");
  await page.getByRole("button", { name: "Cancel big.bin" }).click();
  await cut;
  await page.getByText("Cancelled", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Open small.txt" }).waitFor();
  assert.equal(await page.getByRole("button", { name: "Open big.bin" }).count(), 0);
  await page.getByText("2 sent, 1 cancelled").waitFor();
  await limit(-1);
  await page.getByRole("button", { name: "Send big.bin again" }).click();
  await page.getByText("All files uploaded").waitFor();
  await page.getByRole("button", { name: "Open big.bin" }).waitFor();
  await openAccount(page);
  await page.getByText("200 MB stored").waitFor();
  await page.keyboard.press("Escape");

  const listed = await fetch(`${server.url}/v1/attachments?conversation_id=${id}`, { headers: ann.headers });
  const { data } = (await listed.json()) as { data: { filename: string; file_url: string }[] };
  assert.deepEqual(data.map(({ filename }) => filename).sort(), ["big.bin", "dot.png", "small.txt"]);
  const hash = createHash("sha256");
  for (let i = 0; i < BIG / CHUNK.length; i++) hash.update(CHUNK);
  const { headers } = await fetch(data.find(({ filename }) => filename === "big.bin")!.file_url, {
    method: "HEAD",
  });
  assert.equal(headers.get("repr-digest"), `sha-256=:${hash.digest("base64")}:`);
  assert.deepEqual(guard.complaints, []);
});

test("files are viewed, renamed, linked, downloaded and deleted", { skip: noChromium }, async (t) => {
  const server = await startApp(t);
  const { page, guard } = await openPage(await openBrowser(t), server.url);
  const { id, ann } = await openPair(page, server);
  const fields = { conversation_id: id };
  await upload(server.url, ann, new File(["<b>first</b>\n"], "read me.txt"), fields);
  await upload(server.url, ann, new File([PNG], "dot.png"), fields);

  await page.getByRole("button", { name: "Open dot.png" }).click();
  const dialog = page.getByRole("dialog");
  const image = dialog.getByRole("img", { name: "dot.png" });
  await image.evaluate((img: HTMLImageElement) => img.decode());
  await page.keyboard.press("ArrowRight");
  await dialog.getByText("<b>first</b>").waitFor();
  await dialog.getByRole("button", { name: "Copy link" }).click();
  await page.getByText("Link copied").waitFor();
  const link = await page.evaluate(() => navigator.clipboard.readText());
  assert.equal(await (await fetch(link)).text(), "<b>first</b>\n");
  const begun = page.waitForEvent("download");
  await dialog.getByRole("link", { name: "Download read me.txt" }).click();
  const download = await begun;
  assert.equal(download.suggestedFilename(), "read me.txt");
  assert.equal(await readFile(await download.path(), "utf8"), "<b>first</b>\n");
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });

  await page.getByRole("button", { name: "Open read me.txt" }).hover();
  await page.getByRole("button", { name: "Rename file read me.txt" }).click();
  await page.keyboard.type("read this");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Open read this.txt" }).waitFor();
  await page.getByRole("button", { name: "Open read this.txt" }).hover();
  await page.getByRole("button", { name: "Delete read this.txt" }).click();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("button", { name: "Open read this.txt" }).waitFor({ state: "detached" });
  assert.equal((await fetch(link)).status, 404);
  assert.deepEqual(guard.complaints, []);
});

test("a new file and its deletion appear in the other user's window", { skip: noChromium }, async (t) => {
  const server = await startApp(t);
  const browser = await openBrowser(t);
  const ann = await openPage(browser, server.url);
  const { bob, ...pair } = await openPair(ann.page, server);
  const other = await openPage(browser, server.url);
  await signIn(other.page, server.url, bob.token);
  await other.page.getByRole("option", { name: "Ann" }).click();
  await openFiles(other.page);
  await other.page.getByRole("heading", { name: "Drop files here" }).waitFor();
  await dropFiles(ann.page, [{ name: "news.txt", type: "text/plain", base64: btoa("news") }]);
  const card = other.page.getByRole("button", { name: "Open news.txt" });
  await card.waitFor();
  await other.page.getByRole("status").filter({ hasText: "New here: news.txt" }).waitFor();
  await assertMarked(server, other.page, pair.ann, pair.id);
  await ann.page.getByRole("button", { name: "Open news.txt" }).hover();
  await ann.page.getByRole("button", { name: "Delete news.txt" }).click();
  await ann.page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await card.waitFor({ state: "detached" });
  assert.deepEqual([...ann.guard.complaints, ...other.guard.complaints], []);
});

/**
 * A file in another conversation marks its contact until the user opens it. So does the one before, which only the
 * Files tab has shown.
 */
async function assertMarked(server: TestApp, page: Page, sender: TestUser, conversation_id: string) {
  await page.evaluate(slowDown);
  await page.getByRole("link", { name: "Notes to self" }).click();
  await page.getByRole("region", { name: "Conversation: your notes" }).waitFor();
  const file = new File(["more"], "more.txt");
  await upload(server.url, sender, file, { conversation_id });
  const marked = page.getByRole("option", { name: "2 unread" });
  await marked.click();
  await page.getByRole("button", { name: "Open more.txt" }).waitFor();
  await marked.waitFor({ state: "detached" });
}

/** Runs in the page. Delays frames and timers by a second, like a slow machine. */
function slowDown(): void {
  const later = window.setTimeout;
  const slow = (work: () => void, ms = 0) => later(work, ms + 1000);
  window.setTimeout = slow as typeof later;
  window.requestAnimationFrame = (draw) => slow(() => draw(performance.now()));
}

test("events that arrive before the first frame are not lost", { skip: noChromium }, async (t) => {
  const server = await startApp(t);
  const { page, guard } = await openPage(await openBrowser(t), server.url);
  const { ann, bob, id } = await openPair(page, server);
  await page.addInitScript(slowDown);
  const stream = page.waitForEvent("websocket");
  await signIn(page, server.url, ann.token);
  await stream;
  await upload(server.url, bob, new File(["early"], "early.txt"), { conversation_id: id });
  await page.getByRole("option", { name: "1 unread" }).waitFor();
  assert.deepEqual(guard.complaints, []);
});

test("a file that is too large or exceeds the quota is reported", {
  skip: noChromium,
}, async (t) => {
  const server = await startApp(t, { maxFileBytes: 1024, userQuotaBytes: 1536 });
  const user = await server.user();
  const { page, guard } = await openPage(await openBrowser(t), server.url);
  await signIn(page, server.url, user.token);
  await page.getByRole("link", { name: "Notes to self" }).click();
  await openFiles(page);
  const text = (name: string, size: number) => ({
    ...{ name, type: "text/plain", base64: Buffer.alloc(size, "a").toString("base64") },
  });
  await dropFiles(page, [text("large.txt", 1025)]);
  await page.getByText("accepts at most 1 kB").waitFor();
  assert.equal(await page.getByRole("button", { name: "Send large.txt again" }).count(), 0);
  await dropFiles(page, [text("a.txt", 900)]);
  await openAccount(page);
  await page.getByText("900 bytes of 1.5 kB stored").waitFor();
  await page.keyboard.press("Escape");
  await dropFiles(page, [text("b.txt", 900)]);
  await page.locator(".tray-row.failed").filter({ hasText: "Your storage is full." }).waitFor();
  await page.getByText("2 files were not sent").waitFor();
  assert.deepEqual(guard.complaints, []);
});

test("without the scope events:read, the user's own changes still appear at once", {
  skip: noChromium,
}, async (t) => {
  const server = await startApp(t);
  const user = await server.user({
    scopes: ["contacts:read", "contacts:write", "attachments:read", "attachments:write"],
  });
  const { page, guard } = await openPage(await openBrowser(t), server.url);
  await signIn(page, server.url, user.token);
  await page.getByRole("alert").filter({ hasText: "show only after a reload" }).waitFor();
  await page.getByRole("link", { name: "Notes to self" }).click();
  await openFiles(page);
  await page.getByRole("heading", { name: "Drop files here" }).waitFor();
  for (const name of ["first.txt", "second.txt"]) {
    await dropFiles(page, [{ name, type: "text/plain", base64: btoa(name) }]);
    await page.getByRole("button", { name: `Open ${name}` }).waitFor();
  }
  assert.deepEqual(guard.complaints, []);
});

test("further pages of files load by themselves, and pasted files appear at the top", {
  skip: noChromium,
}, async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const COUNT = 70;
  for (let i = 0; i < COUNT; i++) await upload(server.url, user, new File([`${i}`], `${i}.txt`));
  const { page, guard } = await openPage(await openBrowser(t), server.url);
  await signIn(page, server.url, user.token);
  await page.getByRole("link", { name: "Notes to self" }).click();
  await openFiles(page);
  await page.getByText(new RegExp(`^${COUNT} files · `)).waitFor();
  await page.getByRole("button", { name: `Open ${COUNT - 1}.txt` }).click();
  const next = page.getByRole("dialog").getByRole("button", { name: "Next" });
  for (let i = COUNT - 2; i >= 0; i--) {
    await next.click();
    await page.getByRole("heading", { name: `${i}.txt`, exact: true }).waitFor();
  }
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Open 0.txt", exact: true }).and(page.locator(":focus")).waitFor();
  await page.evaluate(() => {
    const clipboardData = new DataTransfer();
    clipboardData.items.add(new File(["pasted"], "image.png", { type: "image/png" }));
    dispatchEvent(new ClipboardEvent("paste", { clipboardData, cancelable: true }));
  });
  await page.getByText(new RegExp(`^${COUNT + 1} files · `)).waitFor();
  await page.keyboard.press("Home");
  await page.getByRole("button", { name: "Open image.png" }).and(page.locator(":focus")).waitFor();
  assert.deepEqual(guard.complaints, []);
});
