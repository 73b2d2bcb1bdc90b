import assert from "node:assert/strict";
import { test } from "node:test";
import { startApp, type TestApp, type TestUser } from "../support/app.ts";
import { noChromium, openBrowser } from "../support/engines/chromium.ts";
import { isLong, scaled } from "../support/scale.ts";
import { openPage, signIn } from "./browser.ts";
import { introduce, say } from "./talk.ts";

const MESSAGES = scaled(600, 10_000);
const MAX_FRAME_MS = 100;

test(`${MESSAGES} messages scroll smoothly, in order, and without a jump`, {
  skip: noChromium,
}, async (t) => {
  const server = await startApp(t);
  const [ann, bob] = [await server.user(), await server.user()];
  const id = await introduce(server, ann, bob);
  await fill(server, [ann, bob], id);
  const { page, guard } = await openPage(await openBrowser(t), server.url);
  await signIn(page, server.url, ann.token);
  await page.getByRole("option", { name: "Bob" }).click();
  await page
    .locator(".message")
    .filter({ hasText: `message ${MESSAGES - 1}` })
    .waitFor();
  const up = await page.locator(".messages").evaluate(scrollThrough, -1);
  const down = await page.locator(".messages").evaluate(scrollThrough, 1);
  for (const [what, { frames, seen, jumps, rows }] of Object.entries({ up, down })) {
    frames.sort((a, b) => a - b);
    const at = (part: number) => frames[Math.floor(part * (frames.length - 1))]!.toFixed(1);
    t.diagnostic(
      `${what}: ${frames.length} frames, median ${at(0.5)} ms, 99 % ${at(0.99)} ms, longest ${at(1)} ms`,
    );
    assert.deepEqual(
      seen.toSorted((a, b) => a - b),
      Array.from({ length: MESSAGES }, (_, i) => i),
      what,
    );
    assert.deepEqual(jumps, [], `${what}: what was in view moved by itself`);
    assert.ok(rows <= 450, `${rows} messages on the page`);
    if (isLong) assert.ok(frames.at(-1)! < MAX_FRAME_MS, `a frame took ${frames.at(-1)} ms`);
  }
  assert.deepEqual(guard.complaints, []);
});

/** Sends the messages, some of many lines, a few concurrently per sender. */
async function fill(server: TestApp, people: TestUser[], id: string): Promise<void> {
  for (let i = 0; i < MESSAGES; i++) {
    const lines = "and a further line of it\n".repeat((i * 7) % 5);
    await say(server, people[Math.floor(i / 3) % 2]!, id, `message ${i}\n${lines}`.trim());
  }
}

/**
 * Runs in the page. Scrolls to one end as fast as pages load, measures each frame, and records each message in view.
 */
async function scrollThrough(box: Element, direction: number) {
  const STEP = 600;
  const frames: number[] = [];
  const jumps: string[] = [];
  const seen = new Set<number>();
  let rows = 0;
  const inView = () => {
    const { top, bottom } = box.getBoundingClientRect();
    const all = [...box.querySelectorAll(".message")];
    rows = Math.max(rows, all.length);
    return all
      .map((row) => ({ row, place: row.getBoundingClientRect() }))
      .filter(({ place }) => place.bottom > top && place.top < bottom);
  };
  const note = () => {
    const places = inView();
    for (const { row } of places)
      seen.add(Number(/^message (\d+)/.exec(row.querySelector(".message-text")!.textContent!)![1]));
    return places;
  };
  note();
  let last = await new Promise<number>(requestAnimationFrame);
  let quiet = 0;
  // At the end, nothing moves for as long as a page may take to load.
  while (quiet < 60) {
    const before = box.scrollTop;
    box.scrollTop += direction * STEP;
    quiet = box.scrollTop === before ? quiet + 1 : 0;
    const places = note();
    const now = await new Promise<number>(requestAnimationFrame);
    frames.push(now - last);
    last = now;
    // Visible messages keep their position when others are added.
    for (const { row, place } of places) {
      if (!row.isConnected) jumps.push(`${row.textContent} is gone`);
      else if (Math.abs(row.getBoundingClientRect().top - place.top) > 1)
        jumps.push(`${row.getBoundingClientRect().top - place.top} px`);
    }
  }
  return { frames, jumps, rows, seen: [...seen] };
}
