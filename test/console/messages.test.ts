import assert from "node:assert/strict";
import { dropFiles, makeContact, signIn, signOut } from "./browser.ts";
import { PNG } from "./pictures.ts";
import { testScenes } from "./scenes.ts";
import { act, find, introduce, listTexts, meet, say, shownTexts, toUsername, write } from "./talk.ts";

const text = (name: string) => ({ name, type: "text/plain", base64: btoa(name) });

testScenes("a conversation of two people", {
  "sent, edited and deleted messages appear to the other user at once": async (world) => {
    const { ann, bob, id } = await meet(world);
    const field = ann.page.getByRole("textbox", { name: "Message to Bob" });
    await field.fill("one");
    await field.press("Shift+Enter");
    await field.pressSequentially("two");
    await field.press("Enter");
    await find(bob.page, "one\ntwo").waitFor();
    assert.equal(await field.inputValue(), "");
    await bob.page.getByRole("status").filter({ hasText: "Ann: one" }).waitFor({ state: "attached" });
    await write(bob.page, "three");
    await find(ann.page, "three").waitFor();

    await act(ann.page, "one", "Edit");
    await ann.page.getByRole("textbox", { name: "Edit the message" }).fill("first");
    await ann.page.keyboard.press("Enter");
    await find(bob.page, "first").getByText("Edited").waitFor();
    await act(ann.page, "first", "Edit");
    await ann.page.keyboard.type(" again");
    await ann.page.keyboard.press("Escape");
    assert.equal(await field.inputValue(), "");
    // Nobody can change messages of others.
    await find(bob.page, "first").hover();
    await find(bob.page, "first").getByRole("button", { name: "Reply" }).waitFor();
    assert.equal(await find(bob.page, "first").getByRole("button", { name: "Edit" }).count(), 0);

    await act(ann.page, "first", "Delete");
    await ann.page.getByRole("dialog").getByRole("button", { name: "Delete for everyone" }).click();
    await find(bob.page, "first").waitFor({ state: "detached" });
    for (const { page } of [ann, bob]) assert.deepEqual(await shownTexts(page), ["three"]);
    assert.deepEqual(await listTexts(world.server, ann.user, id), ["three"]);
    assert.deepEqual([...ann.guard.complaints, ...bob.guard.complaints], []);
  },

  "Enter accepts the word of an input method instead of sending": async (world) => {
    const { page, guard } = await world.arrive();
    await page.getByRole("link", { name: "Notes to self" }).click();
    const field = page.getByRole("textbox", { name: "Message to your notes" });
    await field.fill("かん");
    for (const init of [{ isComposing: true }, { keyCode: 229 }])
      await field.evaluate(
        (element, init) =>
          element.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, ...init })),
        init,
      );
    assert.equal(await field.inputValue(), "かん");
    await field.press("Enter");
    await find(page, "かん").waitFor();
    assert.equal(await page.getByText(/^Waiting until/).count(), 0);
    assert.deepEqual(guard.complaints, []);
  },

  "a reply links to its message, also far above or deleted": async (world) => {
    const { server } = world;
    const ann = await world.arrive();
    const bob = await world.arrive();
    const id = await introduce(server, ann.user, bob.user);
    const far = await say(server, bob.user, id, "far above");
    for (let i = 0; i < 120; i++) await say(server, ann.user, id, `line ${i}`);
    const gone = await say(server, ann.user, id, "soon gone");
    await say(server, bob.user, id, "to the gone", { reply_to_id: gone.id });
    await say(server, bob.user, id, "to the far", { reply_to_id: far.id });
    const { page, guard } = ann;
    await page.getByRole("option", { name: "Bob" }).click();
    await act(page, "soon gone", "Reply");
    await page.getByText("Reply to user-").waitFor();
    await write(page, "an answer");
    await find(page, "an answer")
      .getByRole("button", { name: /Go to the message of user-.*soon gone/ })
      .waitFor();
    await act(page, "soon gone", "Delete");
    await page.getByRole("dialog").getByRole("button", { name: "Delete for everyone" }).click();
    await find(page, "to the gone").getByText("Deleted message").waitFor();
    assert.equal(await find(page, "far above").filter({ hasNotText: "to the far" }).count(), 0);
    await find(page, "to the far")
      .getByRole("button", { name: "Go to the message of Bob: far above" })
      .click();
    await page.locator(`#${far.id}:focus`).waitFor();
    await page.locator(`#${far.id}.marked`).waitFor();
    // There and back, at once or by scrolling, in order.
    const newest = page.getByRole("button", { name: "Go to the newest message" });
    await newest.click();
    await find(page, "an answer").waitFor();
    await newest.waitFor({ state: "detached" });
    await find(page, "to the far")
      .getByRole("button", { name: /^Go to/ })
      .click();
    await page.locator(`#${far.id}:focus`).waitFor();
    await page.locator(".messages").focus();
    while ((await find(page, "an answer").count()) === 0) await page.keyboard.press("PageDown");
    assert.deepEqual(await shownTexts(page), await listTexts(server, ann.user, id));
    assert.deepEqual(guard.complaints, []);
  },

  "files are dropped and pasted into one message, sent and viewed": async (world) => {
    const { ann, bob } = await meet(world);
    await dropFiles(ann.page, [
      text("a.txt"),
      { name: "dot.png", type: "image/png", base64: PNG.toString("base64") },
    ]);
    await ann.page.evaluate(() => {
      const clipboardData = new DataTransfer();
      clipboardData.items.add(new File(["pasted"], "pasted.txt", { type: "text/plain" }));
      dispatchEvent(new ClipboardEvent("paste", { clipboardData, cancelable: true }));
    });
    await ann.page.getByRole("button", { name: "Remove pasted.txt" }).waitFor();
    const isPastedAsText = await ann.page.evaluate(() => {
      const clipboardData = new DataTransfer();
      clipboardData.setData("text/plain", "a cell");
      clipboardData.setData("text/html", "<b>a cell</b>");
      clipboardData.items.add(new File(["picture of the cell"], "image.png", { type: "image/png" }));
      return dispatchEvent(new ClipboardEvent("paste", { clipboardData, cancelable: true }));
    });
    assert.ok(isPastedAsText);
    await ann.page.getByRole("button", { name: "Remove a.txt" }).click();
    // The files stay with the conversation while another one is open.
    await ann.page.getByRole("link", { name: "Notes to self" }).click();
    await ann.page.getByRole("heading", { name: "Notes to self" }).waitFor();
    assert.equal(await ann.page.getByRole("button", { name: /^Remove / }).count(), 0);
    await ann.page.getByRole("option", { name: "Bob" }).click();
    await ann.page.getByRole("button", { name: "Remove dot.png" }).waitFor();
    await write(ann.page, "Look");
    const row = find(bob.page, "Look");
    await row.getByRole("button", { name: "Open pasted.txt" }).waitFor();
    const image = row.getByRole("button", { name: "Open dot.png" });
    await image.locator("img").evaluate((img: HTMLImageElement) => img.decode());
    assert.equal(await row.getByRole("button", { name: /^Open / }).count(), 2);
    await row.getByRole("button", { name: "Open pasted.txt" }).click();
    await bob.page.getByRole("dialog").getByText("pasted", { exact: true }).waitFor();
    await bob.page.keyboard.press("Escape");
    // Too many files for one message are split into two, in order. The Files tab lists all.
    await dropFiles(
      bob.page,
      Array.from({ length: 12 }, (_, i) => text(`${i}.txt`)),
    );
    await bob.page.getByRole("button", { name: "Send" }).click();
    await ann.page.getByRole("button", { name: "Open 11.txt" }).waitFor();
    const counts = await ann.page
      .locator(".message-files")
      .evaluateAll((lists) => lists.map((list) => list.children.length));
    assert.deepEqual(counts, [2, 10, 2]);
    await ann.page.getByText("Files", { exact: true }).click();
    await ann.page.getByRole("button", { name: "Open 0.txt" }).waitFor();
    assert.equal(await ann.page.getByRole("button", { name: /^Open / }).count(), 14);
    assert.deepEqual([...ann.guard.complaints, ...bob.guard.complaints], []);
  },

  "a draft survives a reload and other conversations, and is private to its user": async (world) => {
    const { server, proxy } = world;
    const other = await server.user();
    const { user, page, guard } = await world.arrive((user) => makeContact(server, user, "ada"));
    await page.getByRole("option", { name: "ada" }).click();
    const field = page.getByRole("textbox", { name: "Message to ada" });
    await field.fill("Dear Ada,\n");
    await page.getByRole("link", { name: "Notes to self" }).click();
    const notes = page.getByRole("textbox", { name: "Message to your notes" });
    await notes.waitFor();
    assert.equal(await notes.inputValue(), "");
    await page.goBack();
    await field.waitFor();
    assert.equal(await field.inputValue(), "Dear Ada,\n");
    await page.reload();
    await signIn(page, proxy.url, user.token);
    await page.getByRole("option", { name: "ada" }).click();
    await field.waitFor();
    assert.equal(await field.inputValue(), "Dear Ada,\n");
    await signOut(page);
    await page.getByLabel("Access token").waitFor();
    assert.deepEqual(await page.evaluate(() => Object.keys(sessionStorage)), []);
    await signIn(page, proxy.url, other.token);
    assert.deepEqual(guard.complaints, []);
  },

  "unread messages are counted and marked, and become read when seen": async (world) => {
    const { server } = world;
    const ann = await world.arrive();
    const bob = await world.arrive();
    const id = await introduce(server, ann.user, bob.user);
    const { conversation_id: other } = await makeContact(server, ann.user, "cid", "Cid");
    await say(server, ann.user, other, "to Cid");
    await ann.page.getByRole("option").first().filter({ hasText: "You: to Cid" }).waitFor();
    for (let i = 0; i < 70; i++) await say(server, bob.user, id, `news ${i}`);
    const { page } = ann;
    const row = page.getByRole("option").first();
    await row.filter({ hasText: /Bob.*news 69.*70 unread/ }).waitFor();
    await page.waitForFunction(() => document.title === "(1) Parley");
    await row.click();
    // It opens where the unread messages begin, and they become read as they come into view.
    await find(page, "news 0").first().waitFor();
    const line = (await page.locator(".new-line").boundingBox())!;
    const box = (await page.locator(".messages").boundingBox())!;
    assert.ok(line.y >= box.y && line.y < box.y + 120, `the line is at ${line.y - box.y}`);
    await row.filter({ hasText: / unread/ }).waitFor();
    await page.locator(".messages").focus();
    while ((await row.filter({ hasText: "unread" }).count()) > 0) {
      await page.keyboard.press("PageDown");
      await page.waitForTimeout(50);
    }
    await page.waitForFunction(() => document.title === "Bob · Parley");
    await page.locator(".new-line").waitFor();
    assert.deepEqual(
      await shownTexts(page),
      Array.from({ length: 70 }, (_, i) => `news ${i}`),
    );
    // The sender sees how far the other has read.
    await bob.page.getByRole("option", { name: "Ann" }).click();
    await find(bob.page, "news 69").getByText("Read").waitFor();
    await write(page, "All read");
    await page.locator(".new-line").waitFor({ state: "detached" });
    assert.deepEqual([...ann.guard.complaints, ...bob.guard.complaints], []);
  },

  "right-to-left text starts at the right, also in the composer": async (world) => {
    const { ann } = await meet(world);
    const text = "שלום!";
    const field = ann.page.getByRole("textbox", { name: "Message to Bob" });
    assert.equal(await field.evaluate((element) => getComputedStyle(element).unicodeBidi), "plaintext");
    await write(ann.page, text);
    const [first, last] = await ann.page
      .locator(".message:not(.outgoing) .message-text")
      .evaluate((element) =>
        [0, 4].map((at) => {
          const range = document.createRange();
          range.setStart(element.firstChild!, at);
          range.setEnd(element.firstChild!, at + 1);
          return range.getBoundingClientRect().left;
        }),
      );
    assert.ok(last! < first!, `the mark at ${last} is not left of the letter at ${first}`);
    assert.deepEqual(ann.guard.complaints, []);
  },

  "cancelling a delete returns the focus to the message, and no notice covers the composer": async (
    world,
  ) => {
    const { ann } = await meet(world);
    await write(ann.page, "stays");
    await act(ann.page, "stays", "Delete");
    await ann.page.getByRole("dialog").waitFor();
    await ann.page.keyboard.press("Escape");
    await ann.page.locator(".message:focus").filter({ hasText: "stays" }).waitFor();
    await act(ann.page, "stays", "Delete");
    await ann.page.getByRole("dialog").getByRole("button", { name: "Delete for everyone" }).click();
    const notice = await ann.page.getByText("The message was deleted.").boundingBox();
    const field = await ann.page.getByRole("textbox", { name: "Message to Bob" }).boundingBox();
    assert.ok(notice!.x + notice!.width <= field!.x, JSON.stringify({ notice, field }));
    assert.deepEqual(ann.guard.complaints, []);
  },

  "the selected row stays selected when a message moves another to the top": async (world) => {
    const { server } = world;
    const ann = await world.arrive();
    const [bob, cleo] = [await server.user(), await server.user()];
    const ids = [await introduce(server, ann.user, bob), await introduce(server, ann.user, cleo)];
    const { page, guard } = ann;
    await say(server, cleo, ids[1]!, "first of Cleo");
    await say(server, bob, ids[0]!, "first of Bob");
    const rows = page.getByRole("option");
    await rows.first().filter({ hasText: "first of Bob" }).waitFor();
    await rows.nth(1).filter({ hasText: "first of Cleo" }).waitFor();
    await page.getByRole("listbox").focus();
    await page.keyboard.press("Home");
    await say(server, cleo, ids[1]!, "second of Cleo");
    await rows.first().filter({ hasText: "second of Cleo" }).waitFor();
    await page.keyboard.press("Enter");
    await find(page, "first of Bob").waitFor();
    await page.waitForFunction(() => document.title === "(1) Bob · Parley");
    // Deleted messages no longer count.
    const headers = ann.user.headers;
    const { data } = (await (await fetch(`${server.url}/v1/contacts`, { headers })).json()) as {
      data: { id: string; conversation_id: string }[];
    };
    const { id } = data.find((each) => each.conversation_id === ids[1])!;
    await fetch(`${server.url}/v1/contacts/${id}`, { method: "DELETE", headers });
    await page.waitForFunction(() => document.title === "Bob · Parley");
    assert.deepEqual(guard.complaints, []);
  },

  "a reply shows its quoted message once the server answers again": async (world) => {
    const { server, proxy } = world;
    const bob = await server.user();
    let id = "";
    let farId = "";
    const { page, guard } = await world.arrive(async (ann) => {
      id = await introduce(server, ann, bob);
      farId = (await say(server, bob, id, "far above")).id;
      for (let i = 0; i < 120; i++) await say(server, ann, id, `line ${i}`);
      await say(server, bob, id, "to the far", { reply_to_id: farId });
      proxy.fate = (line) => (line === `GET /v1/messages/${farId}` ? "break" : "pass");
    });
    const asked = page.waitForResponse((response) => response.url().includes(farId));
    await page.getByRole("option", { name: "Bob" }).click();
    await asked;
    await find(page, "to the far").getByText("Loading…").waitFor();
    await page.waitForTimeout(200);
    assert.equal(await page.getByText("Deleted message").count(), 0);
    proxy.fate = () => "pass";
    await say(server, bob, id, "one more");
    await find(page, "to the far").getByText("far above").waitFor();
    assert.deepEqual(guard.complaints, []);
  },

  "a conversation waits until the contact has added the user": async (world) => {
    const { server } = world;
    const ann = await world.arrive();
    const bob = await world.arrive();
    await makeContact(server, ann.user, await toUsername(server, bob.user), "Bob");
    await ann.page.getByRole("option", { name: "Bob" }).click();
    await ann.page.getByText("Waiting until Bob adds you").waitFor();
    await write(ann.page, "Are you there?");
    await find(ann.page, "Are you there?").waitFor();
    assert.equal(await bob.page.getByRole("option").count(), 0);
    await makeContact(server, bob.user, await toUsername(server, ann.user), "Ann");
    const row = bob.page.getByRole("option", { name: "Ann" });
    await row.filter({ hasText: /Are you there\?.*1 unread/ }).waitFor();
    await row.click();
    await find(bob.page, "Are you there?").waitFor();
    await write(bob.page, "Now I am");
    await find(ann.page, "Now I am").waitFor();
    await ann.page.getByText("Waiting until Bob adds you").waitFor({ state: "detached" });
    assert.deepEqual([...ann.guard.complaints, ...bob.guard.complaints], []);
  },
});
