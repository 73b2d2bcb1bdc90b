// Search by filename in all conversations, and opening a hit.
import assert from "node:assert/strict";
import { createToken } from "../../src/core/people/tokens.ts";
import { send as ask, read } from "../support/people.ts";
import { assertAccessible, signIn } from "./browser.ts";
import { remove, send } from "./in-files.ts";
import { testScenes } from "./scenes.ts";
import { introduce, say } from "./talk.ts";

const SEARCH = "Search contacts, groups, messages and files";

testScenes("search for files", {
  "a file of any sender is found by its name and opens its conversation": async ({ server, arrive }) => {
    const { user, page, guard } = await arrive();
    const bob = await server.user();
    const conversation_id = await introduce(server, user, bob);
    const [harbour] = await send(server, bob, [["Harbour at six.txt", "a"]], { conversation_id });
    for (let at = 0; at < 80; at++) await say(server, bob, conversation_id, `line ${at}`);
    await send(server, user, [["my harbour.txt", "b"]]);
    await page.getByLabel(SEARCH).fill("harb");
    const files = page.getByRole("listbox", { name: "Files found" }).getByRole("option");
    await files.nth(1).waitFor();
    assert.match((await files.nth(0).textContent())!, /my harbour\.txt.*You$/);
    await files
      .nth(1)
      .filter({ hasText: /Harbour at six\.txt.*Bob$/ })
      .waitFor();
    await assertAccessible(page, "files found");
    await files.nth(1).click();
    await page.getByRole("heading", { name: "Bob" }).waitFor();
    const message = page.locator(".message", { hasText: "Harbour at six.txt" });
    await message.and(page.locator(":focus")).waitFor();
    // Opens the notes by the keyboard.
    await page.getByLabel(SEARCH).press("ArrowDown");
    await page.keyboard.press("Home");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Notes to self" }).waitFor();
    // Concurrent changes appear.
    await send(server, bob, [["new harbour.txt", "c"]], { conversation_id });
    await files.filter({ hasText: "new harbour.txt" }).waitFor();
    await remove(server, bob, harbour!);
    await files.filter({ hasText: "Harbour at six.txt" }).waitFor({ state: "detached" });
    await page.getByLabel(SEARCH).fill("nothing like it");
    await page.getByText("Nothing matches “nothing like it”.").waitFor();
    assert.deepEqual(guard.complaints, []);
  },

  "a renamed file is found only by its new name": async ({ server, arrive }) => {
    const { user, page, guard } = await arrive();
    const [id] = await send(server, user, [["plan.txt", "a"]]);
    await page.getByLabel(SEARCH).fill("report");
    await page.getByText("Nothing matches “report”.").waitFor();
    const rename = (filename: string) =>
      read(ask(server, user, "PUT", `/v1/attachments/${id}`, { filename }), 200);
    const found = page.getByRole("listbox", { name: "Files found" }).getByRole("option");
    await rename("report.txt");
    await found.waitFor();
    await rename("plan.txt");
    await found.waitFor({ state: "detached" });
    assert.deepEqual(guard.complaints, []);
  },

  "a token without messages:read finds no files": async (world) => {
    const { server, proxy } = world;
    const user = await server.user();
    await send(server, user, [["plan.txt", "a"]]);
    const { token } = await createToken(server.app.core, null, user.id, {
      scopes: ["contacts:read", "attachments:read"],
    });
    const { page, guard } = await world.visit();
    await signIn(page, proxy.url, token);
    await page.getByLabel(SEARCH).fill("plan");
    await page.getByText("Nothing matches “plan”.").waitFor();
    assert.deepEqual(guard.complaints, []);
  },
});
