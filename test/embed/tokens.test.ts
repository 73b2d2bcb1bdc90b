// Tokens of the web components: those of two users on one page, renewed ones, and none.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { asker, type Json } from "../support/asker.ts";
import { noChromium } from "../support/engines/chromium.ts";
import { say } from "../support/people.ts";
import { message, openWorld, write } from "./pages.ts";

/** Sets a function that returns this token. */
function useToken(page: Page, name: "inbox" | "chat", token: string | null): Promise<void> {
  return page.locator(`parley-${name}`).evaluate((element, token) => {
    Object.assign(element, { getToken: async () => token });
  }, token);
}

/** Resolves to the code of the next error, after doing this to the element. */
function nextError(page: Page, change: Record<string, string>): Promise<unknown> {
  return page.locator("parley-chat").evaluate((element, change) => {
    const found = new Promise((resolve) => {
      element.addEventListener("parley-error", (event) => resolve((event as CustomEvent).detail.code), {
        once: true,
      });
    });
    for (const [name, value] of Object.entries(change)) element.setAttribute(name, value);
    return found;
  }, change);
}

test("an element that changes to another user leaves the others with theirs", {
  skip: noChromium,
}, async (t) => {
  const { app, ann, bob, conversation, open, toElement, complaints } = await openWorld(t);
  await say(app, bob, conversation, "From Bob");
  const more = `conversation="${conversation}"`;
  const page = await open(toElement("inbox", ann, more) + toElement("chat", ann, more));
  const [inbox, chat] = [page.locator("parley-inbox"), page.locator("parley-chat")];
  await chat.locator(".message:not(.own)").waitFor();
  await chat.evaluate((element, token) => {
    element.setAttribute("token", token);
  }, bob.token);
  await chat.locator(".message.own").waitFor();
  await inbox.getByRole("textbox").fill("From Ann");
  await inbox.getByRole("textbox").press("Enter");
  await chat.locator(".message:not(.own)").waitFor();
  const path = `/v1/messages?conversation_id=${conversation}`;
  const sent = (await asker(app, bob)("GET", path)).body.data as Json[];
  assert.deepEqual(
    sent.map(({ sender }) => (sender as Json).id),
    [ann.id, bob.id],
  );
  await inbox.evaluate((element) => element.removeAttribute("token"));
  await inbox.locator(".message").first().waitFor({ state: "detached" });
  assert.deepEqual(complaints, []);
});

test("a renewed token, and a move in the page, keep what the user has written", {
  skip: noChromium,
}, async (t) => {
  const { ann, conversation, open, toElement, complaints } = await openWorld(t);
  const page = await open(`${toElement("chat", ann, `conversation="${conversation}"`)}<div></div>`);
  await page.getByRole("textbox").fill("A draft");
  await page.evaluate(() => document.querySelector("div")!.append(document.querySelector("parley-chat")!));
  await useToken(page, "chat", ann.token);
  await page.waitForLoadState("networkidle");
  assert.equal(await page.getByRole("textbox").inputValue(), "A draft");
  await page.getByRole("textbox").press("Enter");
  await message(page, "A draft").locator(".tick.sent").waitFor();
  assert.deepEqual(complaints, []);
});

test("without a token nothing is stored, and errors are events", { skip: noChromium }, async (t) => {
  const { app, ann, conversation, open, complaints } = await openWorld(t);
  const page = await open(`<parley-chat conversation="${conversation}"></parley-chat>`);
  assert.equal(await nextError(page, { server: app.url, token: "" }), "missing_token");
  assert.equal(await nextError(page, { server: "http://[", token: ann.token }), "unexpected");
  assert.equal(await nextError(page, { labels: `${app.url}/none.json` }), "labels_not_found");
  assert.deepEqual(await page.evaluate(() => indexedDB.databases()), []);
  assert.deepEqual(complaints, []);
});

test("a refused sign-in is shown as such, and errors are in the console, once while they repeat", {
  skip: noChromium,
}, async (t) => {
  const { app, ann, conversation, open, complaints } = await openWorld(t);
  const page = await open(`<parley-chat conversation="${conversation}"></parley-chat>`);
  const warnings: string[] = [];
  page.on("console", (message) => message.type() === "warning" && warnings.push(message.text()));
  for (const server of ["/", app.url])
    assert.equal(await nextError(page, { server, token: "" }), "missing_token");
  const detail = "Another user has the username ada.";
  const json = { type: "about:blank", title: "Username taken", code: "username_taken", detail };
  const headers = { "access-control-allow-origin": "*", "access-control-allow-headers": "*" };
  await page.route(`${app.url}/v1/**`, (route) =>
    route.fulfill({ status: 409, contentType: "application/problem+json", headers, json }),
  );
  assert.equal(await nextError(page, { server: app.url, token: ann.token }), "username_taken");
  await page.getByText("Your sign-in was refused.").waitFor();
  assert.deepEqual(warnings, [
    "parley-chat: missing_token: There is no token yet.",
    `parley-chat: username_taken: ${detail}`,
  ]);
  assert.deepEqual(complaints, []);
});

test("the conversation with a user opens once a token is accepted", { skip: noChromium }, async (t) => {
  const { app, ann, bob, open, complaints } = await openWorld(t);
  const page = await open("");
  const json = { type: "about:blank", title: "Invalid token", code: "invalid_token", detail: "No." };
  const headers = { "access-control-allow-origin": "*", "access-control-allow-headers": "*" };
  await page.route(`${app.url}/v1/**`, (route) =>
    route.fulfill({ status: 401, contentType: "application/problem+json", headers, json }),
  );
  await page.evaluate(
    (properties) => {
      document.body.append(Object.assign(document.createElement("parley-chat"), properties));
    },
    { server: app.url, token: ann.token, user: bob.name },
  );
  await page.getByText("Your sign-in was refused.").waitFor();
  await page.unroute(`${app.url}/v1/**`);
  await page.evaluate(() => dispatchEvent(new Event("online")));
  await page.getByRole("textbox").waitFor();
  assert.deepEqual(complaints, []);
});

test("a sign-out in another tab removes the messages from this one", { skip: noChromium }, async (t) => {
  const { ann, conversation, open, toElement, complaints } = await openWorld(t);
  const first = await open(toElement("chat", ann, `conversation="${conversation}"`));
  const second = await first.context().newPage();
  await second.goto(first.url());
  await write(first, "Secret");
  await message(second, "Secret").waitFor();
  await second
    .locator("parley-chat")
    .evaluate((element) => (element as unknown as { signOut(): unknown }).signOut());
  await message(first, "Secret").waitFor({ state: "detached" });
  await message(second, "Secret").waitFor({ state: "detached" });
  assert.deepEqual(complaints, []);
});
