// Changes of files in an open conversation: the sender of a new file, and search results.
import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { createToken } from "../../src/core/people/tokens.ts";
import { send as ask, read } from "../support/people.ts";
import { dropFiles, openFiles, signIn } from "./browser.ts";
import { assertShown, send } from "./in-files.ts";
import { gate } from "./proxy.ts";
import { testScenes, type World } from "./scenes.ts";
import { introduce } from "./talk.ts";

/** Opens the files of a conversation with Bob, with a token that may read files but not messages. */
async function openWithoutMessages({ server, proxy, visit }: World) {
  const [ann, bob] = [await server.user(), await server.user()];
  const conversation_id = await introduce(server, ann, bob);
  const { token } = await createToken(server.app.core, null, ann.id, {
    scopes: ["contacts:read", "attachments:read", "attachments:write", "events:read"],
  });
  const { page, guard } = await visit();
  await signIn(page, proxy.url, token);
  await page.getByRole("option", { name: "Bob" }).click();
  await page.getByRole("heading", { name: "Drop files here" }).waitFor();
  const sendAsBob = (name: string) => send(server, bob, [[name, "a"]], { conversation_id });
  return { page, guard, sendAsBob };
}

const card = (page: Page, name: string) =>
  page.locator(".card").filter({ has: page.getByRole("button", { name: `Open ${name}` }) });

async function searchFiles(page: Page, text: string): Promise<void> {
  await page.getByRole("button", { name: "Search files" }).click();
  // Filled at once, so that no search runs for a prefix.
  await page.locator("input:focus").fill(text);
}

testScenes("changes of files", {
  "the sender of a new file is requested again if the answer fails": async (world) => {
    const { page, guard, sendAsBob } = await openWithoutMessages(world);
    let asked = 0;
    world.proxy.fate = (line) =>
      line.startsWith("GET /v1/attachments?") && ++asked === 1 ? "break" : "pass";
    await sendAsBob("theirs.txt");
    await card(page, "theirs.txt").getByText("Bob", { exact: true }).waitFor();
    assert.equal(asked, 2);
    assert.deepEqual(guard.complaints, []);
  },

  "a new file of another user shows its sender while a file of the same name uploads": async (world) => {
    const { page, guard, sendAsBob } = await openWithoutMessages(world);
    const late = gate();
    let isSent = false;
    world.proxy.fate = (line) => {
      if (!line.startsWith("POST /v1/attachments")) return "pass";
      isSent = true;
      return late.passed;
    };
    await dropFiles(page, [{ name: "same.txt", type: "text/plain", base64: btoa("mine") }]);
    while (!isSent) await page.waitForTimeout(20);
    // The event of the user's own file arrives before its answer.
    await card(page, "same.txt").getByText("You", { exact: true }).waitFor();
    // The notice appears for a few seconds.
    const isTold = page.getByRole("status").getByText("New here: same.txt").waitFor();
    await sendAsBob("same.txt");
    await card(page, "same.txt").nth(1).waitFor();
    await card(page, "same.txt").getByText("Bob", { exact: true }).waitFor();
    await isTold;
    late.open();
    await page.getByText("All files uploaded").waitFor();
    assert.equal(await card(page, "same.txt").getByText("You", { exact: true }).count(), 1);
    assert.deepEqual(guard.complaints, []);
  },

  "a search of files follows renames": async ({ server, arrive }) => {
    const { user, page, guard } = await arrive();
    const [plain, report] = await send(server, user, [
      ["plain.txt", "a"],
      ["report 1.txt", "a"],
    ]);
    await page.getByRole("link", { name: "Notes to self" }).click();
    await openFiles(page);
    await searchFiles(page, "report");
    await page.getByRole("status").getByText("1 found").waitFor();
    await assertShown(page, ["report 1.txt"]);
    const rename = (id: string, filename: string) =>
      read(ask(server, user, "PUT", `/v1/attachments/${id}`, { filename }), 200);
    await rename(plain!, "report 2.txt");
    await assertShown(page, ["report 1.txt", "report 2.txt"]);
    await rename(report!, "other.txt");
    await assertShown(page, ["report 2.txt"]);
    assert.deepEqual(guard.complaints, []);
  },

  "a file search that is loading does not restart for each new file": async (world) => {
    const { server, proxy } = world;
    const { user, page, guard } = await world.arrive();
    const bob = await server.user();
    const conversation_id = await introduce(server, user, bob);
    await page.getByRole("option", { name: "Bob" }).click();
    await openFiles(page);
    await page.getByRole("heading", { name: "Drop files here" }).waitFor();
    const late = gate();
    let asked = 0;
    proxy.fate = (line) => {
      if (!/^GET \/v1\/attachments\?.*q=/.test(line)) return "pass";
      asked++;
      return late.passed;
    };
    await searchFiles(page, "report");
    while (asked === 0) await page.waitForTimeout(20);
    for (const at of [1, 2, 3]) await send(server, bob, [[`report ${at}.txt`, "a"]], { conversation_id });
    await page.getByRole("status").getByText("report 3.txt").waitFor();
    assert.equal(asked, 1);
    late.open();
    await assertShown(page, ["report 3.txt", "report 2.txt", "report 1.txt"]);
    assert.equal(asked, 2);
    assert.deepEqual(guard.complaints, []);
  },
});
