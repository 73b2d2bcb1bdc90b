// The console in Firefox: each main task once. The Chromium tests cover the details.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import type { Locator, Page } from "playwright-core";
import { startOn, type TestUser } from "../support/app.ts";
import { add, filesOf, give, type Person, person, read, say, send } from "../support/people.ts";
import { dropFiles, focused, type Guard, openAccount, openFiles, signOut } from "./browser.ts";
import { assertFit, type FirefoxWorld, testInFirefox } from "./in-firefox.ts";
import { type Group, line, press } from "./in-groups.ts";
import { PNG } from "./pictures.ts";
import type { Fate } from "./proxy.ts";
import { act, find, listTexts, shownTexts, write } from "./talk.ts";

/** Violations that Playwright itself causes. The console uses no `eval`. */
const BY_PLAYWRIGHT = /^policy: (?:script-src|require-trusted-types-for) (?:eval|trusted-types-sink)$/;

const dialog = (page: Page) => page.getByRole("dialog");
const opener = (page: Page, name: string) => page.getByRole("button", { name: `Open ${name}` });
const text = (name: string) => ({ name, type: "text/plain", base64: btoa(`text of ${name}`) });

/** The browser logs every lost WebSocket, also if the page handles it. */
const LOST_SOCKET = /connection to (?:the server at )?ws:\/\//;

function assertQuiet(...guards: Guard[]): void {
  const complaints = guards.flatMap((guard) => guard.complaints);
  assert.deepEqual(
    complaints.filter((each) => !LOST_SOCKET.test(each)),
    [],
  );
}

/** Creates Ann and Bob as contacts. Also returns their conversation. */
async function pair({ server }: FirefoxWorld): Promise<{ ann: Person; bob: Person; id: string }> {
  const [ann, bob] = [await person(server, "ann"), await person(server, "bob")];
  const { conversation_id } = await add(server, ann, "bob");
  await add(server, bob, "ann");
  return { ann, bob, id: conversation_id };
}

async function addContact(page: Page, username: string): Promise<void> {
  await page.getByRole("button", { name: "Add a contact" }).first().click();
  await dialog(page).getByLabel("Username").fill(username);
  await dialog(page).getByLabel("Phone number").fill("+1 555 0100");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: username, exact: true }).waitFor();
}

/** Ann sends Bob two files. Bob views both and downloads one. */
async function share(ann: Page, bob: Page): Promise<void> {
  await openFiles(ann);
  await dropFiles(ann, [{ name: "dot.png", type: "image/png", base64: PNG.toString("base64") }]);
  await ann.getByText("All files uploaded").waitFor();
  await dropFiles(ann, [text("plan.txt")]);
  await openFiles(bob);
  await opener(bob, "plan.txt").click();
  await dialog(bob).getByText("text of plan.txt").waitFor();
  const begun = bob.waitForEvent("download");
  await dialog(bob).getByRole("link", { name: "Download plan.txt" }).click();
  const download = await begun;
  assert.equal(download.suggestedFilename(), "plan.txt");
  assert.equal(await readFile(await download.path(), "utf8"), "text of plan.txt");
  await dialog(bob).getByRole("button", { name: "Copy link" }).click();
  await bob.getByText("Link copied").waitFor();
  const link = await bob.evaluate(() => navigator.clipboard.readText());
  assert.equal(await (await fetch(link)).text(), "text of plan.txt");
  await bob.keyboard.press("ArrowRight");
  await dialog(bob)
    .getByRole("img", { name: "dot.png" })
    .evaluate((image: HTMLImageElement) => image.decode());
  await bob.keyboard.press("Escape");
  await dialog(bob).waitFor({ state: "detached" });
  for (const page of [ann, bob]) await page.getByText("Messages", { exact: true }).click();
}

/** Ann creates a group with both others. Cat has no window open. */
async function group({ server }: FirefoxWorld, ann: Page, bob: Page, cat: TestUser): Promise<void> {
  await press(ann, "Create a group");
  await dialog(ann).getByLabel("Name", { exact: true }).fill("Climbing");
  const field = dialog(ann).getByRole("combobox", { name: "Invite" });
  for (const name of ["bob", "cat"]) {
    await field.fill(name);
    await field.press("Enter");
    await dialog(ann).getByRole("list", { name: "People to invite" }).getByText(name).waitFor();
  }
  await dialog(ann).getByRole("button", { name: "Create" }).click();
  await line(ann, "You joined").waitFor();
  await press(bob, "Join Climbing");
  const { data } = await read<{ data: Group[] }>(send(server, cat, "GET", "/v1/groups"), 200);
  const joined = await read<Group>(send(server, cat, "POST", `/v1/groups/${data[0]!.id}/join`), 200);
  await ann.getByText("3 members").waitFor();
  await say(server, cat, joined.conversation_id, "Sunday?");
  await bob.getByRole("option", { name: "Climbing" }).click();
  await write(bob, "Gladly");
  await find(ann, "Gladly").getByText("bob", { exact: true }).waitFor();
  for (const page of [ann, bob]) assert.deepEqual(await shownTexts(page), ["Sunday?", "Gladly"]);
}

testInFirefox("three people meet, talk, share files and found a group", async (world) => {
  const { server, proxy } = world;
  const [ann, bob, cat] = [
    await person(server, "ann"),
    await person(server, "bob"),
    await person(server, "cat"),
  ];
  await add(server, ann, "cat");
  await add(server, cat, "ann");
  const [anns, bobs] = [await world.arrive(ann), await world.arrive(bob)];
  await addContact(anns.page, "bob");
  await addContact(bobs.page, "ann");
  await bobs.page.getByRole("link", { name: "Notes to self" }).click();
  await write(anns.page, "Shall we?");
  const tick = find(anns.page, "Shall we?").locator(".tick");
  await tick.getByText("Sent", { exact: true }).waitFor();
  await bobs.page.getByRole("option", { name: "ann" }).getByText("1 unread").waitFor();
  await bobs.page.getByRole("option", { name: "ann" }).click();
  await tick.getByText("Read", { exact: true }).waitFor();
  await act(bobs.page, "Shall we?", "React");
  await dialog(bobs.page).getByRole("button", { name: "👍" }).click();
  await find(anns.page, "Shall we?").getByRole("button", { name: "👍 1 reaction" }).waitFor();
  await share(anns.page, bobs.page);
  await group(world, anns.page, bobs.page, cat);
  // A reload stays in the conversation, and another tab joins the session.
  await anns.page.reload();
  await find(anns.page, "Gladly").waitFor();
  const tab = await anns.page.context().newPage();
  await tab.goto(`${proxy.url}/`);
  await tab.getByRole("option", { name: "Climbing" }).waitFor();
  await signOut(anns.page);
  await anns.page.getByLabel("Access token").waitFor();
  await tab.getByRole("alert").filter({ hasText: "You signed out in another tab." }).waitFor();
  await tab.reload();
  await tab.getByLabel("Access token").waitFor();
  assertQuiet(anns.guard, bobs.guard);
});

testInFirefox("messages sent offline and over a server restart arrive once", async (world) => {
  const { t, server, proxy } = world;
  const { ann, bob, id } = await pair(world);
  const { page, guard } = await world.arrive(ann);
  await page.getByRole("option", { name: "bob" }).click();
  await write(page, "online");
  await page.locator(".message:not(.outgoing)").waitFor();
  await page.context().setOffline(true);
  await write(page, "offline");
  await dropFiles(page, [text("attached.txt")]);
  await write(page, "with a file");
  await find(page, "offline").getByText("Not sent yet").waitFor();
  await page.context().setOffline(false);
  await opener(page, "attached.txt").waitFor();
  await page.locator(".outgoing").first().waitFor({ state: "detached" });

  // The server stores both messages, and stops before it answers.
  const stopped = Promise.withResolvers<Fate>();
  proxy.fate = (line) => (/^POST \/v1\/(messages|attachments)/.test(line) ? stopped.promise : "pass");
  await write(page, "over a restart");
  await openFiles(page);
  await dropFiles(page, [text("uploaded.txt")]);
  const isStored = async () =>
    (await filesOf(server, bob)).length === 2 &&
    (await listTexts(server, bob, id)).includes("over a restart");
  while (!(await isStored())) await page.waitForTimeout(50);
  await server.app.stop();
  proxy.fate = () => "pass";
  stopped.resolve("lose");
  await page.locator(".tray-row", { hasText: "uploaded.txt" }).getByText("Waiting").waitFor();
  const after = await startOn(t, server.config);
  proxy.port = after.app.port();
  await page.getByText("All files uploaded").waitFor();
  await opener(page, "uploaded.txt").waitFor();
  await page.getByText("Messages", { exact: true }).click();
  await find(page, "over a restart").and(page.locator(":not(.outgoing)")).waitFor();
  const wanted = ["online", "offline", "with a file", "over a restart"];
  assert.deepEqual(
    (await shownTexts(page)).filter((text) => text !== ""),
    wanted,
  );
  assert.deepEqual(
    (await listTexts(after, bob, id)).filter((text) => text),
    wanted,
  );
  assert.deepEqual(
    (await filesOf(after, bob)).map(({ filename }) => filename),
    ["uploaded.txt", "attached.txt"],
  );
  assertQuiet(guard);
});

/** Presses a key until the locator has the focus. Firefox also moves through its own toolbars. */
async function tabTo(page: Page, place: Locator, key: "Tab" | "Shift+Tab" = "Tab"): Promise<void> {
  for (let i = 0; i < 40; i++) {
    if ((await place.and(focused(page)).count()) > 0) return;
    await page.keyboard.press(key);
  }
  assert.fail(`${place} is not reached by ${key}`);
}

async function keys(page: Page, ...all: string[]): Promise<void> {
  for (const key of all) await page.keyboard.press(key);
}

testInFirefox("the main tasks work by the keyboard alone", async (world) => {
  const { server, proxy } = world;
  const { ann, bob, id } = await pair(world);
  await say(server, bob, id, "Shall we?");
  const { page, guard } = await world.visit();
  await page.goto(`${proxy.url}/`);
  await page.getByLabel("Access token").and(focused(page)).waitFor();
  await page.keyboard.insertText(ann.token);
  await keys(page, "Enter");
  await page.getByRole("option", { name: "bob" }).waitFor();
  await keys(page, "Control+k");
  await page.getByRole("combobox", { name: "Name of a contact or a group" }).and(focused(page)).waitFor();
  await page.keyboard.type("bo");
  await dialog(page).getByRole("option", { name: "bob", selected: true }).waitFor();
  await keys(page, "Enter");
  await find(page, "Shall we?").waitFor();
  const field = page.getByRole("textbox", { name: "Message to bob" });
  await tabTo(page, field);
  await page.keyboard.type("/?");
  assert.equal(await field.inputValue(), "/?");
  await keys(page, "Enter");
  await find(page, "/?").and(page.locator(":not(.outgoing)")).waitFor();
  // The console handles both keys: Firefox would open its quick find.
  await keys(page, "Escape", "/");
  await page
    .getByRole("searchbox", { name: /^Search contacts/ })
    .and(focused(page))
    .waitFor();
  await tabTo(page, page.locator(".messages"));
  await keys(page, "?");
  await dialog(page).getByText("Keyboard shortcuts").waitFor();
  await keys(page, "Escape");
  await dialog(page).waitFor({ state: "detached" });
  await keys(page, "Control+f");
  await page.locator(".search-bar input").and(focused(page)).waitFor();
  await keys(page, "Escape");
  await page.locator(".search-bar").waitFor({ state: "detached" });
  await react(page);
  await tabTo(page, page.getByRole("button", { name: "More", exact: true }), "Shift+Tab");
  await keys(page, "Enter", "End");
  await page.getByRole("menuitem", { name: "Delete contact" }).and(focused(page)).waitFor();
  await keys(page, "Escape");
  await page.getByRole("button", { name: "More", exact: true }).and(focused(page)).waitFor();
  await tabTo(page, page.getByRole("button", { name: "Your account" }), "Shift+Tab");
  await keys(page, "Enter", "End");
  await page.getByRole("menuitem", { name: "Sign out" }).and(focused(page)).waitFor();
  await keys(page, "Enter");
  await page.getByLabel("Access token").waitFor();
  assertQuiet(guard);
});

/** Reacts with the first emoji on offer. */
async function react(page: Page): Promise<void> {
  await tabTo(page, page.locator(".messages"));
  await keys(page, "ArrowUp", "ArrowUp");
  const message = find(page, "Shall we?");
  await message.and(focused(page)).waitFor();
  await tabTo(page, message.getByRole("button", { name: "React", exact: true }));
  await keys(page, "Enter");
  await dialog(page).getByRole("button", { name: "👍" }).and(focused(page)).waitFor();
  await keys(page, "Enter");
  await message.getByRole("button", { name: "👍 1 reaction" }).waitFor();
  await message.and(focused(page)).waitFor();
}

for (const [width, height] of [
  [390, 844],
  [1280, 800],
] as const) {
  testInFirefox(`the main screens fit and are accessible at ${width} pixels`, async (world) => {
    const { server, proxy } = world;
    const { ann, bob, id } = await pair(world);
    const first = await say(server, ann, id, "averylongwordwithoutanyplacetobreakit".repeat(10));
    await say(server, bob, id, "A reply\nof two lines", { reply_to_id: first });
    const { page, guard } = await world.visit({ viewport: { width, height } });
    const look = (what: string) => assertFit(page, what);
    await page.goto(`${proxy.url}/`);
    await page.getByLabel("Access token").fill(ann.token);
    await look("sign-in");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("option", { name: "bob" }).waitFor();
    await look("list");
    await openAccount(page);
    await look("the user's menu");
    await page.keyboard.press("Escape");
    await press(page, "Add a contact");
    await look("add a contact");
    await page.keyboard.press("Escape");
    await page.getByRole("option", { name: "bob" }).click();
    await find(page, "A reply").waitFor();
    await dropFiles(page, [{ name: "dot.png", type: "image/png", base64: PNG.toString("base64") }]);
    await write(page, "a picture");
    await opener(page, "dot.png").waitFor();
    await look("conversation");
    await openFiles(page);
    await opener(page, "dot.png").waitFor();
    await look("files");
    await opener(page, "dot.png").click();
    await dialog(page).getByRole("img", { name: "dot.png" }).waitFor();
    await look("preview");
    assertQuiet(guard);
  });
}

testInFirefox("the console violates none of its Content-Security-Policy", async (world) => {
  const { server, proxy } = world;
  const { ann, bob, id } = await pair(world);
  proxy.toPolicy = (policy) => policy;
  await give(server, bob, id, "plan.txt");
  const { page, guard } = await world.visit();
  await page.goto(`${proxy.url}/`);
  // Typed, because Playwright's `fill` runs a script in the page.
  await page.getByLabel("Access token").pressSequentially(ann.token);
  await page.keyboard.press("Enter");
  await page.getByRole("option", { name: "bob" }).click();
  await page.getByRole("textbox", { name: "Message to bob" }).pressSequentially("Shall we?");
  await page.keyboard.press("Enter");
  await find(page, "Shall we?").locator(".tick").getByText("Sent", { exact: true }).waitFor();
  await opener(page, "plan.txt").click();
  await dialog(page).getByText("plan.txt").first().waitFor();
  await page.keyboard.press("Escape");
  await page.reload();
  await find(page, "Shall we?").waitFor();
  assert.deepEqual(
    guard.complaints.filter((complaint) => !BY_PLAYWRIGHT.test(complaint)),
    [],
  );
});
