// The web components in a browser: two users on two pages, with a strict policy.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { assertAccessible, assertNoSidewaysScroll } from "../console/browser.ts";
import { noChromium } from "../support/engines/chromium.ts";
import { eventually } from "../support/files-on-disk.ts";
import { say, trio } from "../support/people.ts";
import { plainPictures } from "../support/pictures.ts";
import { message, openWorld, write } from "./pages.ts";

const LABELS = join(import.meta.dirname, "../../packages/parley-embed/src/labels");
const THEMES = ["", "ocean", "sand", "rose", "graphite"];

test("two users on two pages: messages, typing, read marks, reactions, edits, replies and deletions", {
  skip: noChromium,
}, async (t) => {
  const { ann, bob, open, toElement, complaints } = await openWorld(t);
  const asBob = await open(toElement("chat", bob, `user="${ann.name}"`));
  await asBob.getByText("No messages yet").waitFor();
  const asAnn = await open(toElement("inbox", ann));
  await write(asBob, "Is anybody there?");
  await asAnn.getByRole("option", { name: bob.name }).getByText("1 unread message").waitFor();
  await asAnn.getByRole("option", { name: bob.name }).click();
  await message(asAnn, "Is anybody there?").waitFor();

  // The field has the focus.
  await asAnn.keyboard.type("Hello Bob, see https://parley.example/docs.");
  await asBob.getByText(`${ann.name} is typing…`).waitFor();
  await asAnn.keyboard.press("Shift+Enter");
  await asAnn.keyboard.type("<b>Two</b> lines");
  await asAnn.keyboard.press("Enter");
  await message(asBob, "<b>Two</b> lines").waitFor();
  const link = asBob.getByRole("link", { name: "https://parley.example/docs", exact: true });
  assert.equal(await link.getAttribute("rel"), "noopener noreferrer nofollow");
  await message(asAnn, "Hello Bob").locator(".tick.read").waitFor();

  // By the keyboard alone: to the messages, to the buttons, to an emoji.
  await message(asBob, "Hello Bob").focus();
  for (let at = 0; at < 2; at++) await asBob.keyboard.press("Tab");
  await asBob.locator(":focus[aria-label=React]").waitFor();
  await asBob.keyboard.press("Enter");
  await asBob.locator("button:focus", { hasText: "👍" }).waitFor();
  await asBob.keyboard.press("Enter");
  const reaction = message(asAnn, "Hello Bob").getByRole("button", { name: "👍 1 reaction" });
  await reaction.waitFor();
  await reaction.click();
  await message(asBob, "Hello Bob").getByRole("button", { name: "👍 2 reactions", pressed: true }).click();
  await message(asAnn, "Hello Bob").getByRole("button", { name: "👍 1 reaction", pressed: true }).waitFor();

  await message(asBob, "Hello Bob").hover();
  await asBob.getByRole("button", { name: "Reply" }).click();
  await write(asBob, "An answer");
  await message(asAnn, "An answer").locator(".quote", { hasText: "Hello Bob" }).waitFor();

  await message(asBob, "An answer").hover();
  await asBob.getByRole("button", { name: "Edit" }).click();
  await write(asBob, "A better answer");
  await message(asAnn, "A better answer").getByText("Edited").waitFor();

  await message(asBob, "A better answer").hover();
  await asBob.getByRole("button", { name: "Delete" }).click();
  await asBob.getByRole("button", { name: "Delete", exact: true }).click();
  await message(asAnn, "A better answer").waitFor({ state: "detached" });
  await asBob.locator("textarea:focus").waitFor();
  assert.deepEqual(complaints, []);
});

test("files show their progress, and pictures are shown before and after they are sent", {
  skip: noChromium,
}, async (t) => {
  const { app, ann, bob, conversation, open, toElement, complaints } = await openWorld(t);
  const asAnn = await open(toElement("chat", ann, `conversation="${conversation}"`));
  const asBob = await open(toElement("chat", bob, `conversation="${conversation}"`));
  await asAnn.getByRole("textbox").waitFor();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  await asAnn.route(`${app.url}/v1/messages`, async (route) => {
    await released;
    await route.continue();
  });
  const { bytes: buffer } = (await plainPictures()).find(({ name }) => name.endsWith(".png"))!;
  await asAnn.locator("input[type=file]").setInputFiles([
    { name: "view.png", mimeType: "image/png", buffer },
    { name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("notes") },
  ]);
  await asAnn.locator(".chosen canvas").waitFor();
  await asAnn.getByRole("button", { name: "Send" }).click();
  await asAnn.getByRole("progressbar", { name: "Uploading view.png" }).waitFor();
  release();
  await asAnn.getByRole("progressbar").first().waitFor({ state: "detached" });
  for (const page of [asAnn, asBob]) {
    await page.getByRole("link", { name: "notes.txt" }).waitFor();
    const picture = page.getByRole("img", { name: "view.png" });
    await picture.waitFor();
    assert.ok(await eventually(() => picture.evaluate((image: HTMLImageElement) => image.naturalWidth > 0)));
  }
  assert.deepEqual(complaints, []);
});

test("a message waits while the server is away, also after a reload, and is sent once", {
  skip: noChromium,
}, async (t) => {
  const { app, ann, bob, conversation, open, toElement, complaints } = await openWorld(t);
  const asAnn = await open(toElement("inbox", ann, `conversation="${conversation}"`));
  await asAnn.getByRole("textbox").waitFor();
  await asAnn.route(`${app.url}/v1/**`, (route) => route.abort());
  await write(asAnn, "Later");
  await message(asAnn, "Later").locator(".tick.waiting").waitFor();
  await asAnn.reload();
  await message(asAnn, "Later").locator(".tick.waiting").waitFor();
  await asAnn.unroute(`${app.url}/v1/**`);
  await asAnn.evaluate(() => dispatchEvent(new Event("online")));
  await message(asAnn, "Later").locator(".tick.sent").waitFor();
  const asBob = await open(toElement("chat", bob, `conversation="${conversation}"`));
  await message(asBob, "Later").waitFor();
  assert.equal(await message(asBob, "Later").count(), 1);
  assert.deepEqual(complaints, []);
});

test("a refused message says why, and can be sent again", { skip: noChromium }, async (t) => {
  const { app, ann, conversation, open, toElement, complaints } = await openWorld(t);
  const page = await open(toElement("chat", ann, `conversation="${conversation}"`));
  await page.getByRole("textbox").waitFor();
  const refusal = { type: "about:blank", title: "Refused", code: "not_owner", detail: "Not today." };
  const headers = { "access-control-allow-origin": "*" };
  await page.route(`${app.url}/v1/messages`, (route) =>
    route.fulfill({ status: 403, contentType: "application/problem+json", headers, json: refusal }),
  );
  await write(page, "Refused");
  await page.getByRole("alert").getByText("Not today.").waitFor();
  await page.unroute(`${app.url}/v1/messages`);
  await page.getByRole("button", { name: "Try again" }).click();
  await message(page, "Refused").locator(".tick.sent").waitFor();
  assert.deepEqual(complaints, []);
});

test("older messages load above without moving those in view", { skip: noChromium }, async (t) => {
  const { app, ann, bob, conversation, open, toElement, complaints } = await openWorld(t);
  for (let at = 1; at <= 70; at++) await say(app, bob, conversation, `Number ${at}.`);
  const page = await open(toElement("chat", ann, `conversation="${conversation}"`));
  const toTop = (text: string) => message(page, text).evaluate((row) => row.getBoundingClientRect().top);
  await message(page, "Number 70.").waitFor();
  await page.getByRole("button", { name: "newest" }).waitFor({ state: "detached" });
  const before = await page.locator(".message").count();
  assert.ok(before < 70);
  // Read in the page: the next frame may have them.
  const moved = await page.locator(".messages").evaluate(async (box, before) => {
    const row = box.querySelectorAll(".message")[3]!;
    let top = 0;
    while (box.querySelectorAll(".message").length === before) {
      // The list may still follow its end.
      if (box.scrollTop > 200) box.scrollTo(0, 200);
      top = row.getBoundingClientRect().top;
      await new Promise(requestAnimationFrame);
    }
    return row.getBoundingClientRect().top - top;
  }, before);
  // The name of the sender above the oldest goes.
  assert.ok(Math.abs(moved) < 30, `${moved}`);
  await page.getByRole("button", { name: "newest" }).click();
  assert.ok(await eventually(async () => (await toTop("Number 70.")) < 720));
  assert.deepEqual(complaints, []);
});

test("a refused page of older messages is not requested again and again", { skip: noChromium }, async (t) => {
  const { app, ann, bob, conversation, open, toElement, complaints } = await openWorld(t);
  for (let at = 1; at <= 70; at++) await say(app, bob, conversation, `Number ${at}.`);
  const page = await open(toElement("chat", ann, `conversation="${conversation}"`));
  await message(page, "Number 70.").waitFor();
  let refused = 0;
  const headers = { "access-control-allow-origin": "*" };
  const json = { type: "about:blank", title: "Refused", code: "not_owner", detail: "Not today." };
  await page.route(/starting_after/, (route) => {
    refused++;
    return route.fulfill({ status: 403, contentType: "application/problem+json", headers, json });
  });
  const toStart = (top: number) =>
    page.locator(".messages").evaluate((box, top) => box.scrollTo(0, top), top);
  const isRefused = async () => {
    // The list may still follow its end.
    if (refused === 0) await toStart(100);
    return refused > 0;
  };
  assert.ok(await eventually(isRefused));
  await say(app, bob, conversation, "Later");
  await message(page, "Later").waitFor();
  assert.equal(refused, 1);
  await page.unroute(/starting_after/);
  await toStart(50);
  await message(page, "Number 1.").waitFor();
  assert.deepEqual(complaints, []);
});

test("an edit leaves the draft as it is", { skip: noChromium }, async (t) => {
  const { ann, conversation, open, toElement, complaints } = await openWorld(t);
  const page = await open(toElement("chat", ann, `conversation="${conversation}"`));
  const field = page.getByRole("textbox");
  await write(page, "First");
  await field.fill("A draft");
  await message(page, "First").locator(".tick.sent").waitFor();
  for (const key of ["Escape", "Enter"]) {
    await message(page, "First").hover();
    await page.getByRole("button", { name: "Edit" }).click();
    await page.locator(".target").waitFor();
    assert.equal(await field.inputValue(), "First");
    await field.press(key);
    await page.locator(".target").waitFor({ state: "detached" });
    assert.equal(await field.inputValue(), "A draft");
  }
  assert.deepEqual(complaints, []);
});

test("twelve languages load, and Arabic is right to left", { skip: noChromium }, async (t) => {
  const { app, ann, bob, conversation, open, toElement, complaints } = await openWorld(t);
  await say(app, bob, conversation, "Hello");
  const page = await open(toElement("inbox", ann, `conversation="${conversation}"`));
  const files = readdirSync(LABELS);
  assert.equal(files.length, 12);
  for (const file of files) {
    const labels = JSON.parse(readFileSync(join(LABELS, file), "utf8"));
    await page.locator("parley-inbox").evaluate(
      (element, lang) => {
        element.setAttribute("lang", lang);
      },
      file.slice(0, 2),
    );
    await page.getByRole("navigation", { name: labels.conversations, exact: true }).waitFor();
    await page.getByPlaceholder(labels.message, { exact: true }).waitFor();
    const today = new Intl.RelativeTimeFormat(file.slice(0, 2), { numeric: "auto" }).format(0, "day");
    assert.equal((await page.locator(".day").innerText()).toLowerCase(), today.toLowerCase());
    const [list, chat] = await Promise.all(
      [".inbox", ".chat"].map(async (part) => (await page.locator(part).boundingBox())!.x),
    );
    assert.equal(list! > chat!, file === "ar.json", file);
  }
  await page
    .locator("parley-inbox")
    .evaluate((element) => Object.assign(element, { labels: { message: "Say it" } }));
  await page.getByPlaceholder("Say it", { exact: true }).waitFor();
  assert.deepEqual(complaints, []);
});

test("both schemes of each theme are accessible, wide and narrow", { skip: noChromium }, async (t) => {
  const { app, open, toElement, complaints } = await openWorld(t);
  const { ann, bob, cat, conversation } = await trio(app);
  const first = await say(app, bob, conversation, "Who brings the rope? https://parley.example");
  await say(app, ann, conversation, "I do", { reply_to_id: first });
  await say(app, cat, conversation, "Great");
  const react = (who: typeof ann) =>
    fetch(`${app.url}/v1/messages/${first}/reactions/%F0%9F%91%8D`, { method: "PUT", headers: who.headers });
  assert.ok((await react(ann)).ok && (await react(cat)).ok);
  const page = await open(`<h1>Chat</h1>${toElement("inbox", ann)}`);
  await page.getByRole("option", { name: "Climbing" }).click();
  await message(page, "Great").waitFor();
  for (const theme of THEMES) {
    await page.locator("parley-inbox").evaluate((element, name) => {
      element.setAttribute("class", name);
    }, theme);
    await message(page, "I do").hover();
    await page.getByRole("button", { name: "Delete" }).waitFor();
    await assertAccessible(page, `theme ${theme}`);
  }
  await page.setViewportSize({ width: 390, height: 800 });
  await assertAccessible(page, "narrow");
  await assertNoSidewaysScroll(page, "a conversation");
  await page.getByRole("button", { name: "Back" }).click();
  await page.locator("[role=listbox]:focus").waitFor();
  await assertAccessible(page, "the list");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Home");
  await page.keyboard.press("Enter");
  await message(page, "Great").waitFor();
  assert.deepEqual(complaints, []);
});

test("both elements share one copy and one connection, and an app can show a conversation elsewhere", {
  skip: noChromium,
}, async (t) => {
  const { app, ann, bob, conversation, open, complaints } = await openWorld(t);
  await say(app, bob, conversation, "Hello Ann");
  const sockets: string[] = [];
  const page = await open("");
  page.on("websocket", (socket) => sockets.push(socket.url()));
  await page.evaluate(() => {
    const { open } = IDBFactory.prototype;
    const counted = Object.assign(globalThis, { opened: 0 });
    IDBFactory.prototype.open = function (...values) {
      counted.opened++;
      return open.apply(this, values);
    };
  });
  await page.evaluate(
    ([server, token]) => {
      const [inbox, chat] = ["parley-inbox", "parley-chat"].map((name) => document.createElement(name));
      for (const element of [inbox!, chat!]) Object.assign(element, { server, getToken: async () => token });
      inbox!.addEventListener("parley-open", (event) => {
        event.preventDefault();
        Object.assign(chat!, (event as CustomEvent).detail);
      });
      document.querySelector("main")!.append(inbox!, chat!);
    },
    [app.url, ann.token],
  );
  await page.getByRole("option", { name: bob.name }).click();
  await message(page, "Hello Ann").waitFor();
  assert.equal(await page.locator("parley-chat .message").count(), 1);
  assert.equal(await page.locator("parley-inbox .message").count(), 0);
  assert.equal(sockets.length, 1);
  assert.equal(await page.evaluate("opened"), 1, "both have one copy");

  const code = page.locator("parley-chat").evaluate((element) => {
    const found = new Promise((resolve) => {
      element.addEventListener("parley-error", (event) => resolve((event as CustomEvent).detail.code));
    });
    element.setAttribute("user", "nobody");
    return found;
  });
  assert.equal(await code, "contact_not_found");
  await page
    .locator("parley-inbox")
    .evaluate((element) => (element as unknown as { signOut(): unknown }).signOut());
  await message(page, "Hello Ann").waitFor({ state: "detached" });
  const left = await page.evaluate(async () => {
    const counts = (await indexedDB.databases()).map(
      ({ name }) =>
        new Promise<number>((resolve) => {
          const request = indexedDB.open(name!);
          request.onsuccess = () => {
            const counted = request.result.transaction("entries").objectStore("entries").count();
            counted.onsuccess = () => resolve(counted.result);
          };
        }),
    );
    return Promise.all(counts);
  });
  assert.deepEqual(left, [0]);
  assert.deepEqual(complaints, []);
});
