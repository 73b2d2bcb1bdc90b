// Webhooks in the administration, with many webhooks and deliveries.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { SCOPES } from "../../src/core/people/tokens.ts";
import { startApp } from "../support/app.ts";
import { noChromium, openBrowser } from "../support/engines/chromium.ts";
import { hook, LIMITS, newest } from "../support/hooks.ts";
import { receiver } from "../support/receiver.ts";
import { assertAccessible, makeContact, openPage } from "./browser.ts";
import { addUser, enter, go, hear, openOffice, press, row, sendNote } from "./in-admin.ts";
import { say } from "./talk.ts";

const skip = noChromium;

test("deliveries that arrive while the page is open leave no gap", { skip }, async (t) => {
  const { page, server, guard } = await openOffice(t);
  const bob = await addUser(server, "bob");
  const made = await hook(server, bob, await receiver(t), { events: ["message.created"] });
  await sendNote(server, bob, "first");
  await newest(server, bob, made, { state: "delivered" });
  await page.goto(`${server.url}/#admin/webhooks/${made.id}`);
  await row(page, "Deliveries", "Delivered").waitFor();
  // More than one page.
  for (let at = 0; at < 45; at++) await sendNote(server, bob, `note ${at}`);
  await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 46);
  assert.deepEqual(guard.complaints, []);
});

test("deliveries are not requested again while an answer is missing", { skip }, async (t) => {
  const { page, server } = await openOffice(t);
  const bob = await addUser(server, "bob");
  const to = await receiver(t, (response) => response.writeHead(500).end());
  const made = await hook(server, bob, to, { events: ["message.created"] });
  await sendNote(server, bob, "hello");
  await newest(server, bob, made, { last_status: 500 });
  await page.goto(`${server.url}/#admin/webhooks/${made.id}`);
  await row(page, "Deliveries", "Retrying").waitFor();
  let held = 0;
  await page.route("**/deliveries?*", () => {
    held++;
  });
  await page.waitForRequest("**/deliveries?*");
  // Long enough for two more polls.
  await sleep(4500);
  assert.equal(held, 1);
});

test("the summary of webhooks covers only the loaded ones", { skip }, async (t) => {
  const { page, server, admin, guard } = await openOffice(t, undefined, { maxWebhooks: 60 });
  const to = await receiver(t);
  for (let at = 0; at < 51; at++) await hook(server, admin, to);
  await go(page, "Webhooks");
  await page.getByText("None of the newest 50 is failing").waitFor();
  await page.getByText("Disabled", { exact: true }).click();
  await page.getByText("None of the newest 50 webhooks is disabled.").waitFor();
  await page.getByRole("button", { name: "Show more" }).click();
  await page.getByText("No webhook is disabled.").waitFor();
  await page.getByText("None is failing").waitFor();
  assert.deepEqual(guard.complaints, []);
});

const STACK = `<b>Internal error</b>\n${Array.from({ length: 20 }, (_, at) => `  at handler ${at}`).join("\n")}`;

test("a delivery shows the start of the receiver's answer as text, and all of it on demand", {
  skip,
}, async (t) => {
  const { page, server, guard } = await openOffice(t);
  const bob = await addUser(server, "bob");
  let body = STACK;
  const to = await receiver(t, (response) => response.writeHead(500).end(body));
  const made = await hook(server, bob, to, { events: ["message.created"] });
  await sendNote(server, bob, "hello");
  await newest(server, bob, made, { last_status: 500 });
  await page.goto(`${server.url}/#admin/webhooks/${made.id}`);
  const delivery = row(page, "Deliveries", "Message created");
  const answer = delivery.locator("pre");
  await delivery.getByText("<b>Internal error</b>").waitFor();
  assert.equal(await answer.innerText(), `${STACK.split("\n", 3).join("\n")}…`);
  await assertAccessible(page, "the answer of a receiver");
  const more = delivery.getByRole("button", { name: "Show all of the answer" });
  await more.focus();
  await page.keyboard.press("Enter");
  assert.equal(await answer.innerText(), STACK);
  await delivery.getByRole("button", { name: "Show less of the answer", expanded: true }).click();
  await more.waitFor();
  // The next attempt replaces it.
  body = "short";
  await delivery.getByRole("button", { name: "Send again" }).click();
  await delivery.getByText("short").waitFor();
  assert.equal(await delivery.getByRole("button", { name: "of the answer" }).count(), 0);
  assert.deepEqual(guard.complaints, []);
});

test("a repaired webhook says how many events wait until when, and sends them all at once", {
  skip,
}, async (t) => {
  // Nothing becomes due by itself.
  const now = Date.now();
  const server = await startApp(t, LIMITS, { clock: () => now });
  const admin = await addUser(server, "admin", { scopes: SCOPES });
  const { page, guard } = await openPage(await openBrowser(t), server.url);
  await enter(page, server.url, admin.token);
  const pauses = ["0", "600"];
  const to = await receiver(t, (response) => {
    const pause = pauses.shift();
    if (pause) response.writeHead(503, { "retry-after": pause }).end();
  });
  const made = await hook(server, admin, to, { events: ["message.created"] });
  await addUser(server, "bob");
  const { conversation_id } = await makeContact(server, admin, "bob");
  await sendNote(server, admin, "first");
  const first = await newest(server, admin, made, { last_status: 503 });
  await say(server, admin, conversation_id, "to Bob");
  await newest(server, admin, made, { last_status: 503 });
  for (const text of ["second", "third"]) await sendNote(server, admin, text);
  await page.goto(`${server.url}/#admin/webhooks/${made.id}`);
  await row(page, "Deliveries", "Waiting").first().waitFor();
  await press(page, "Send a test");
  const state = page.getByRole("status", { name: "State" });
  await state.getByText("Catching up").waitFor();
  // Not the time of the newest.
  const time = await row(page, "Deliveries", String(first.event_id)).locator(".moment").textContent();
  await state.getByText(`4 events are waiting. Next attempt: ${time}.`).waitFor();
  await assertAccessible(page, "a webhook whose events wait");
  await press(page, "Send all now");
  await hear(page, "The waiting events are being sent.");
  await state.getByText("Delivering").waitFor();
  await row(page, "Deliveries", /Waiting|Retrying/)
    .first()
    .waitFor({ state: "detached" });
  assert.equal(await state.getByText("waiting").count(), 0);
  assert.deepEqual(guard.complaints, []);
});
