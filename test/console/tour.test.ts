// The tour of the docs in three browsers: the life of a group.
import assert from "node:assert/strict";
import { test } from "node:test";
import { noChromium } from "../support/engines/chromium.ts";
import { choose, dropFiles, openFiles } from "./browser.ts";
import { assertQuiet, chooseFor, gather, invitation, line, press } from "./in-groups.ts";
import { act, find, type Person, write } from "./talk.ts";

type People = readonly [ann: Person, bob: Person, cat: Person];

/** Ann creates the group and invites both others. */
async function create([ann]: People): Promise<void> {
  await press(ann.page, "Create a group");
  const dialog = ann.page.getByRole("dialog");
  await dialog.getByLabel("Name", { exact: true }).fill("Climbing");
  const field = dialog.getByRole("combobox", { name: "Invite" });
  await field.fill("bob");
  await field.press("Enter");
  await dialog.getByRole("list", { name: "People to invite" }).getByText("bob").waitFor();
  // A typed name is invited without pressing the button.
  await field.fill("cat");
  await dialog.getByRole("button", { name: "Create" }).click();
  await ann.page.getByRole("heading", { name: "Climbing" }).waitFor();
  await line(ann.page, "You joined").waitFor();
  await ann.page.getByRole("option", { name: "Climbing" }).waitFor();
}

/** Both see who invited them. Bob views the invitation and accepts, Cat declines. */
async function answer([ann, bob, cat]: People): Promise<void> {
  for (const { page } of [bob, cat]) await invitation(page).getByText("Ann (@ann) invited you").waitFor();
  await bob.page.getByRole("link", { name: "Climbing" }).click();
  await bob.page.getByRole("heading", { name: "Ann (@ann) invited you" }).waitFor();
  await bob.page.getByText("You see messages sent after you join.").waitFor();
  await bob.page.locator(".main").getByRole("button", { name: "Join Climbing" }).click();
  await line(bob.page, "You joined").waitFor();
  await invitation(bob.page).waitFor({ state: "detached" });
  await press(cat.page, "Decline Climbing");
  await invitation(cat.page).waitFor({ state: "detached" });
  await cat.page.getByText("You declined the invitation to Climbing.").waitFor();
  await line(ann.page, "Bob joined").waitFor();
  await ann.page.getByText("2 members").waitFor();
}

/** Cat, who declined, is invited again after the invitation is withdrawn. Bob becomes an admin. */
async function inviteAgain([ann, bob, cat]: People): Promise<void> {
  await press(ann.page, "Members of Climbing");
  const members = ann.page.getByRole("list", { name: "Members" });
  await members.getByRole("listitem").filter({ hasText: "Cat" }).getByText("Invited").waitFor();
  await press(ann.page, "Withdraw: Cat");
  await ann.page.getByRole("combobox", { name: "Invite" }).fill("cat");
  await press(ann.page, "Invite");
  await press(cat.page, "Join Climbing");
  await line(cat.page, "You joined").waitFor();
  await members.getByText("Cat", { exact: true }).waitFor();
  await chooseFor(ann.page, "Bob", "Make admin");
  await ann.page.keyboard.press("Escape");
  await ann.page.getByText("3 members").waitFor();
  await line(bob.page, "You are an admin now").waitFor();
}

/** Ann and Bob write, and Cat shares a file. */
async function talk([ann, bob, cat]: People): Promise<void> {
  await write(ann.page, "Sunday?");
  for (const { page } of [bob, cat]) await find(page, "Sunday?").getByText("Ann", { exact: true }).waitFor();
  await write(bob.page, "Gladly");
  for (const { page } of [ann, cat]) await find(page, "Gladly").getByText("Bob", { exact: true }).waitFor();
  await ann.page.getByRole("option", { name: "Climbing" }).getByText("Bob: Gladly").waitFor();
  await bob.page.getByRole("option", { name: "Climbing" }).getByText("You: Gladly").waitFor();
  await act(ann.page, "Gladly", "Reply");
  await ann.page.getByText("Reply to Bob").waitFor();
  await ann.page.keyboard.press("Escape");
  // A sender has the same colour on every page.
  const hues = await Promise.all(
    [ann, cat].map(({ page }) => find(page, "Gladly").locator(".avatar").getAttribute("style")),
  );
  assert.match(hues[0]!, /--hue: \d/);
  assert.equal(new Set(hues).size, 1);
  await openFiles(cat.page);
  await dropFiles(cat.page, [{ name: "map.txt", type: "text/plain", base64: btoa("map") }]);
  for (const { page } of [ann, bob]) await page.getByRole("button", { name: "Open map.txt" }).waitFor();
}

/** They leave one by one; the last one deletes the group. */
async function leave([ann, bob, cat]: People): Promise<void> {
  await choose(ann.page, "Leave group");
  await ann.page.getByRole("dialog").getByText("the others keep them").waitFor();
  await press(ann.page, "Leave");
  await ann.page.getByRole("heading", { name: "Choose a conversation" }).waitFor();
  await ann.page.getByRole("option", { name: "Climbing" }).waitFor({ state: "detached" });
  await line(bob.page, "Ann left").waitFor();
  await choose(bob.page, "Leave group");
  await press(bob.page, "Leave");
  await bob.page.getByRole("option", { name: "Climbing" }).waitFor({ state: "detached" });
  // There is always an admin.
  await cat.page.getByText("Messages", { exact: true }).click();
  await line(cat.page, "You are an admin now").waitFor();
  await choose(cat.page, "Leave group");
  await cat.page.getByRole("dialog").getByText("this deletes the group").waitFor();
  await press(cat.page, "Leave");
  await cat.page.getByRole("option", { name: "Climbing" }).waitFor({ state: "detached" });
}

test("three people in three browsers follow the tour of the docs", { skip: noChromium }, async (t) => {
  const { people } = await gather(t);
  for (const step of [create, answer, inviteAgain, talk, leave]) await step(people);
  assertQuiet(people);
});
