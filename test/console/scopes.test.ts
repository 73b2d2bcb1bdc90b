// Actions that a token does not allow are hidden, and places that it cannot read say so.
import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { createToken } from "../../src/core/people/tokens.ts";
import { type TestUser, upload } from "../support/app.ts";
import { read, send } from "../support/people.ts";
import { dropFiles, makeContact, openFiles, signIn } from "./browser.ts";
import { testScenes, type World } from "./scenes.ts";
import { find, introduce, say } from "./talk.ts";

type Scopes = NonNullable<Parameters<typeof createToken>[3]["scopes"]>;

const READ: Scopes = ["contacts:read", "messages:read", "attachments:read", "groups:read", "events:read"];

/** Opens a page for a user, with a token that has only these scopes. */
async function enter({ server, proxy, visit }: World, user: TestUser, scopes: Scopes) {
  const { token } = await createToken(server.app.core, null, user.id, { scopes });
  const { page, guard } = await visit();
  await signIn(page, proxy.url, token);
  return { page, guard };
}

const listButtons = (page: Page, within: string) =>
  page
    .locator(within)
    .getByRole("button")
    .evaluateAll((all) => all.map((each) => each.ariaLabel ?? each.textContent));

const listItems = async (page: Page) => {
  await page.getByRole("button", { name: "More", exact: true }).click();
  const texts = await page.getByRole("menuitem").allTextContents();
  await page.keyboard.press("Escape");
  return texts;
};

testScenes("tokens without some scope", {
  "a token without contacts:write says so in an empty list": async (world) => {
    const { page, guard } = await enter(world, await world.server.user(), READ);
    for (const side of [".contacts", ".main"])
      await page.locator(side).getByText("Your access token does not allow you to add contacts.").waitFor();
    assert.deepEqual(await listButtons(page, ".contacts"), []);
    assert.equal(await page.getByRole("button", { name: "Add your first contact" }).count(), 0);
    assert.deepEqual(guard.complaints, []);
  },

  "a read-only token is not offered changes of contacts or their settings": async (world) => {
    const user = await world.server.user();
    await makeContact(world.server, user, "ada");
    const { page, guard } = await enter(world, user, READ);
    await page.getByRole("option", { name: "ada" }).click();
    await page.getByRole("heading", { name: "ada" }).waitFor();
    assert.equal(await page.getByRole("button", { name: "Rename contact ada" }).count(), 0);
    assert.deepEqual(await listItems(page), ["Conversation settings"]);
    await page.getByRole("button", { name: "More", exact: true }).click();
    await page.getByRole("menuitem", { name: "Conversation settings" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Your access token does not allow you to change settings.").waitFor();
    assert.equal(await dialog.getByLabel("Pinned above the others").isDisabled(), true);
    assert.equal(await dialog.getByLabel("Muted").isDisabled(), true);
    assert.deepEqual(guard.complaints, []);
  },

  "a read-only token cannot upload, rename or delete files": async (world) => {
    const { server, proxy } = world;
    const user = await server.user();
    const { page, guard } = await enter(world, user, READ);
    const posts: string[] = [];
    proxy.fate = (line) => {
      if (line.startsWith("POST /v1")) posts.push(line);
      return "pass";
    };
    await page.getByRole("link", { name: "Notes to self" }).click();
    await openFiles(page);
    await page.getByText("Your access token does not allow you to upload files.").waitFor();
    assert.equal(await page.getByRole("button", { name: "Choose files" }).count(), 0);
    await dropFiles(page, [{ name: "dropped.txt", type: "text/plain", base64: btoa("a") }]);
    await upload(server.url, user, new File(["a"], "mine.txt"));
    const card = page.locator(".card");
    await card.hover();
    await card.getByRole("link", { name: "Download mine.txt" }).waitFor();
    assert.equal(await card.getByRole("button", { name: /^(Delete|Rename)/ }).count(), 0);
    assert.equal(await page.getByRole("button", { name: "Add files" }).count(), 0);
    await page.getByRole("button", { name: "Open mine.txt" }).focus();
    await page.keyboard.press("Delete");
    await page
      .getByRole("dialog")
      .getByText("Your access token does not allow you to delete files.")
      .waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Open mine.txt" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Copy link" }).waitFor();
    assert.equal(await page.getByRole("dialog").getByRole("button", { name: "Delete" }).count(), 0);
    assert.equal(await card.count(), 1);
    assert.deepEqual(posts, []);
    assert.deepEqual(guard.complaints, []);
  },

  "a read-only token cannot change groups or answer invitations": async (world) => {
    const { server } = world;
    const [user, bob] = [await server.user(), await server.user()];
    await introduce(server, user, bob);
    const me = await read<{ username: string }>(send(server, user, "GET", "/v1/me"), 200);
    const fields = { name: "Climbing" };
    const { conversation_id } = await read<{ conversation_id: string }>(
      send(server, user, "POST", "/v1/groups", fields),
      201,
    );
    await say(server, user, conversation_id, "my own");
    await read(send(server, bob, "POST", "/v1/groups", { name: "Chess", members: [me.username] }), 201);
    const { page, guard } = await enter(world, user, READ);
    await page.getByText("Your access token does not allow you to answer invitations.").waitFor();
    assert.equal(await page.getByRole("button", { name: "Join Chess" }).count(), 0);
    await page.getByRole("option", { name: "Climbing" }).click();
    await page.getByRole("heading", { name: "Climbing" }).waitFor();
    assert.equal(await page.getByRole("button", { name: "Edit Climbing" }).count(), 0);
    assert.deepEqual(await listItems(page), ["Conversation settings"]);
    await find(page, "my own").focus();
    await page.getByRole("button", { name: "Read by" }).waitFor();
    assert.deepEqual(await listButtons(page, ".message-actions"), ["Read by"]);
    await page.getByRole("button", { name: "Members of Climbing" }).click();
    await page.getByRole("dialog").getByText("(you)").waitFor();
    const buttons = await listButtons(page, "dialog");
    // The other button shows who the member is.
    assert.deepEqual(
      buttons.filter((name) => !name.includes("(you)")),
      ["Close"],
    );
    assert.deepEqual(guard.complaints, []);
  },

  "a token for messages only says that it lacks contacts, groups and files": async (world) => {
    const { server } = world;
    const [user, bob] = [await server.user(), await server.user()];
    const id = await introduce(server, user, bob);
    await say(server, bob, id, "hello");
    const { page, guard } = await enter(world, user, ["messages:read", "messages:write", "events:read"]);
    await page.getByRole("option", { name: "Bob" }).click();
    await page.locator(".main").getByText("Your access token does not allow you to see contacts.").waitFor();
    await page.evaluate(() => {
      location.hash = "grp_x";
    });
    await page.locator(".main").getByText("Your access token does not allow you to see groups.").waitFor();
    await page.getByRole("link", { name: "Notes to self" }).click();
    await page.getByRole("textbox", { name: "Message to your notes" }).waitFor();
    await openFiles(page);
    await page.getByText("Your access token does not allow you to see files.").waitFor();
    // Without anything to search, the key opens the browser's own search: once the messages have let go of it.
    await page.waitForFunction(() => {
      const event = new KeyboardEvent("keydown", {
        key: "f",
        ctrlKey: true,
        bubbles: true,
        cancelable: true,
      });
      return document.body.dispatchEvent(event);
    });
    assert.equal(await page.getByRole("alert").getByText(/./).count(), 0);
    assert.deepEqual(guard.complaints, []);
  },

  "a token without contacts:read shows people in colour and asks for no contacts": async (world) => {
    const { server, proxy } = world;
    const [user, bob] = [await server.user(), await server.user()];
    const id = await introduce(server, user, bob);
    await say(server, bob, id, "hello");
    const asked: string[] = [];
    proxy.fate = (line) => {
      if (line.startsWith("GET /v1/contacts")) asked.push(line);
      return "pass";
    };
    const { page, guard } = await enter(world, user, [
      ...(["messages:read", "groups:read", "groups:write", "events:read"] as const),
    ]);
    const coloured = page.locator('.avatar[style*="--hue"]');
    await page.getByRole("option", { name: "Bob" }).filter({ has: coloured }).waitFor();
    await page.keyboard.press("Control+k");
    await page.keyboard.type("bo");
    await page.getByRole("dialog").getByRole("option", { name: "Bob" }).filter({ has: coloured }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Create a group" }).click();
    await page.getByRole("dialog").getByLabel("Name", { exact: true }).fill("Club");
    await page.getByRole("button", { name: "Create", exact: true }).click();
    await page.getByRole("heading", { name: "Club" }).waitFor();
    assert.deepEqual(asked, []);
    assert.deepEqual(guard.complaints, []);
  },

  "a token for contacts only says that it lacks messages": async (world) => {
    const { server } = world;
    const user = await server.user();
    await makeContact(server, user, "ada");
    const { page, guard } = await enter(world, user, ["contacts:read", "contacts:write", "events:read"]);
    await page.getByRole("option", { name: "ada" }).click();
    await page.getByText("Your access token does not allow you to read messages.").waitFor();
    assert.deepEqual(await listItems(page), ["Block contact", "Delete contact"]);
    await page.getByText("Archived", { exact: true }).click();
    await page.getByText("Your access token does not allow you to read conversations.").waitFor();
    assert.deepEqual(guard.complaints, []);
  },
});
