// The documentation in a browser: accessible on each page, and what its script adds.
import assert from "node:assert/strict";
import { globSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { startApp } from "../support/app.ts";
import { noChromium, openBrowser } from "../support/engines/chromium.ts";
import { assertAccessible, assertNoSidewaysScroll, focused, openPage } from "./browser.ts";

const DIST = fileURLToPath(new URL("../../docs/dist/", import.meta.url));
const PAGES = globSync("**/*.html", { cwd: DIST }).sort();
const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };

const isReference = (path: string) => path.startsWith("reference/");

for (const [what, pages] of [
  ["the guides and the API", PAGES.filter((path) => !isReference(path))],
  ["the reference", PAGES.filter(isReference)],
] as const) {
  test(`each page of ${what} is accessible, in light and dark`, { skip: noChromium }, async (t) => {
    const server = await startApp(t);
    const { page, guard } = await openPage(await openBrowser(t), server.url);
    assert.ok(pages.length > 18);
    for (const path of pages) {
      await page.goto(`${server.url}/docs/${path}`);
      await assertNoSidewaysScroll(page, path);
      await assertAccessible(page, path);
    }
    assert.deepEqual(guard.complaints, []);
  });
}

test("each page fits a phone, and those of each kind are accessible there", {
  skip: noChromium,
}, async (t) => {
  const server = await startApp(t);
  const { page, guard } = await openPage(await openBrowser(t), server.url, PHONE);
  for (const path of [...PAGES, "errors/invalid_token", "api/nothing"]) {
    await page.goto(`${server.url}/docs/${path}`);
    await assertNoSidewaysScroll(page, path);
    if (/^(?:index|api|operate|api\/messages|reference\/messages|errors\/|404)/.test(path))
      await assertAccessible(page, path);
  }
  assert.deepEqual(guard.complaints, []);
});

/** Types words into the search, and waits for its results. */
async function search(page: Page, words: string): Promise<string[]> {
  // The button is there once the script has run.
  await page.locator("#site-search").waitFor();
  await page.keyboard.press("/");
  const field = page.getByRole("searchbox");
  await field.fill(words);
  await page
    .getByRole("status")
    .getByText(/result|Nothing/)
    .waitFor();
  return page.getByRole("dialog").getByRole("link").allInnerTexts();
}

test("the search finds parts of pages by words, marks the words, and opens a result by the keyboard", {
  skip: noChromium,
}, async (t) => {
  const server = await startApp(t);
  const { page, guard } = await openPage(await openBrowser(t), server.url);
  const requested: string[] = [];
  page.on("request", (request) => requested.push(new URL(request.url()).pathname));
  await page.goto(`${server.url}/docs/guides/offline.html`);
  assert.ok(!requested.includes("/docs/search.json"), "the index is loaded by the first search");
  const [first] = await search(page, "rotate SECRET");
  assert.match(first!, /^Rotate the secret\n\S+ › Webhooks\n/i);
  assert.ok(requested.includes("/docs/search.json"));
  const marked = await page.getByRole("dialog").getByRole("listitem").first().locator("mark").allInnerTexts();
  assert.deepEqual([...new Set(marked.map((word) => word.toLowerCase()))].sort(), ["rotate", "secret"]);
  await assertAccessible(page, "results of the search");
  await page.keyboard.press("ArrowDown");
  assert.match(await focused(page).innerText(), /^Rotate the secret/i);
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  await page.waitForURL(/webhooks\.html#rotate-the-secret/);
  await page.getByRole("heading", { name: "Rotate the secret" }).waitFor();
  assert.deepEqual(await search(page, "idempot nothing-has-this"), []);
  // Characters of patterns are only text.
  assert.deepEqual(await search(page, "(.*"), []);
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "hidden" });
  assert.deepEqual(guard.complaints, []);
});

test("an address without a page has the search, the sections and a link to the first page", {
  skip: noChromium,
}, async (t) => {
  const server = await startApp(t);
  const { page, guard } = await openPage(await openBrowser(t), server.url);
  const answer = await page.goto(`${server.url}/docs/api/nothing.html`);
  assert.equal(answer!.status(), 404);
  await page.getByRole("heading", { name: "Page not found", level: 1 }).waitFor();
  await assertAccessible(page, "no page");
  assert.notEqual((await search(page, "rotate secret")).length, 0);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Rotate the secret" }).waitFor();
  await page.goBack();
  await page.getByRole("main").getByRole("link", { name: "first page" }).click();
  await page.getByRole("link", { name: "Next" }).waitFor();
  assert.equal(new URL(page.url()).pathname, "/docs/index.html");
  assert.deepEqual(guard.complaints, []);
});

test("code has tabs that keep the choice on the next page, and a button that copies it", {
  skip: noChromium,
}, async (t) => {
  const server = await startApp(t);
  const { page, guard } = await openPage(await openBrowser(t), server.url);
  await page.goto(`${server.url}/docs/`);
  const tabs = page.getByRole("tab");
  assert.deepEqual(await tabs.allInnerTexts(), ["curl", "TypeScript", "React", "HTML"]);
  await tabs.first().focus();
  await page.keyboard.press("ArrowRight");
  assert.equal(await focused(page).innerText(), "TypeScript");
  const panel = page.getByRole("tabpanel", { name: "TypeScript" });
  await panel.getByRole("button", { name: "Copy" }).click();
  await panel.getByRole("button", { name: "Copied" }).waitFor();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  assert.match(copied, /^import \{ Parley \} from "parley-client";\n/);
  await page.goto(`${server.url}/docs/api/contacts.html`);
  assert.deepEqual(
    [...new Set(await page.locator("[role=tab][aria-selected=true]").allInnerTexts())],
    ["TypeScript"],
  );
  assert.deepEqual(guard.complaints, []);
});

test("on a phone, buttons open the pages and the headings, and a link closes them", {
  skip: noChromium,
}, async (t) => {
  const server = await startApp(t);
  const { page, guard } = await openPage(await openBrowser(t), server.url, PHONE);
  await page.goto(`${server.url}/docs/operate.html`);
  await page.getByRole("button", { name: "On this page" }).click();
  await assertAccessible(page, "the headings");
  await page.getByRole("navigation", { name: "On this page" }).getByRole("link", { name: "Alerts" }).click();
  await page.getByRole("navigation", { name: "On this page" }).waitFor({ state: "hidden" });
  assert.equal(new URL(page.url()).hash, "#alerts");
  await page.getByRole("button", { name: "Pages" }).click();
  await assertAccessible(page, "the pages");
  await page.locator("#site-pages").getByRole("link", { name: "Scaling" }).click();
  await page.getByRole("heading", { name: "Scaling", level: 1 }).waitFor();
  assert.deepEqual(guard.complaints, []);
});

test("the moving picture of the first page can be stopped, and is still for readers who want less motion", {
  skip: noChromium,
}, async (t) => {
  const server = await startApp(t);
  const browser = await openBrowser(t);
  for (const reducedMotion of ["no-preference", "reduce"] as const) {
    const { page, guard } = await openPage(browser, server.url, { reducedMotion });
    await page.goto(`${server.url}/docs/`);
    const picture = page.getByRole("img", { name: /^Ada and Bob/ });
    /** Resolves once this picture is shown. */
    const shows = (name: string) =>
      picture.and(page.locator(`[src$="${name}"]`)).evaluate((image: HTMLImageElement) => image.decode());
    const play = page.getByRole("button", { name: "Play" });
    if (reducedMotion === "reduce") await play.click();
    await shows("hello.webp");
    await page.getByRole("button", { name: "Stop" }).click();
    await shows("hello-still.webp");
    await play.waitFor();
    assert.deepEqual(guard.complaints, []);
  }
});

test("without scripts all of a page can be read", { skip: noChromium }, async (t) => {
  const server = await startApp(t);
  const { page } = await openPage(await openBrowser(t), server.url, { javaScriptEnabled: false });
  await page.goto(`${server.url}/docs/`);
  assert.deepEqual(await page.locator(".tabs p").allInnerTexts(), ["curl", "TypeScript", "React", "HTML"]);
  assert.equal(await page.locator("main pre:visible").count(), 6);
  assert.equal(await page.getByRole("img", { name: /^Ada and Bob/ }).getAttribute("src"), "hello-still.webp");
  await page.getByRole("link", { name: "Next" }).click();
  await page.getByRole("heading", { name: "Five minutes", level: 1 }).waitFor();
});
