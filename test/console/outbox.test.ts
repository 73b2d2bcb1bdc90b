// Messages over a failing network: none lost, none sent twice, all in order.
import assert from "node:assert/strict";
import { createToken, revokeTokensOf } from "../../src/core/people/tokens.ts";
import { upload } from "../support/app.ts";
import { send } from "../support/people.ts";
import { dropFiles, openFiles, signIn, signOut } from "./browser.ts";
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

  "messages unsent when the token ends become drafts at the next sign-in": async (world) => {
    const { server, proxy } = world;
    const { ann, id } = await meet(world);
    const { page } = ann;
    proxy.fate = (line) => (isSend(line) ? "break" : "pass");
    await write(page, "one");
    await write(page, "two");
    await page.getByText("Not sent yet").first().waitFor();
    await page.getByRole("textbox", { name: "Message to Bob" }).fill("three");
    await revokeTokensOf(server.app.core, null, ann.user.id);
    await page.getByText("You were signed out.").waitFor();
    proxy.fate = () => "pass";
    const { token } = await createToken(server.app.core, null, ann.user.id, {});
    await signIn(page, proxy.url, token);
    await page.getByRole("option", { name: "Bob" }).click();
    const field = page.getByRole("textbox", { name: "Message to Bob" });
    await field.waitFor();
    assert.equal(await field.inputValue(), "one\ntwo\nthree");
    const again = { ...ann.user, headers: { authorization: `Bearer ${token}` } };
    assert.deepEqual(await listTexts(server, again, id), []);
    // Another user of the tab finds no drafts.
    await revokeTokensOf(server.app.core, null, ann.user.id);
    await page.getByText("You were signed out.").waitFor();
    const kept = () => page.evaluate(() => Object.values(sessionStorage).join().includes("three"));
    assert.equal(await kept(), true);
    await signIn(page, proxy.url, (await server.user()).token);
    assert.equal(await kept(), false);
    assert.deepEqual(ann.guard.complaints, []);
  },

  "unsent work is named when another tab signs out, and its messages are drafts after the next sign-in":
    async ({ proxy, arrive }) => {
      const { user, page, guard } = await arrive();
      const tab = await page.context().newPage();
      await tab.goto(page.url());
      await tab.getByRole("link", { name: "Notes to self" }).click();
      proxy.fate = (line) => (line.startsWith("POST /v1/") ? "break" : "pass");
      await write(tab, "never sent");
      await openFiles(tab);
      await dropFiles(tab, [{ name: "kept.txt", type: "text/plain", base64: btoa("kept") }]);
      await tab.locator(".tray").getByText("Waiting for the connection").first().waitFor();
      await signOut(page);
      await tab.getByRole("alert").getByText("You signed out in another tab.").waitFor();
      const unsent = tab.getByRole("list", { name: "Not sent" }).getByRole("listitem");
      assert.deepEqual(await unsent.allTextContents(), [
        "kept.txt, to your notes",
        "“never sent”, to your notes",
      ]);
      proxy.fate = () => "pass";
      await signIn(tab, proxy.url, user.token);
      await tab.getByRole("link", { name: "Notes to self" }).click();
      const field = tab.getByRole("textbox", { name: "Message to your notes" });
      await field.waitFor();
      assert.equal(await field.inputValue(), "never sent");
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
    proxy.fate = (line) => (line === "GET /v1/events" ? "break" : "pass");
    proxy.cutStreams();
    await ann.page.getByText("Not connected, trying again").waitFor();
    const [one] = (await list(server.url, bob.user.headers, id)).toReversed();
    await fetch(`${server.url}/v1/messages/${one!.id}`, { method: "DELETE", headers: bob.user.headers });
    await upload(server.url, bob.user, new File(["late"], "late.txt"), { conversation_id: id });
    await write(bob.page, "three");
    await bob.page.locator(".outgoing").first().waitFor({ state: "detached" });
    proxy.fate = () => "pass";
    await find(ann.page, "three").waitFor();
    await ann.page.getByRole("button", { name: "Open late.txt" }).waitFor();
    assert.deepEqual(await shownTexts(ann.page), ["two", "three"]);
    await ann.page.getByText("Not connected, trying again").waitFor({ state: "detached" });
    assert.deepEqual([...ann.guard.complaints, ...bob.guard.complaints], []);
  },
});

async function list(url: string, headers: Record<string, string>, id: string): Promise<{ id: string }[]> {
  const response = await fetch(`${url}/v1/messages?conversation_id=${id}`, { headers });
  return ((await response.json()) as { data: { id: string }[] }).data;
}
