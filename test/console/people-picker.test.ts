// The picker for people to invite to a group, by the keyboard alone and by pointer.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import type { TestApp } from "../support/app.ts";
import { noChromium } from "../support/engines/chromium.ts";
import { read, send } from "../support/people.ts";
import { assertAccessible, assertNoSidewaysScroll, focused, makeContact } from "./browser.ts";
import { assertQuiet, gather, makeGroup, press } from "./in-groups.ts";
import type { Person } from "./talk.ts";

const picker = (page: Page) => page.getByRole("combobox", { name: "Invite" });
const list = (page: Page) => page.getByRole("listbox", { name: "Suggestions" });
const listOptions = (page: Page) =>
  list(page).getByRole("option").locator(".avatar + .ellipsis").allTextContents();
const active = (page: Page) => list(page).getByRole("option", { selected: true });
const chips = (page: Page) => page.getByRole("list", { name: "People to invite" }).getByRole("listitem");

/** Gives the contact of a username the name Grace Hopper. */
async function rename(server: TestApp, { user }: Person, username: string): Promise<void> {
  const found = await read<{ data: { id: string }[] }>(
    send(server, user, "GET", `/v1/contacts?username=${username}`),
    200,
  );
  const path = `/v1/contacts/${found.data[0]!.id}`;
  await read(send(server, user, "PUT", path, { display_name: "Grace Hopper" }), 200);
}

/** Returns the usernames that belong to the user's only group or are invited. */
async function listNames(server: TestApp, { user }: Person): Promise<string[]> {
  const { data } = await read<{ data: { id: string }[] }>(send(server, user, "GET", "/v1/groups"), 200);
  const path = `/v1/groups/${data[0]!.id}/members`;
  const members = await read<{ data: { username: string }[] }>(send(server, user, "GET", path), 200);
  return members.data.map(({ username }) => username).sort();
}

test("people for a new group are picked by name, username and keyboard", { skip: noChromium }, async (t) => {
  const { server, people } = await gather(t);
  const [ann] = people;
  const { page } = ann;
  await rename(server, ann, "cat");
  const { id } = await makeContact(server, ann.user, "bobby", "Bobby");
  assert.equal((await send(server, ann.user, "PUT", `/v1/contacts/${id}/block`)).status, 204);
  await page.getByRole("option", { name: "Grace Hopper" }).waitFor();
  await press(page, "Create a group");
  const { keyboard } = page;
  await keyboard.type("Climbing");
  await picker(page).focus();
  // The arrows show all contacts, except blocked ones.
  await keyboard.press("ArrowDown");
  await page.waitForFunction(() => document.querySelectorAll(".picker-list > div").length === 2);
  assert.deepEqual(await listOptions(page), ["Bob", "Grace Hopper"]);
  assert.equal(await picker(page).getAttribute("aria-expanded"), "true");
  await keyboard.press("ArrowDown");
  await active(page).filter({ hasText: "Grace Hopper" }).waitFor();
  assert.equal(
    await picker(page).getAttribute("aria-activedescendant"),
    await active(page).getAttribute("id"),
  );
  await keyboard.press("ArrowDown");
  await active(page).filter({ hasText: "Bob" }).waitFor();
  for (const typed of ["hop", "cat"]) {
    await picker(page).fill(typed);
    await active(page).filter({ hasText: "Grace Hopper@cat" }).waitFor();
  }
  await keyboard.press("Enter");
  await chips(page).getByText("Grace Hopper").waitFor();
  assert.equal(await picker(page).inputValue(), "");
  // Who is chosen is offered no more.
  await keyboard.type("c");
  assert.deepEqual(await listOptions(page), ["c"]);
  // Escape closes the list, and leaves the dialog open.
  await keyboard.press("Escape");
  await list(page).waitFor({ state: "detached" });
  await picker(page).and(focused(page)).waitFor();
  await keyboard.press("Backspace");
  assert.equal(await chips(page).count(), 1);
  await keyboard.press("Backspace");
  await chips(page).waitFor({ state: "detached" });
  // A part of a contact's name is not sent as the username of somebody else.
  await picker(page).fill("grace");
  await page.getByRole("button", { name: "Create", exact: true }).click();
  await picker(page).and(page.locator(":invalid")).and(focused(page)).waitFor();
  await picker(page).fill("");
  for (const typed of ["grace", "@Dan", "bo"]) {
    await keyboard.type(typed);
    await active(page).waitFor();
    await keyboard.press("Enter");
  }
  assert.deepEqual(await chips(page).allTextContents(), ["Grace Hopper", "Dan", "Bob"]);
  await press(page, "Remove Bob");
  await picker(page).and(focused(page)).waitFor();
  await keyboard.press("Enter");
  await page.getByRole("heading", { name: "Climbing" }).waitFor();
  assert.deepEqual(await listNames(server, ann), ["Dan", "ann", "cat"]);
  assertQuiet(people);
});

test("several people are invited at once, members are not offered", { skip: noChromium }, async (t) => {
  const { server, people } = await gather(t);
  const [ann, bob] = people;
  const { page } = ann;
  await makeGroup(server, [ann, bob], "Climbing");
  for (const name of ["Dan", "Eve", "Fay"]) await makeContact(server, ann.user, name.toLowerCase(), name);
  await page.getByRole("option", { name: "Climbing" }).click();
  await press(page, "Members of Climbing");
  await page.getByRole("list", { name: "Members" }).getByText("Cat", { exact: true }).waitFor();
  await picker(page).click();
  await list(page).waitFor();
  assert.deepEqual(await listOptions(page), ["Dan", "Eve", "Fay"]);
  const refused = "usr_00000000000000000000000000";
  await picker(page).fill(refused);
  await page.keyboard.press("Enter");
  // By pointer the list stays, for the next person.
  await picker(page).click();
  for (const name of ["Fay", "Dan"]) await list(page).getByRole("option", { name }).click();
  await picker(page).and(focused(page)).waitFor();
  assert.deepEqual(await chips(page).allTextContents(), [refused, "Fay", "Dan"]);
  for (const colorScheme of ["light", "dark"] as const)
    for (const width of [390, 1280]) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 800 });
      await assertNoSidewaysScroll(page, `${width}`);
      await assertAccessible(page, `the picker, ${colorScheme}, ${width}`);
    }
  // A refused name stays in the field, the others are invited.
  await press(page, "Invite");
  await page
    .getByRole("alert")
    .filter({ hasText: /^usr_0+: Username must have/ })
    .waitFor();
  await page.getByText("Dan is invited.").waitFor();
  assert.deepEqual(await chips(page).allTextContents(), [refused]);
  await press(page, `Remove ${refused}`);
  await picker(page).fill("bob");
  await press(page, "Invite");
  await page.getByText("Bob is already a member.").waitFor();
  assert.deepEqual(await listNames(server, ann), ["ann", "bob", "cat", "dan", "fay"]);
  assertQuiet(people);
});
