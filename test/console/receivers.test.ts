// Who receives messages, when others were active, what is unread, and what a token allows.
import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { createToken } from "../../src/core/people/tokens.ts";
import { deleteUser } from "../../src/core/people/users.ts";
import { read, send } from "../support/people.ts";
import { assertAccessible, hide, makeContact, signIn, signOut } from "./browser.ts";
import { testScenes } from "./scenes.ts";
import { find, introduce, say, toUsername, write } from "./talk.ts";

type Badged = typeof globalThis & { badges: number[] };

/** Runs in the page. Records the numbers on the app icon. */
function noteBadges(): void {
  const badges: number[] = [];
  const setAppBadge = async (count: number) => void badges.push(count);
  Object.assign(globalThis, { badges });
  Object.defineProperty(navigator, "setAppBadge", { value: setAppBadge });
}

/** Waits until the icons of the tab and the app show this many unread conversations. */
function marked(page: Page, count: number) {
  return page.waitForFunction((count) => {
    const { href } = document.querySelector<HTMLLinkElement>("link[rel=icon]")!;
    const isUnread = href.includes("icon-unread");
    return isUnread === count > 0 && (globalThis as Badged).badges.at(-1) === count;
  }, count);
}

const note = (page: Page) => page.getByRole("note");
const tick = (page: Page, text: string) => find(page, text).locator(".tick");

testScenes("receivers and unread marks", {
  "the icons show unread conversations, and stop when they are read or the user signs out": async (world) => {
    const { server, proxy } = world;
    const ann = await world.arrive();
    const bob = await server.user();
    const id = await introduce(server, ann.user, bob);
    const { page, guard } = ann;
    await page.addInitScript(noteBadges);
    await signIn(page, proxy.url, ann.user.token);
    await page.getByRole("option", { name: "Bob" }).waitFor();
    await marked(page, 0);
    await say(server, bob, id, "psst");
    await marked(page, 1);
    const icon = await page.evaluate(async () => {
      const response = await fetch(document.querySelector<HTMLLinkElement>("link[rel=icon]")!.href);
      return [response.status, response.headers.get("content-type")];
    });
    assert.deepEqual(icon, [200, "image/svg+xml"]);
    await page.getByRole("option", { name: "Bob" }).click();
    await marked(page, 0);
    await page.goBack();
    await say(server, bob, id, "psst again");
    await marked(page, 1);
    await signOut(page);
    await page.getByLabel("Access token").waitFor();
    await marked(page, 0);
    assert.equal(await page.title(), "Parley");
    assert.deepEqual(guard.complaints, []);
  },

  "the last activity of a contact stays current while it is shown": async (world) => {
    const { server, proxy } = world;
    const ann = await world.arrive();
    const bob = await server.user();
    await introduce(server, ann.user, bob);
    const { page, guard } = ann;
    let seconds = Math.floor(Date.now() / 1000) - 2 * 3600;
    await page.route(/\/v1\/contacts\/\w+$/, async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), last_active_at: seconds } });
    });
    await page.clock.install();
    await signIn(page, proxy.url, ann.user.token);
    await page.getByRole("option", { name: "Bob" }).click();
    const presence = page.locator(".presence");
    await presence.getByText(/^Active 2 hours ago|^Active yesterday/).waitFor();
    seconds = Math.floor(Date.now() / 1000);
    await page.clock.fastForward(61_000);
    await presence.getByText("Active now").waitFor();
    // No event reports that Bob stopped: only time passing shows it.
    await page.clock.fastForward(600_000);
    await presence.getByText(/^Active \d+ minutes ago/).waitFor();
    // A background window sends no requests, and one at once when it is shown.
    await hide(page, true);
    seconds += 3600;
    await page.clock.fastForward(120_000);
    await presence.getByText(/minutes ago/).waitFor();
    await hide(page, false);
    await presence.getByText("Active now").waitFor();
    // A narrow window cuts off the username and the phone number first.
    await page.setViewportSize({ width: 390, height: 760 });
    assert.ok(
      await presence.evaluate((shown) => {
        const [inner, outer] = [shown, shown.parentElement!].map((each) => each.getBoundingClientRect());
        return inner!.right <= outer!.right;
      }),
    );
    assert.deepEqual(guard.complaints, []);
  },

  "a contact who writes is active now, without a request for each message": async (world) => {
    const { server } = world;
    const bob = await server.user();
    let id = "";
    const { page, guard } = await world.arrive(async (user) => {
      id = await introduce(server, user, bob);
    });
    const presence = page.locator(".presence");
    // All answers are older than the messages, also those that arrive after them.
    let asked = 0;
    await page.route(/\/v1\/contacts\/\w+$/, async (route) => {
      asked++;
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), last_active_at: 1_000_000_000 } });
    });
    await page.getByRole("option", { name: "Bob" }).click();
    await presence.getByText(/2001/).waitFor();
    const before = asked;
    const texts = ["one", "two", "three", "four", "five"];
    for (const text of texts) await say(server, bob, id, text);
    await find(page, "five").waitFor();
    await presence.getByText("Active now").waitFor();
    assert.ok(asked < before + texts.length, `${asked - before} requests`);
    assert.deepEqual(guard.complaints, []);
  },

  "a message does not show as sent before the contact can receive it": async (world) => {
    const { server } = world;
    const { user, page, guard } = await world.arrive();
    const bob = await server.user();
    const { conversation_id: id } = await makeContact(server, user, await toUsername(server, bob), "Bob");
    await page.getByRole("option", { name: "Bob" }).click();
    await note(page).getByText("Waiting until Bob adds you.").waitFor();
    await write(page, "are you there?");
    await tick(page, "are you there?").getByText("Not received yet").waitFor();
    await makeContact(server, bob, await toUsername(server, user));
    // There is no event for this: the page reads it again when it is shown.
    await hide(page, true);
    await hide(page, false);
    await tick(page, "are you there?").getByText("Sent", { exact: true }).waitFor();
    await note(page).waitFor({ state: "detached" });
    // Then Bob is deleted, and new messages have no tick.
    await say(server, bob, id, "here I am");
    await find(page, "here I am").waitFor();
    await deleteUser(server.app.core, null, bob.id);
    await page.reload();
    await page.getByRole("option", { name: "Bob" }).click();
    await note(page).getByText("Bob was deleted.").waitFor();
    await write(page, "and now?");
    await find(page, "and now?").and(page.locator(":not(.outgoing)")).waitFor();
    assert.equal(await tick(page, "and now?").count(), 0);
    await tick(page, "are you there?").getByText("Sent", { exact: true }).waitFor();
    assert.deepEqual(guard.complaints, []);
  },

  "a user who blocked a contact learns that their messages still arrive": async (world) => {
    const { server } = world;
    const { user, page, guard } = await world.arrive();
    const bob = await server.user();
    await introduce(server, user, bob);
    const { data } = await read<{ data: { id: string }[] }>(send(server, user, "GET", "/v1/contacts"), 200);
    await page.getByRole("option", { name: "Bob" }).click();
    await page.getByRole("textbox", { name: "Message to Bob" }).waitFor();
    // Until the event arrives, Bob has not added the user.
    await note(page).waitFor({ state: "detached" });
    assert.equal((await send(server, user, "PUT", `/v1/contacts/${data[0]!.id}/block`)).status, 204);
    await page.reload();
    await page.evaluate((id) => {
      location.hash = id;
    }, data[0]!.id);
    await note(page).getByText("You have blocked Bob. They get your messages").waitFor();
    await assertAccessible(page, "the note of a blocked contact");
    assert.deepEqual(guard.complaints, []);
  },

  "the only member of a group is informed, and offered no change of role": async (world) => {
    const { server } = world;
    const { user, page, guard } = await world.arrive();
    const fields = { name: "Climbers", history: "all", members: [] };
    const { id } = await read<{ id: string }>(send(server, user, "POST", "/v1/groups", fields), 201);
    await page.getByRole("option", { name: "Climbers" }).click();
    await note(page)
      .getByText("You are the only member. Members who join later see what you write now.")
      .waitFor();
    await write(page, "anybody?");
    await find(page, "anybody?").and(page.locator(":not(.outgoing)")).waitFor();
    assert.equal(await tick(page, "anybody?").count(), 0);
    await page.getByRole("button", { name: "Members of Climbers" }).click();
    const members = page.getByRole("dialog").getByRole("list", { name: "Members" });
    await members.getByText("(you)").waitFor();
    // The only button shows who the member is.
    assert.deepEqual(await members.getByRole("button").filter({ hasNotText: "(you)" }).all(), []);
    await page.keyboard.press("Escape");
    const bob = await server.user();
    await introduce(server, user, bob);
    const invited = { username: await toUsername(server, bob) };
    await read(send(server, user, "POST", `/v1/groups/${id}/members`, invited), 201);
    await read(send(server, bob, "POST", `/v1/groups/${id}/join`), 200);
    await note(page).waitFor({ state: "detached" });
    await tick(page, "anybody?").getByText("Sent", { exact: true }).waitFor();
    assert.deepEqual(guard.complaints, []);
  },

  "a read-only token is offered no change of messages": async (world) => {
    const { server, proxy } = world;
    const { user, page, guard } = await world.arrive();
    const bob = await server.user();
    const id = await introduce(server, user, bob);
    const { id: messageId } = await say(server, user, id, "written before");
    await send(server, bob, "PUT", `/v1/messages/${messageId}/reactions/${encodeURIComponent("👍")}`);
    const scopes = [
      "contacts:read",
      "messages:read",
      "groups:read",
      "attachments:read",
      "events:read",
    ] as const;
    const { token } = await createToken(server.app.core, null, user.id, { scopes: [...scopes] });
    await signOut(page);
    await page.getByLabel("Access token").waitFor();
    await signIn(page, proxy.url, token);
    await page.getByRole("option", { name: "Bob" }).click();
    await note(page).getByText("Your access token does not allow you to write messages.").waitFor();
    await find(page, "written before").hover();
    await find(page, "written before").focus();
    assert.equal(await find(page, "written before").getByRole("button", { name: "Reply" }).count(), 0);
    assert.equal(await page.locator(".composer").count(), 0);
    assert.equal(await page.locator(".reaction").isDisabled(), true);
    assert.deepEqual(guard.complaints, []);
  },
});
