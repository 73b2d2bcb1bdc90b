// Messages over a failing network: none lost, none sent twice, all in order.
import assert from "node:assert/strict";
import { createToken, revokeTokensOf } from "../../src/core/people/tokens.ts";
import { upload } from "../support/app.ts";
import { send } from "../support/people.ts";
import { assertAccessible, dropFiles, openFiles, signIn, signOut } from "./browser.ts";
import { gate } from "./proxy.ts";
import { testScenes } from "./scenes.ts";
import { find, listTexts, meet, shownTexts, write } from "./talk.ts";

const isSend = (line: string) => line === "POST /v1/messages";

testScenes("messages over a failing network", {
  "messages written offline are sent once and in order when the network is back": async (world) => {
    const { server, proxy } = world;
    const { ann, bob, id } = await meet(world);
    const { page } = ann;
    await write(page, "before");
    await find(bob.page, "before").waitFor();
    // The server stores the next one, and its answer never arrives.
    proxy.fate = (line) => (isSend(line) ? "lose" : "pass");
    await write(page, "0 whose answer is lost");
    await find(bob.page, "0 whose").waitFor();
    await page.context().setOffline(true);
    proxy.fate = () => "pass";
    for (let i = 1; i <= 4; i++) await write(page, `${i} while it is cut`);
    await dropFiles(page, [{ name: "cut.txt", type: "text/plain", base64: btoa("cut") }]);
    await write(page, "5 with a file");
    await page.getByText("Not sent yet, trying again").first().waitFor();
    const wanted = [
      "before",
      "0 whose answer is lost",
      ...[1, 2, 3, 4].map((i) => `${i} while it is cut`),
      "5 with a file",
    ];
    assert.deepEqual(await shownTexts(page), wanted);
    await page.context().setOffline(false);
    await page.locator(".outgoing").first().waitFor({ state: "detached" });
    await find(page, "5 with a file").getByRole("button", { name: "Open cut.txt" }).waitFor();
    await page.locator(".outgoing").first().waitFor({ state: "detached" });
    assert.deepEqual(await shownTexts(page), wanted);
    await find(bob.page, "5 with a file").getByRole("button", { name: "Open cut.txt" }).waitFor();
    assert.deepEqual(await shownTexts(bob.page), wanted);
    assert.deepEqual(await listTexts(server, bob.user, id), wanted);
    assert.deepEqual([...ann.guard.complaints, ...bob.guard.complaints], []);
  },

  "arrow up while the newest message waits edits no earlier one": async (world) => {
    const { ann } = await meet(world);
    const { page, guard } = ann;
    await write(page, "first");
    await page.locator(".message:not(.outgoing)").waitFor();
    await page.context().setOffline(true);
    await write(page, "newest");
    await page.locator(".outgoing").waitFor();
    await page.keyboard.press("ArrowUp");
    await page.keyboard.type("next");
    assert.equal(await page.getByRole("textbox", { name: "Edit the message" }).count(), 0);
    assert.equal(await page.getByRole("textbox", { name: "Message to Bob" }).inputValue(), "next");
    await page.getByRole("textbox", { name: "Message to Bob" }).fill("");
    await page.context().setOffline(false);
    await page.locator(".outgoing").waitFor({ state: "detached" });
    await page.keyboard.press("ArrowUp");
    const edit = page.getByRole("textbox", { name: "Edit the message" });
    await edit.waitFor();
    assert.equal(await edit.inputValue(), "newest");
    assert.deepEqual(guard.complaints, []);
  },

  "a waiting message and its files have enough contrast": async (world) => {
    const { ann } = await meet(world);
    const { page, guard } = ann;
    await page.context().setOffline(true);
    await dropFiles(page, [{ name: "a.txt", type: "text/plain", base64: btoa("a") }]);
    await write(page, "waits, see https://example.org/");
    await page.getByText("Not sent yet, trying again").waitFor();
    await assertAccessible(page, "a waiting message with a file");
    assert.deepEqual(guard.complaints, []);
  },

  "a message whose event precedes its answer appears once": async (world) => {
    const { proxy } = world;
    const { ann, bob } = await meet(world);
    const late = gate();
    proxy.fate = (line) => (isSend(line) ? late.passed : "pass");
    await write(ann.page, "the same");
    await find(bob.page, "the same").waitFor();
    await ann.page.locator(".message:not(.outgoing)").waitFor();
    assert.deepEqual(await shownTexts(ann.page), ["the same"]);
    await write(ann.page, "the same");
    assert.deepEqual(await shownTexts(ann.page), ["the same", "the same"]);
    late.open();
    await ann.page.locator(".message:not(.outgoing)").nth(1).waitFor();
    await bob.page.locator(".message").nth(1).waitFor();
    for (const { page } of [ann, bob]) assert.deepEqual(await shownTexts(page), ["the same", "the same"]);
    assert.deepEqual([...ann.guard.complaints, ...bob.guard.complaints], []);
  },

  "the same text sent twice appears twice": async (world) => {
    const { proxy } = world;
    const { ann, bob } = await meet(world);
    await ann.page.context().setOffline(true);
    for (let i = 0; i < 2; i++) await write(ann.page, "ok");
    await ann.page.getByText("Not sent yet").first().waitFor();
    let sends = 0;
    proxy.fate = (line) => (isSend(line) && ++sends > 1 ? "break" : "pass");
    await ann.page.context().setOffline(false);
    await find(bob.page, "ok").waitFor();
    await ann.page.locator(".message:not(.outgoing)").waitFor();
    await ann.page.locator(".outgoing").getByText("Not sent yet").waitFor();
    assert.deepEqual(await shownTexts(ann.page), ["ok", "ok"]);
    proxy.fate = () => "pass";
    await ann.page.locator(".message:not(.outgoing)").nth(1).waitFor();
    assert.deepEqual(await shownTexts(ann.page), ["ok", "ok"]);
    assert.deepEqual([...ann.guard.complaints, ...bob.guard.complaints], []);
  },

  "a refused message says why, does not block others, and can be retried or discarded": async (world) => {
    const { server, proxy } = world;
    const { ann, id } = await meet(world);
    const { page } = ann;
    await ann.page.route("**/v1/messages", (route) => {
      if (!route.request().postData()?.includes("refused")) return route.fallback();
      const problem = {
        type: "about:blank",
        title: "No",
        status: 400,
        code: "invalid_parameter",
        detail: "Not so.",
      };
      return route.fulfill({
        status: 400,
        contentType: "application/problem+json",
        body: JSON.stringify(problem),
      });
    });
    await write(page, "refused 1");
    await write(page, "refused 2");
    await write(page, "accepted");
    await find(page, "refused 2").getByText("Not sent. The server does not accept this value.").waitFor();
    await page.locator(".message:not(.outgoing)").filter({ hasText: "accepted" }).waitFor();
    await page.unroute("**/v1/messages");
    await find(page, "refused 1").getByRole("button", { name: "Discard" }).click();
    await page.locator(".messages:focus").waitFor();
    await find(page, "refused 2").getByRole("button", { name: "Try again" }).click();
    await page.locator(".outgoing").first().waitFor({ state: "detached" });
    assert.deepEqual(await shownTexts(page), ["accepted", "refused 2"]);
    assert.deepEqual(await listTexts(server, ann.user, id), ["accepted", "refused 2"]);
    // Leaving while one waits asks for confirmation.
    proxy.fate = (line) => (isSend(line) ? "break" : "pass");
    await write(page, "never sent");
    await page.getByText("Not sent yet, trying again").waitFor();
    const asked = page.waitForEvent("dialog");
    await page.close({ runBeforeUnload: true });
    await (await asked).dismiss();
    await signOut(page);
    await page.getByRole("dialog").getByText("1 message is not sent.").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
    await find(page, "never sent").getByRole("button", { name: "Cancel" }).click();
    await find(page, "never sent").waitFor({ state: "detached" });
    assert.deepEqual(await shownTexts(page), ["accepted", "refused 2"]);
    assert.deepEqual(ann.guard.complaints, []);
  },

  "messages that wait survive a reload with their files, and are sent once by whichever tab is there": async (
    world,
  ) => {
    const { server, proxy } = world;
    const { ann, bob, id } = await meet(world);
    const { page } = ann;
    proxy.fate = (line) => (isSend(line) ? "break" : "pass");
    await dropFiles(page, [{ name: "kept.txt", type: "text/plain", base64: btoa("kept") }]);
    await write(page, "one with a file");
    await write(page, "two");
    await page.getByText("Not sent yet, trying again").first().waitFor();
    const wanted = ["one with a file", "two"];
    // The page asks before it is left.
    page.on("dialog", (dialog) => dialog.accept());
    await page.reload();
    await find(page, "two").and(page.locator(".outgoing")).waitFor();
    await find(page, "one with a file").getByText("kept.txt").waitFor();
    assert.deepEqual(await shownTexts(page), wanted);
    // Another tab shows them too, and sends them when the first one is gone.
    const tab = await page.context().newPage();
    await tab.goto(page.url());
    await find(tab, "two").and(tab.locator(".outgoing")).waitFor();
    assert.deepEqual(await shownTexts(tab), wanted);
    await page.close();
    proxy.fate = () => "pass";
    await find(bob.page, "two").waitFor();
    await find(bob.page, "one with a file").getByRole("button", { name: "Open kept.txt" }).waitFor();
    await tab.locator(".outgoing").first().waitFor({ state: "detached" });
    for (const each of [tab, bob.page]) assert.deepEqual(await shownTexts(each), wanted);
    assert.deepEqual(await listTexts(server, ann.user, id), wanted);
    assert.deepEqual([...ann.guard.complaints, ...bob.guard.complaints], []);
  },

  "messages unsent when the token ends are sent after the next sign-in, and no other user finds them": async (
    world,
  ) => {
    const { server, proxy } = world;
    const { ann, id } = await meet(world);
    const { page } = ann;
    proxy.fate = (line) => (isSend(line) ? "break" : "pass");
    await write(page, "wait 1");
    await write(page, "wait 2");
    await page.getByText("Not sent yet").first().waitFor();
    await page.getByRole("textbox", { name: "Message to Bob" }).fill("draft 3");
    await revokeTokensOf(server.app.core, null, ann.user.id);
    await page.getByText("You were signed out.").waitFor();
    const unsent = page.getByRole("list", { name: "Not sent" }).getByRole("listitem");
    assert.deepEqual(await unsent.allTextContents(), ["“wait 1”, to Bob", "“wait 2”, to Bob"]);
    proxy.fate = () => "pass";
    const { token } = await createToken(server.app.core, null, ann.user.id, {});
    await signIn(page, proxy.url, token);
    await page.getByRole("option", { name: "Bob" }).click();
    await find(page, "wait 2").and(page.locator(":not(.outgoing)")).waitFor();
    assert.deepEqual(await shownTexts(page), ["wait 1", "wait 2"]);
    const field = page.getByRole("textbox", { name: "Message to Bob" });
    assert.equal(await field.inputValue(), "draft 3");
    const again = { ...ann.user, headers: { authorization: `Bearer ${token}` } };
    assert.deepEqual(await listTexts(server, again, id), ["wait 1", "wait 2"]);
    // Another user of the browser finds neither drafts nor messages.
    proxy.fate = (line) => (isSend(line) ? "break" : "pass");
    await write(page, "wait 4");
    await page.getByText("Not sent yet").first().waitFor();
    await field.fill("draft 3");
    await revokeTokensOf(server.app.core, null, ann.user.id);
    await page.getByText("You were signed out.").waitFor();
    for (const text of ["wait 1", "wait 4", "draft 3"])
      assert.ok((await page.evaluate(readKept)).includes(text), text);
    await signIn(page, proxy.url, (await server.user()).token);
    for (const text of ["wait 1", "wait 4", "draft 3"])
      assert.ok(!(await page.evaluate(readKept)).includes(text), text);
    assert.deepEqual(ann.guard.complaints, []);
  },

  "a sign-out names what all tabs have not sent, and leaves nothing in the browser": async ({
    proxy,
    arrive,
  }) => {
    const { page, guard } = await arrive();
    const tab = await page.context().newPage();
    await tab.goto(page.url());
    await tab.getByRole("link", { name: "Notes to self" }).click();
    proxy.fate = (line) => (line.startsWith("POST /v1/") ? "break" : "pass");
    await write(tab, "never sent");
    await openFiles(tab);
    await dropFiles(tab, [{ name: "kept.txt", type: "text/plain", base64: btoa("kept") }]);
    await tab.locator(".tray").getByText("Waiting for the connection").first().waitFor();
    await signOut(page);
    await page.getByRole("dialog").getByText("1 message is not sent.").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Sign out" }).click();
    await tab.getByRole("alert").getByText("You signed out in another tab.").waitFor();
    // The person has agreed to discard the message, but nobody asked about the upload of the other tab.
    const unsent = tab.getByRole("list", { name: "Not sent" }).getByRole("listitem");
    assert.deepEqual(await unsent.allTextContents(), ["kept.txt, to your notes"]);
    await page.getByLabel("Access token").waitFor();
    await page.waitForFunction(async () => (await indexedDB.databases()).length === 0);
    for (const each of [page, tab]) assert.ok(!(await each.evaluate(readKept)).includes("never sent"));
    assert.deepEqual(guard.complaints, []);
  },

  "unsent messages of a conversation that is gone are reported": async (world) => {
    const { server, proxy } = world;
    const { ann } = await meet(world);
    const { page } = ann;
    proxy.fate = (line) => (isSend(line) ? "break" : "pass");
    await write(page, "of some length");
    await dropFiles(page, [{ name: "kept.txt", type: "text/plain", base64: btoa("kept") }]);
    await write(page, "with a file");
    await page.getByText("Not sent yet").first().waitFor();
    const { data } = await (await fetch(`${server.url}/v1/contacts`, { headers: ann.user.headers })).json();
    await send(server, ann.user, "DELETE", `/v1/contacts/${data[0].id}`);
    proxy.fate = () => "pass";
    const reason = "Not sent, because you are no longer in the conversation";
    await page.getByRole("alert").getByText(`${reason}: “of some length”`).waitFor();
    await page.getByRole("alert").getByText(`${reason}: “with a file”, kept.txt`).waitFor();
    assert.equal(await page.locator(".outgoing").count(), 0);
    assert.deepEqual(ann.guard.complaints, []);
  },

  "changes during a cut stream appear once it is back": async (world) => {
    const { server, proxy } = world;
    const { ann, bob, id } = await meet(world);
    await write(bob.page, "one");
    await write(bob.page, "two");
    await find(ann.page, "two").waitFor();
    proxy.fate = (line) => (line.startsWith("GET /v1/events") ? "break" : "pass");
    proxy.cutStreams();
    await ann.page.getByText("Reconnecting…").waitFor();
    const [one] = (await list(server.url, bob.user.headers, id)).toReversed();
    await fetch(`${server.url}/v1/messages/${one!.id}`, { method: "DELETE", headers: bob.user.headers });
    await upload(server.url, bob.user, new File(["late"], "late.txt"), { conversation_id: id });
    await write(bob.page, "three");
    await bob.page.locator(".outgoing").first().waitFor({ state: "detached" });
    proxy.fate = () => "pass";
    await find(ann.page, "three").waitFor();
    await ann.page.getByRole("button", { name: "Open late.txt" }).waitFor();
    assert.deepEqual(await shownTexts(ann.page), ["two", "three"]);
    await ann.page.getByText("Reconnecting…").waitFor({ state: "detached" });
    assert.deepEqual([...ann.guard.complaints, ...bob.guard.complaints], []);
  },
});

/** Runs in the page. Returns all that the browser keeps for it, as one text. */
async function readKept(): Promise<string> {
  const answer = <T>(request: IDBRequest<T>) =>
    new Promise<T>((resolve, reject) => {
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
  const kept: unknown[] = [{ ...sessionStorage }, { ...localStorage }];
  for (const { name } of await indexedDB.databases()) {
    const database = await answer(indexedDB.open(name!));
    for (const store of database.objectStoreNames)
      kept.push(await answer(database.transaction(store).objectStore(store).getAll()));
    database.close();
  }
  return JSON.stringify(kept);
}

async function list(url: string, headers: Record<string, string>, id: string): Promise<{ id: string }[]> {
  const response = await fetch(`${url}/v1/messages?conversation_id=${id}`, { headers });
  return ((await response.json()) as { data: { id: string }[] }).data;
}
