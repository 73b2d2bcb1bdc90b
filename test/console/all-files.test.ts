// The files of all conversations: the two tasks that they are for, with their clicks counted, and what they show.
import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import type { TestApp, TestUser } from "../support/app.ts";
import { send as ask, read } from "../support/people.ts";
import { assertAccessible, assertNoSidewaysScroll, focused, openAccount } from "./browser.ts";
import { assertShown, assertStart, listNames, opener, remove, type Sent, send } from "./in-files.ts";
import { PNG } from "./pictures.ts";
import { testScenes } from "./scenes.ts";
import { introduce, toUsername } from "./talk.ts";

const MB = 1_000_000;
/** More conversations than the copy has at first. */
const MANY = 120;

/** Creates a contact, a group and notes, each with files. Returns the contact and the conversation with it. */
async function furnish(server: TestApp, user: TestUser): Promise<{ bob: TestUser; conversation_id: string }> {
  const bob = await server.user();
  const conversation_id = await introduce(server, user, bob);
  const fields = { name: "Book club", members: [await toUsername(server, bob)] };
  const group = await read<{ id: string; conversation_id: string }>(
    ask(server, user, "POST", "/v1/groups", fields),
    201,
  );
  await read(ask(server, bob, "POST", `/v1/groups/${group.id}/join`), 200);
  await send(server, user, [film("note.mp4", 2.5)]);
  await send(server, user, [["plan.txt", "a plan"], film("talk.mp4", 3.5)], { conversation_id });
  await send(server, bob, [film("their film.mp4", 4.5), ["photo.png", PNG]], { conversation_id });
  await send(server, user, [["minutes.txt", "a"]], { conversation_id: group.conversation_id });
  await send(server, bob, [["book.txt", "b"]], { conversation_id: group.conversation_id });
  return { bob, conversation_id };
}

const film = (name: string, megabytes: number): Sent => [name, new Uint8Array(megabytes * MB)];

/** Returns a function that returns how often the mouse was clicked since. */
async function countClicks(page: Page): Promise<() => Promise<number>> {
  await page.evaluate(() => {
    const counted = globalThis as unknown as { clicks: number };
    counted.clicks = 0;
    const count = ({ isTrusted }: Event) => (counted.clicks += isTrusted ? 1 : 0);
    addEventListener("pointerdown", count, true);
  });
  return () => page.evaluate(() => (globalThis as unknown as { clicks: number }).clicks);
}

/** Returns what a card says of its file. */
const aboutOf = (page: Page, name: string) =>
  page
    .locator(".card")
    .filter({ has: opener(page, name) })
    .locator(".card-sender");

testScenes("the files of all conversations", {
  "a file is found and opened without its conversation with two clicks": async ({ server, arrive }) => {
    const { page, user, guard } = await arrive();
    await furnish(server, user);
    await page.getByRole("option", { name: "Book club" }).click();
    await page.getByRole("heading", { name: "Book club" }).waitFor();
    const count = await countClicks(page);
    await page.getByRole("link", { name: "Files of all conversations" }).click();
    await assertShown(page, [
      "book.txt",
      "minutes.txt",
      "photo.png",
      "their film.mp4",
      "talk.mp4",
      "plan.txt",
      "note.mp4",
    ]);
    await opener(page, "photo.png").click();
    await page.getByRole("dialog", { name: "photo.png" }).waitFor();
    assert.equal(await count(), 2);
    await page.keyboard.press("Escape");
    for (const [name, about] of Object.entries({
      "book.txt": "Bob in Book club",
      "minutes.txt": "You in Book club",
      "photo.png": "Bob",
      "plan.txt": "You to Bob",
      "note.mp4": "Notes to self",
    }))
      await aboutOf(page, name).getByText(about, { exact: true }).waitFor();
    assert.match(await page.title(), /Files · Parley$/);
    assert.deepEqual(guard.complaints, []);
  },

  "storage is freed of the largest files with five clicks": async ({ server, arrive }) => {
    const { page, user, guard } = await arrive();
    await furnish(server, user);
    await page.getByRole("option", { name: "Book club" }).click();
    await page.getByRole("heading", { name: "Book club" }).waitFor();
    const count = await countClicks(page);
    await page.getByRole("button", { name: "Your account" }).click();
    await page.getByText("Sent by you: 6 MB stored").waitFor();
    await page.getByRole("menuitem", { name: "Free up storage" }).click();
    await assertShown(page, ["talk.mp4", "note.mp4", "plan.txt", "minutes.txt"]);
    await aboutOf(page, "talk.mp4").getByText("You to Bob", { exact: true }).waitFor();
    await page.getByText("4 files · 6 MB shown").waitFor();
    await page.getByRole("checkbox", { name: "Select all of 1 MB to 10 MB" }).click();
    await page.getByText("2 files · 6 MB selected").waitFor();
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByRole("dialog").getByText("This deletes 2 files for everyone").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await assertShown(page, ["plan.txt", "minutes.txt"]);
    assert.equal(await count(), 5);
    await page.locator(".conversation-head").getByText("7 bytes stored").waitFor();
    const kept = ["book.txt", "minutes.txt", "photo.png", "their film.mp4", "plan.txt"];
    assert.deepEqual(await listNames(server, user), kept);
    assert.deepEqual(guard.complaints, []);
  },

  "files are searched by name, and shown where they were sent": async ({ server, arrive }) => {
    const { page, user, guard } = await arrive();
    await furnish(server, user);
    await page.getByRole("link", { name: "Files of all conversations" }).click();
    await assertStart(page, ["book.txt"]);
    const field = page.getByRole("searchbox", { name: "Search files by name" });
    await field.fill("pla");
    await assertShown(page, ["plan.txt"]);
    await page.getByText("1 found").waitFor();
    await field.fill("nothing");
    await page.getByText("Nothing matches “nothing”.").waitFor();
    await field.fill("");
    await assertStart(page, ["book.txt"]);
    await opener(page, "plan.txt").click({ button: "right" });
    await page.getByRole("menuitem", { name: "Show in conversation" }).click();
    await page.getByRole("heading", { name: "Bob", exact: true }).waitFor();
    await page.locator(".message:focus").filter({ hasText: "plan.txt" }).waitFor();
    assert.deepEqual(guard.complaints, []);
  },

  "the list follows what others send, rename and delete, and the conversations that end": async ({
    server,
    arrive,
  }) => {
    const { page, user, guard } = await arrive();
    const { bob, conversation_id } = await furnish(server, user);
    await page.getByRole("link", { name: "Files of all conversations" }).click();
    await assertStart(page, ["book.txt"]);
    const [id] = await send(server, bob, [["late.txt", "a"]], { conversation_id });
    await assertStart(page, ["late.txt", "book.txt"]);
    await aboutOf(page, "late.txt").getByText("Bob", { exact: true }).waitFor();
    await read(ask(server, bob, "PUT", `/v1/attachments/${id}`, { filename: "later.txt" }), 200);
    await assertStart(page, ["later.txt", "book.txt"]);
    await remove(server, bob, id!);
    await assertStart(page, ["book.txt", "minutes.txt"]);
    const { data } = await read<{ data: { id: string }[] }>(ask(server, user, "GET", "/v1/contacts"), 200);
    await ask(server, user, "DELETE", `/v1/contacts/${data[0]!.id}`);
    await assertShown(page, ["book.txt", "minutes.txt", "note.mp4"]);
    assert.deepEqual(guard.complaints, []);
  },

  "conversations that the copy lacks are read once, for their names": async ({ server, arrive }) => {
    const { page, guard } = await arrive(async (user) => {
      await furnish(server, user);
      for (let at = 0; at < MANY; at++)
        await read(ask(server, user, "POST", "/v1/groups", { name: `Group ${at}` }), 201);
    });
    const asked: string[] = [];
    page.on("request", (request) => {
      const { pathname } = new URL(request.url());
      if (/^\/v1\/conversations\/cnv_/.test(pathname)) asked.push(pathname);
    });
    await page.getByRole("link", { name: "Files of all conversations" }).click();
    await aboutOf(page, "minutes.txt").getByText("You in Book club", { exact: true }).waitFor();
    await aboutOf(page, "plan.txt").getByText("You to Bob", { exact: true }).waitFor();
    assert.deepEqual(asked, [...new Set(asked)]);
    assert.ok(asked.length >= 2);
    assert.deepEqual(guard.complaints, []);
  },

  "keyboard and screen readers reach everything, in each width": async ({ server, arrive }) => {
    const { page, user, guard } = await arrive();
    await assertEmpty(page);
    await furnish(server, user);
    await assertStart(page, ["talk.mp4"]);
    const whose = page.getByRole("group", { name: "Whose files" });
    await whose.getByRole("radio", { name: "Sent by you" }).focus();
    for (const [key, first] of [
      ["ArrowLeft", "book.txt"],
      ["ArrowRight", "talk.mp4"],
    ] as const) {
      await page.keyboard.press(key);
      await assertStart(page, [first]);
      assert.equal(await focused(page).getAttribute("name"), "whose");
      for (const width of [1280, 390]) {
        await page.setViewportSize({ width, height: 800 });
        await assertAccessible(page, `files of all conversations, ${first}, ${width}`);
        await assertNoSidewaysScroll(page, `files of all conversations, ${first}, ${width}`);
      }
      await page.setViewportSize({ width: 1280, height: 800 });
    }
    await page.goBack();
    await page.goBack();
    await assertStart(page, ["talk.mp4"]);
    await page.locator(".thumb[tabindex='0']").focus();
    await page.keyboard.press("Shift+ArrowRight");
    await page.keyboard.press("Delete");
    await page.getByRole("dialog").getByText("This deletes 2 files").waitFor();
    assert.deepEqual(guard.complaints, []);
  },
});

async function assertEmpty(page: Page): Promise<void> {
  await openAccount(page);
  await page.getByRole("menuitem", { name: "Free up storage" }).click();
  await page.getByRole("heading", { name: "No files yet" }).waitFor();
  await assertAccessible(page, "no files of all conversations");
}
