// Many contacts, files and messages of one user at once.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Locator, Page } from "playwright-core";
import { fillContacts, fillConversations, fillFiles, fillMessages } from "../../bench/rows.ts";
import { startApp } from "../support/app.ts";
import { noChromium, openBrowser } from "../support/engines/chromium.ts";
import { scaled } from "../support/scale.ts";
import { openFiles, openPage, signIn } from "./browser.ts";
import { introduce, say } from "./talk.ts";

const CONTACTS = 100_000;
const FILES = 2000;
const MESSAGES = 10_000;
/** How far to scroll the contacts and the messages. */
const CONTACTS_SEEN = scaled(1500, 20_000);
const MESSAGES_SEEN = scaled(300, MESSAGES);
const ROUNDS = scaled(5, 50);

/** For three conversations, the number of the first message and the count. */
const TALKS = [
  { first: 1, count: MESSAGES },
  { first: 20_001, count: 500 },
  { first: 30_001, count: 50 },
];
const lastOf = ({ first, count }: { first: number; count: number }) => first + count - 1;

/** Finds the row of a conversation by its last message, because all contacts have the same name. */
const talkRow = (page: Page, at: number) =>
  page.getByRole("option").filter({ hasText: `This is message ${lastOf(TALKS[at]!)},` });

/** Returns the numbers of the messages on the page, from top to bottom. */
const listNumbers = (page: Page) =>
  page
    .locator(".message-text")
    .evaluateAll((all) => all.map((each) => Number(/^This is message (\d+)/.exec(each.textContent!)?.[1])));

/** Waits for the end of a conversation, and fails unless its messages are consecutive. */
async function assertOpen(page: Page, at: number): Promise<void> {
  const { first, count } = TALKS[at]!;
  await page.locator(".message-text", { hasText: `This is message ${first + count - 1},` }).waitFor();
  const numbers = await listNumbers(page);
  const end = numbers.at(-1)!;
  assert.ok(numbers[0]! >= first && end === first + count - 1, `${numbers[0]} to ${end} in ${at}`);
  assert.deepEqual(
    numbers,
    Array.from(numbers, (_, at) => numbers[0]! + at),
  );
}

test("100,000 contacts, 2,000 files and 10,000 messages stay right during scrolling and switching", {
  skip: noChromium,
}, async (t) => {
  const server = await startApp(t);
  const [ann, bob] = [await server.user(), await server.user()];
  const { dataFolder } = server.config;
  fillContacts(dataFolder, ann.id, 1, CONTACTS);
  const ids = [...fillConversations(dataFolder, ann.id, bob.id, 1, 2), await introduce(server, ann, bob)];
  const people = { senderId: bob.id, readerId: ann.id };
  fillMessages(
    dataFolder,
    TALKS.map((talk, at) => ({ ...people, ...talk, conversationId: ids[at]! })),
  );
  fillFiles(dataFolder, "user-1", 1, FILES);
  const { page, guard } = await openPage(await openBrowser(t), server.url);
  await signIn(page, server.url, ann.token);

  // Scrolls each list while the two others are loaded.
  await talkRow(page, 0).click();
  await assertOpen(page, 0);
  const { reached, most } = await page.locator(".messages").evaluate(scrollUp, MESSAGES_SEEN);
  assert.ok(reached <= MESSAGES - MESSAGES_SEEN, `the messages begin with ${reached}`);
  assert.ok(most <= 450, `${most} messages on the page`);
  const contacts = page.getByRole("listbox");
  const seen = await contacts.evaluate(scrollContacts, CONTACTS_SEEN);
  assert.ok(seen.most < 60, `${seen.most} contacts on the page`);
  assert.ok(seen.reached >= CONTACTS_SEEN, `${seen.reached} contacts were scrolled through`);
  const place = await topOf(contacts);
  await page.getByRole("link", { name: "Notes to self" }).click();
  await openFiles(page);
  await page.getByText(/^2,000 files · /).waitFor();
  const files = page.locator(".files");
  await files.evaluate((box) => box.scrollTo(0, box.scrollHeight));
  await page.locator(`.card[aria-rowindex='${FILES}']`).waitFor();
  assert.ok((await page.locator(".card").count()) < 90);
  // The other lists did not move the contacts.
  assert.equal(await topOf(contacts), place);

  // A new message moves its conversation up, and changes nothing else.
  await say(server, bob, ids[2]!, `This is message ${lastOf(TALKS[2]!) + 1}, and it is new.`);
  TALKS[2]!.count++;
  await contacts.evaluate((box) => box.scrollTo(0, 0));
  await page.getByRole("option").first().getByText("and it is new").waitFor();
  assert.equal(await page.locator(`.card[aria-rowindex='${FILES}']`).count(), 1);
  for (let round = 0; round < ROUNDS; round++) {
    // Each click but the last comes before its conversation has loaded.
    for (const at of [0, 1, 2, round % 3]) await talkRow(page, at).click();
    await assertOpen(page, round % 3);
  }
  await page.getByRole("link", { name: "Notes to self" }).click();
  await openFiles(page);
  await page.getByText(/^2,000 files · /).waitFor();
  assert.deepEqual(guard.complaints, []);
});

const topOf = (box: Locator) => box.evaluate(({ scrollTop }) => scrollTop);

/** Runs in the page. Scrolls up by this many messages. Returns the number of the first one on the page. */
async function scrollUp(box: Element, wanted: number): Promise<{ reached: number; most: number }> {
  const numbers = () =>
    [...box.querySelectorAll(".message-text")].map((each) => Number(/\d+/.exec(each.textContent!)![0]));
  const end = numbers().at(-1)!;
  let most = 0;
  const until = performance.now() + 60_000;
  while (numbers()[0]! > end - wanted && numbers()[0]! > 1 && performance.now() < until) {
    box.scrollTop -= 1500;
    await new Promise(requestAnimationFrame);
    most = Math.max(most, numbers().length);
  }
  return { reached: numbers()[0]!, most };
}

/** Runs in the page. Scrolls through this many contacts as fast as pages load. */
async function scrollContacts(list: Element, wanted: number): Promise<{ reached: number; most: number }> {
  const places = () =>
    [...list.querySelectorAll("[role=option]")].map((row) => Number(row.getAttribute("aria-posinset")));
  let most = 0;
  const until = performance.now() + 60_000;
  while (Math.max(...places()) < wanted && performance.now() < until) {
    list.scrollTop += 3000;
    await new Promise(requestAnimationFrame);
    most = Math.max(most, places().length);
  }
  return { reached: Math.max(...places()), most };
}
