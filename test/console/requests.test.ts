// Requests in one place: invitations received, and contacts who have not added the user yet.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { noChromium } from "../support/engines/chromium.ts";
import { read, send } from "../support/people.ts";
import { assertAccessible, assertNoSidewaysScroll, makeContact } from "./browser.ts";
import { assertQuiet, gather, invitation, press } from "./in-groups.ts";
import { gate } from "./proxy.ts";
import { testScenes } from "./scenes.ts";
import { find, introduce, say, toUsername } from "./talk.ts";

const openRequests = (page: Page) => page.getByText("Requests", { exact: true }).click();
const heading = (page: Page, name: string) => page.getByRole("heading", { name, exact: true });
const sent = (page: Page) =>
  page.getByRole("listbox", { name: "Contacts who have not added you" }).getByRole("option");

test("invitations and contacts who have not added the user are in one place", {
  skip: noChromium,
}, async (t) => {
  const { server, people } = await gather(t);
  const [ann, bob] = people;
  const { page } = ann;
  await openRequests(page);
  await heading(page, "Received (0)").waitFor();
  await heading(page, "Sent (0)").waitFor();
  await page.getByText("You are not waiting for anyone.").waitFor();
  await assertAccessible(page, "no requests");
  await read(send(server, bob.user, "POST", "/v1/groups", { name: "Chess", members: ["ann"] }), 201);
  await heading(page, "Received (1)").waitFor();
  await invitation(page).getByText("Bob (@bob) invited you").waitFor();
  // Also without a message: nobody else learns of it.
  const dan = await makeContact(server, ann.user, "dan", "Dan");
  const { conversation_id } = await makeContact(server, ann.user, "eve", "Eve");
  await say(server, ann.user, conversation_id, "Hello Eve");
  await heading(page, "Sent (2)").waitFor();
  assert.deepEqual(await sent(page).locator(".contact-name").allTextContents(), ["Eve", "Dan"]);
  for (const colorScheme of ["light", "dark"] as const)
    for (const width of [390, 1280]) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 800 });
      await assertNoSidewaysScroll(page, `${width}`);
      await assertAccessible(page, `requests, ${colorScheme}, ${width}`);
    }
  await page.getByRole("listbox", { name: "Contacts who have not added you" }).focus();
  await page.keyboard.press("Enter");
  await find(page, "Hello Eve").waitFor();
  await page.getByText("Waiting until Eve adds you.").waitFor();
  assert.equal((await send(server, ann.user, "DELETE", `/v1/contacts/${dan.id}`)).status, 204);
  await heading(page, "Sent (1)").waitFor();
  await press(page, "Join Chess");
  await heading(page, "Received (0)").waitFor();
  assertQuiet(people);
});

testScenes("requests that were sent", {
  "a contact who writes has added the user, and is listed no more": async (world) => {
    const { server } = world;
    const bob = await server.user();
    const ann = await world.arrive(async (user) => {
      await makeContact(server, user, await toUsername(server, bob), "Bob");
      await makeContact(server, user, "nobody", "Nobody");
    });
    await openRequests(ann.page);
    await heading(ann.page, "Sent (2)").waitFor();
    const name = await toUsername(server, ann.user);
    const { conversation_id } = await makeContact(server, bob, name, "Ann");
    await say(server, bob, conversation_id, "Hello Ann");
    await heading(ann.page, "Sent (1)").waitFor();
    assert.deepEqual(await sent(ann.page).locator(".contact-name").allTextContents(), ["Nobody"]);
    assert.deepEqual(ann.guard.complaints, []);
  },

  "many contacts are looked through page by page, and a failure is retried": async (world) => {
    const { server, proxy } = world;
    const ann = await world.arrive(async (user) => {
      await makeContact(server, user, "nobody", "Nobody");
      // The newest page has contacts only who have added the user, but were not active since.
      for (let at = 0; at < 52; at++) await introduce(server, user, await server.user());
    });
    const { page } = ann;
    proxy.fate = (line) => (line.startsWith("GET /v1/conversations/") ? "break" : "pass");
    await openRequests(page);
    const retry = page.getByRole("button", { name: "Try again" });
    await retry.waitFor();
    proxy.fate = () => "pass";
    await retry.click();
    await heading(page, "Sent (1)").waitFor();
    await sent(page).getByText("Nobody", { exact: true }).waitFor();
    assert.deepEqual(ann.guard.complaints, []);
  },

  "only conversations of which the copy does not know that the contact has joined are read, a few at once":
    async (world) => {
      const { server } = world;
      const ann = await world.arrive(async (user) => {
        for (let at = 0; at < 3; at++) {
          const friend = await server.user();
          await say(server, friend, await introduce(server, user, friend), "hello");
        }
        for (let at = 0; at < 20; at++) await makeContact(server, user, `nobody-${at}`);
      });
      const { page } = ann;
      await page.getByRole("option").nth(2).waitFor();
      const reads = { count: 0, running: 0, most: 0 };
      const isRead = (line: string) => /^GET \/v1\/conversations\/cnv_\w+$/.test(line);
      const fourth = gate();
      world.proxy.fate = (line) => {
        if (!isRead(line)) return "pass";
        reads.most = Math.max(reads.most, ++reads.running);
        if (++reads.count === 4) fourth.open();
        // A fast answer must not come before the next request.
        return fourth.passed;
      };
      world.proxy.answered = (line) => {
        if (isRead(line)) reads.running--;
      };
      await openRequests(page);
      await heading(page, "Sent (20)").waitFor();
      assert.deepEqual([reads.count, reads.running], [20, 0]);
      assert.ok(reads.most <= 4, `${reads.most} at once`);
      assert.deepEqual(ann.guard.complaints, []);
    },
});
