import assert from "node:assert/strict";
import { test } from "node:test";
import { formatSize } from "../../console/src/format.ts";
import { startApp } from "../support/app.ts";
import { noChromium, openBrowser } from "../support/engines/chromium.ts";
import { scaled } from "../support/scale.ts";
import { openAccount, openFiles, openPage, signIn } from "./browser.ts";

const FILES = scaled(60, 1000);

test("many files dropped at once are sent without asking the server for what is known", {
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
  assert.deepEqual({ ...asked, me: asked.me <= 2 }, { uploads: FILES, lists: 0, me: true });
  assert.deepEqual(guard.complaints, []);
});

/** Runs in the page: drops so many files, and measures each frame until all are sent. */
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
