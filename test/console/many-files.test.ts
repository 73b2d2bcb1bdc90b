import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { fillFiles } from "../../bench/rows.ts";
import { MAX_LOADED } from "../../console/src/files/file-order.ts";
import { formatSize } from "../../console/src/ui/format.ts";
import { startApp } from "../support/app.ts";
import { noChromium, openBrowser } from "../support/engines/chromium.ts";
import { isLong, scaled } from "../support/scale.ts";
import { openAccount, openFiles, openPage, signIn } from "./browser.ts";
import { openNotes } from "./in-files.ts";

const FILES = scaled(60, 1000);
const LISTED = 2000;
const FRAMES = scaled(60, 200);
const MAX_FRAME_MS = 100;

test("many files dropped at once upload without a request for each", {
  skip: noChromium,
}, async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const { page, guard } = await openPage(await openBrowser(t), server.url);
  await signIn(page, server.url, user.token);
  await page.getByRole("link", { name: "Notes to self" }).click();
  await openFiles(page);
  await page.getByRole("heading", { name: "Drop files here" }).waitFor();
  const asked = { lists: 0, me: 0, uploads: 0 };
  page.on("request", (request) => {
    const { pathname } = new URL(request.url());
    if (pathname === "/v1/me") asked.me++;
    if (pathname !== "/v1/attachments") return;
    if (request.method() === "POST") asked.uploads++;
    else asked.lists++;
  });
  let bytes = 0;
  for (let i = 0; i < FILES; i++) bytes += `file ${i}`.length;
  const begin = performance.now();
  const frames = await page.locator(".conversation").evaluate(dropMany, FILES);
  const seconds = (performance.now() - begin) / 1000;
  frames.sort((a, b) => a - b);
  const longest = frames.at(-1)!.toFixed(0);
  const median = frames[Math.floor(frames.length / 2)]!.toFixed(0);
  t.diagnostic(
    `${FILES} files in ${seconds.toFixed(1)} s, ${asked.lists} lists, ${asked.me} of /v1/me; frames: median ${median} ms, longest ${longest} ms`,
  );
  await openAccount(page);
  await page.getByText(`${formatSize(bytes)} stored`).waitFor();
  assert.deepEqual({ uploads: asked.uploads, me: asked.me <= 2 }, { uploads: FILES, me: true });
  // The details of new files share requests.
  assert.ok(asked.lists <= 2 * (seconds / 0.3 + 1), `${asked.lists} lists`);
  assert.deepEqual(guard.complaints, []);
});

/** Runs in the page. Drops this many files, and measures each frame until all are sent. */
async function dropMany(zone: Element, count: number): Promise<number[]> {
  const dataTransfer = new DataTransfer();
  for (let i = 0; i < count; i++) dataTransfer.items.add(new File([`file ${i}`], `${i}.txt`));
  const frames: number[] = [];
  let last = await new Promise<number>(requestAnimationFrame);
  zone.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
  const end = performance.now() + 200_000;
  const isDone = () => document.querySelector(".tray-title")?.textContent === "All files uploaded";
  while (!isDone() && performance.now() < end) {
    const now = await new Promise<number>(requestAnimationFrame);
    frames.push(now - last);
    last = now;
  }
  return frames;
}

for (const where of ["one conversation", "all conversations"])
  test(
    `2,000 files of ${where} scroll smoothly in each order and view, rendering only those in view`,
    {
      skip: noChromium,
    },
    (t) => scrollMany(t, where),
  );

async function scrollMany(t: TestContext, where: string): Promise<void> {
  const server = await startApp(t);
  const user = await server.user();
  fillFiles(server.config.dataFolder, "user-1", 1, LISTED);
  const { page, guard } = await openPage(await openBrowser(t), server.url);
  await signIn(page, server.url, user.token);
  let at = performance.now();
  const since = () => {
    const [before, now] = [at, performance.now()];
    at = now;
    return Math.round(now - before);
  };
  if (where === "one conversation") await openNotes(page);
  else await page.getByRole("link", { name: "Files of all conversations" }).click();
  await page.locator(".card").first().waitFor();
  const first = since();
  await page.getByText(/^2,000 files · /).waitFor();
  t.diagnostic(`the first files show after ${first} ms, all ${LISTED} are there after ${since()} ms more`);
  for (const view of ["grid", "list"])
    for (const order of ["Newest", "Name", "Size"]) {
      if (view === "list" && order === "Newest")
        await page.getByRole("button", { name: "Show as list" }).click();
      since();
      await page.getByLabel("Sort files").selectOption(order);
      await page.locator(".card[aria-rowindex='1']").waitFor();
      const sorted = since();
      const { frames, cards } = await page.locator(".files").evaluate(scrollThrough, FRAMES);
      frames.sort((a, b) => a - b);
      const part = (part: number) => frames[Math.floor(part * (frames.length - 1))]!.toFixed(1);
      t.diagnostic(
        `${view}, ${order}: shown after ${sorted} ms, ${frames.length} frames: median ${part(0.5)} ms, 99 % ${part(0.99)} ms, longest ${part(1)} ms; at most ${cards} cards`,
      );
      assert.ok(cards < 90, `${cards} cards on the page`);
      await page.locator(`.card[aria-rowindex='${LISTED}']`).waitFor();
      if (isLong) assert.ok(frames.at(-1)! < MAX_FRAME_MS, `a frame took ${frames.at(-1)} ms`);
    }
  since();
  await page.locator(".thumb[tabindex='0']").press("ControlOrMeta+a");
  await page.getByText(/^2,000 files · .* selected$/).waitFor();
  t.diagnostic(`all are selected after ${since()} ms`);
  assert.deepEqual(guard.complaints, []);
}

/** Runs in the page. Scrolls as fast as a wheel does, measures each frame and counts cards, then jumps to the end. */
async function scrollThrough(box: Element, count: number): Promise<{ frames: number[]; cards: number }> {
  const frames: number[] = [];
  let cards = 0;
  let last = await new Promise<number>(requestAnimationFrame);
  for (let i = 1; i <= count; i++) {
    box.scrollTop = i * 300;
    const now = await new Promise<number>(requestAnimationFrame);
    frames.push(now - last);
    last = now;
    cards = Math.max(cards, box.querySelectorAll(".card").length);
  }
  box.scrollTop = box.scrollHeight;
  return { frames, cards };
}

test("a list with more files than it sorts says so, and loads older ones on request", {
  skip: noChromium,
}, async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  fillFiles(server.config.dataFolder, "user-1", 1, MAX_LOADED + 500);
  const { page, guard } = await openPage(await openBrowser(t), server.url);
  await signIn(page, server.url, user.token);
  await openNotes(page);
  // A list that is read again is read in other pages.
  await page.getByText(/^10,(048|100) files · /).waitFor();
  await page.getByText(/^Only the newest 10,(048|100) files are loaded/).waitFor();
  await page.getByRole("button", { name: "Load older files" }).click();
  await page.getByText(/^10,500 files · /).waitFor();
  await page.getByRole("button", { name: "Load older files" }).waitFor({ state: "detached" });
  assert.deepEqual(guard.complaints, []);
});
