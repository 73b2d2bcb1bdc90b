// Each person has one name, one picture and one colour in the whole console.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Locator, Page } from "playwright-core";
import { createToken } from "../../src/core/people/tokens.ts";
import { createUser } from "../../src/core/people/users.ts";
import { startApp, type TestApp, type TestUser } from "../support/app.ts";
import { noChromium, openBrowser } from "../support/engines/chromium.ts";
import { done, read, send } from "../support/people.ts";
import {
  assertAccessible,
  assertNoSidewaysScroll,
  makeContact,
  openAccount,
  openPage,
  signIn,
} from "./browser.ts";
import { line, press } from "./in-groups.ts";
import { PNG, paint } from "./pictures.ts";
import { act, find, say } from "./talk.ts";

interface Group {
  id: string;
  conversation_id: string;
}

async function arrive(
  server: TestApp,
  username: string,
  display_name: string | null = null,
): Promise<TestUser> {
  const { id } = await createUser(server.app.core, null, { username, display_name });
  const { token } = await createToken(server.app.core, null, id, {});
  return { id, token, headers: { authorization: `Bearer ${token}` } };
}

/** Creates a group of the first user, which the others join. */
async function gather(server: TestApp, name: string, users: Record<string, TestUser>): Promise<Group> {
  const [first, ...others] = Object.values(users);
  const fields = { name, members: Object.keys(users).slice(1) };
  const group = await read<Group>(send(server, first!, "POST", "/v1/groups", fields), 201);
  for (const user of others) await read(send(server, user, "POST", `/v1/groups/${group.id}/join`), 200);
  return group;
}

const hueOf = (avatar: Locator) =>
  avatar.evaluate((each) => (each as HTMLElement).style.getPropertyValue("--hue"));

/** Waits until an element has a name and an avatar of this colour beside it. */
async function assertFace(place: Locator, hue: string, what: string): Promise<void> {
  await place.first().waitFor();
  const avatar = place.first().locator(`.avatar[style*="--hue: ${hue}"]`);
  await avatar.waitFor({ timeout: 30_000 }).catch(async () => {
    assert.fail(`${what}: ${await place.first().innerHTML()}`);
  });
  assert.equal(await avatar.textContent(), "GH", what);
}

async function assertSearch(page: Page, hue: string): Promise<void> {
  await page.keyboard.press("Control+k");
  await assertFace(page.getByRole("dialog").getByRole("option", { name: "Grace Hopper" }), hue, "switcher");
  await page.keyboard.press("Escape");
  const search = page.getByLabel("Search contacts, groups, messages and files");
  await search.fill("word");
  const found = page.getByRole("listbox", { name: "Messages found" });
  await assertFace(found.getByRole("option", { name: "a word in private" }), hue, "search");
  await found.getByText("Grace Hopper: a word to all").waitFor();
  await search.fill("");
}

/** Changes the name and the picture of Bob, whom the page shows at once. */
async function assertLive(server: TestApp, bob: TestUser, page: Page): Promise<void> {
  const body = new FormData();
  body.append("file", new File([PNG], "me.png"));
  const path = `${server.url}/v1/me/avatar`;
  assert.equal((await fetch(path, { method: "PUT", headers: bob.headers, body })).status, 200);
  await read(send(server, bob, "PUT", "/v1/me", { display_name: "Rob" }), 200);
  const row = page.getByRole("option", { name: /^Rob\b/ });
  await row.waitFor();
  await line(page, "Rob joined").waitFor();
  for (const place of [row, find(page, "a word to all")]) {
    await place.getByText("Rob", { exact: true }).waitFor();
    await place.locator(".avatar img").waitFor();
  }
}

/** Creates Ann, and Bob, whom she calls Grace Hopper. He calls himself Robert, and spells his username differently. */
async function furnish(server: TestApp) {
  const ann = await arrive(server, "ann", "Ann");
  const [bob, cat] = [await arrive(server, "bob", "Robert"), await arrive(server, "cat")];
  const { id, conversation_id } = await makeContact(server, ann, "BOB", "Grace Hopper");
  await makeContact(server, ann, "cat");
  for (const user of [bob, cat]) await makeContact(server, user, "ann");
  const club = await gather(server, "Club", { ann, bob, cat });
  await read(send(server, bob, "POST", "/v1/groups", { name: "Chess", members: ["ann"] }), 201);
  await say(server, bob, conversation_id, "a word in private");
  const { id: words } = await say(server, bob, club.conversation_id, "a word to all");
  await done(send(server, bob, "PUT", `/v1/messages/${words}/reactions/👍`));
  return { ann, bob, contact: `/v1/contacts/${id}` };
}

test("a person has one name and one colour everywhere", { skip: noChromium }, async (t) => {
  const server = await startApp(t);
  const { ann, bob, contact } = await furnish(server);
  const { page, guard } = await openPage(await openBrowser(t), server.url);
  await signIn(page, server.url, ann.token);
  const row = page.getByRole("option", { name: /^Grace Hopper/ });
  await row.waitFor();
  await row.locator('.avatar[style*="--hue"]').waitFor();
  const hue = await hueOf(row.locator(".avatar"));
  await assertFace(row, hue, "inbox");
  await page.getByRole("option", { name: "Club" }).getByText("Grace Hopper: a word to all").waitFor();
  await page
    .getByRole("list", { name: "Invitations" })
    .getByText("Grace Hopper (@BOB) invited you")
    .waitFor();

  await row.click();
  await find(page, "a word in private").waitFor();
  await assertFace(page.locator(".conversation-head"), hue, "header");
  await page.getByRole("heading", { name: "Grace Hopper" }).waitFor();

  await page.getByRole("option", { name: "Club" }).click();
  const message = find(page, "a word to all");
  await assertFace(message, hue, "message");
  assert.equal(await hueOf(message.locator(".sender")), hue);
  await line(page, "Grace Hopper joined").waitFor();
  await act(page, "a word to all", "React");
  const reacted = page.getByRole("list", { name: "Who has reacted" }).getByRole("listitem");
  await reacted.getByText("Grace Hopper").waitFor();
  await assertFace(reacted, hue, "reactions");
  await page.keyboard.press("Escape");

  await press(page, "Members of Club");
  const member = page
    .getByRole("list", { name: "Members" })
    .getByRole("listitem")
    .filter({ hasText: "Grace Hopper" });
  await assertFace(member, hue, "members");
  await member.getByRole("button", { name: /^Grace Hopper/ }).click();
  const about = page.getByRole("dialog", { name: "About Grace Hopper" });
  await assertFace(about, hue, "the member's profile");
  await about.getByText("@BOB").waitFor();
  await about.getByRole("button", { name: "Open the conversation" }).waitFor();
  await assertAccessible(page, "a member's profile");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");

  await assertSearch(page, hue);

  // Without the name that Ann gave him, he is who he says.
  await read(send(server, ann, "PUT", contact, { display_name: null }), 200);
  await message.getByText("Robert").waitFor();
  await page.getByRole("option", { name: /^Robert/ }).waitFor();
  await line(page, "Robert joined").waitFor();
  assert.equal(await hueOf(message.locator(".avatar")), hue);
  await assertLive(server, bob, page);
  assert.deepEqual(guard.complaints, []);
});

test("a click on a sender says who it is, and adds a stranger", { skip: noChromium }, async (t) => {
  const server = await startApp(t);
  const [ann, bob] = [await arrive(server, "ann", "Ann"), await arrive(server, "bob", "Bob")];
  const { id } = await createUser(server.app.core, null, {
    username: "helper",
    display_name: "Helper",
    kind: "bot",
  });
  const { token } = await createToken(server.app.core, null, id, {});
  const helper = { id, token, headers: { authorization: `Bearer ${token}` } };
  for (const user of [ann, helper]) await makeContact(server, user, "bob");
  for (const name of ["ann", "helper"]) await makeContact(server, bob, name);
  const { conversation_id } = await gather(server, "Club", { bob, ann, helper });
  await say(server, helper, conversation_id, "can I help?");
  const { page, guard } = await openPage(await openBrowser(t), server.url);
  await signIn(page, server.url, ann.token);
  await page.getByRole("option", { name: "Club" }).click();
  await find(page, "can I help?").getByRole("button", { name: "Helper" }).click();
  const about = page.getByRole("dialog", { name: "About Helper" });
  await about.getByText("Bot", { exact: true }).waitFor();
  await about.getByRole("button", { name: "Add as a contact" }).click();
  const adding = page.getByRole("dialog", { name: "Add a contact" });
  assert.equal(await adding.getByLabel("Username").inputValue(), "helper");
  await adding.getByLabel("Phone number").fill("+15550100");
  await adding.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByRole("heading", { name: "Helper" }).waitFor();
  assert.deepEqual(guard.complaints, []);
});

test("a contact who has not added the user back has one name, and no name reorders the text around it", {
  skip: noChromium,
}, async (t) => {
  const server = await startApp(t);
  const [ann, bob] = [await arrive(server, "ann"), await arrive(server, "bob", "Bo\u202Eb\u2066")];
  const kim = await arrive(server, "kim\u2066", "Kim K");
  for (const user of [ann, kim]) await makeContact(server, user, "bob");
  for (const name of ["ann", "kim\u2066"]) await makeContact(server, bob, name);
  await makeContact(server, ann, "kim\u2066");
  const { conversation_id } = await gather(server, "Club\u202E", { bob, ann, "kim\u2066": kim });
  await say(server, kim, conversation_id, "hello of Kim");
  await say(server, bob, conversation_id, "hello of Bob");
  const { page, guard } = await openPage(await openBrowser(t), server.url);
  await signIn(page, server.url, ann.token);
  const club = page.getByRole("option", { name: "Club" });
  await club.getByText("Bob: hello of Bob").waitFor();
  assert.equal(await club.locator("bdi").textContent(), "hello of Bob");
  await club.click();
  await find(page, "hello of Kim").getByRole("button", { name: "kim", exact: true }).waitFor();
  await page.getByRole("option", { name: /^kim\b/ }).waitFor();
  await line(page, "kim joined").waitFor();
  await page.getByRole("heading", { name: "Club", exact: true }).waitFor();
  await press(page, "Members of Club");
  await page.getByRole("dialog", { name: "Members of Club" }).getByText("Admin · @bob").waitFor();
  assert.equal(await page.getByRole("dialog").getByText("Member", { exact: true }).count(), 2);
  assert.doesNotMatch(await page.content(), /[\u202A-\u202E\u2066-\u2069]/);
  assert.deepEqual(guard.complaints, []);
});

/** Chooses a picture, looks at it, and removes it again. */
async function changePicture(page: Page): Promise<void> {
  const dialog = page.getByRole("dialog", { name: "Your profile" });
  const open = async () => {
    await openAccount(page);
    await page.getByRole("menuitem", { name: "Your profile" }).click();
  };
  const choose = (name: string, buffer: Buffer) =>
    dialog.locator("input[type=file]").setInputFiles({ name, mimeType: "image/png", buffer });
  const own = page.locator(".account .avatar img");
  await open();
  await choose("text.png", Buffer.from("text"));
  await dialog.getByRole("alert").filter({ hasText: "not a JPEG, PNG, WebP or GIF" }).waitFor();
  await choose(
    "red.png",
    paint(300, 200, () => [200, 30, 30]),
  );
  await dialog.getByRole("img", { name: "Your new picture" }).waitFor();
  assert.equal(await dialog.getByRole("alert").filter({ hasText: "JPEG" }).count(), 0);
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    await assertAccessible(page, `a new picture ${colorScheme}`);
  }
  await press(page, "Save");
  await own.waitFor();
  await page.waitForFunction(
    () => document.querySelector<HTMLImageElement>(".account .avatar img")!.naturalWidth > 0,
  );
  await open();
  await press(page, "Remove the picture");
  await press(page, "Save");
  await own.waitFor({ state: "detached" });
}

for (const [size, viewport] of [
  ["desk", { width: 1280, height: 800 }],
  ["phone", { width: 390, height: 760 }],
] as const)
  test(`users change their own profile: ${size}`, { skip: noChromium }, async (t) => {
    const server = await startApp(t);
    const ann = await arrive(server, "ann", "Ann");
    const { page, guard } = await openPage(await openBrowser(t), server.url, { viewport });
    await signIn(page, server.url, ann.token);
    await openAccount(page);
    await page.getByRole("menuitem", { name: "Your profile" }).click();
    const dialog = page.getByRole("dialog", { name: "Your profile" });
    await dialog.getByLabel("Phone number").fill("1");
    await dialog.getByLabel("Display name").fill("Ada Lovelace");
    await press(page, "Save");
    await dialog
      .getByRole("alert")
      .filter({ hasText: "Phone number must have 3 to 64 characters" })
      .waitFor();
    assert.equal(await dialog.getByLabel("Phone number").getAttribute("aria-invalid"), "true");
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await assertNoSidewaysScroll(page, `profile ${colorScheme}`);
      await assertAccessible(page, `profile ${colorScheme}`);
    }
    await dialog.getByLabel("Phone number").fill("+15550100");
    await dialog.getByLabel("Display name").fill("Ada\tLovelace");
    await press(page, "Save");
    await dialog.getByRole("alert").filter({ hasText: "1 to 100 characters" }).waitFor();
    await dialog.getByLabel("Display name").fill("Ada Lovelace");
    await press(page, "Save");
    await page.getByText("Your profile was changed.").waitFor();
    const me = await read<Record<string, unknown>>(send(server, ann, "GET", "/v1/me"), 200);
    assert.deepEqual([me.display_name, me.phone_number], ["Ada Lovelace", "+15550100"]);
    await page.getByRole("button", { name: "Your account" }).getByText("AL").waitFor();
    await changePicture(page);
    assert.deepEqual(guard.complaints, []);
  });
