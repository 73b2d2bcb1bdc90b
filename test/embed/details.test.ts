// Details of the components that a reader notices: pictures, sizes, the focus, buttons and drafts.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import sharp from "sharp";
import { assertAccessible } from "../console/browser.ts";
import { noChromium } from "../support/engines/chromium.ts";
import { eventually } from "../support/files-on-disk.ts";
import { add, say } from "../support/people.ts";
import { message, openWorld, write } from "./pages.ts";

async function assertWhole(page: Page): Promise<void> {
  for (const width of [375, 640, 900, 1280]) {
    await page.setViewportSize({ width, height: 800 });
    const outside = await page.locator(".bubble").evaluateAll((bubbles) =>
      bubbles.flatMap((bubble) => {
        const box = bubble.getBoundingClientRect();
        return [...bubble.querySelectorAll(".picture, img")].flatMap((each) => {
          const { left, right } = each.getBoundingClientRect();
          return left < box.left || right > box.right ? [`${left} to ${right} in ${box.left}`] : [];
        });
      }),
    );
    assert.deepEqual(outside, [], `${width} wide`);
  }
  const fits = await page
    .locator(".picture img")
    .evaluateAll((all) => all.map((each) => getComputedStyle(each).objectFit));
  assert.deepEqual(fits, ["contain", "contain", "contain"]);
}

test("a picture is whole inside its bubble, at each width and in each shape", {
  skip: noChromium,
}, async (t) => {
  const { ann, conversation, open, toElement, complaints } = await openWorld(t);
  const element = toElement("inbox", ann, `conversation="${conversation}"`);
  const page = await open(element);
  await page.getByRole("textbox").waitFor();
  const shapes = { "wide.png": [900, 300], "high.png": [300, 900], "small.png": [20, 20] } as const;
  for (const [name, [width, height]] of Object.entries(shapes)) {
    const image = sharp({ create: { width, height, channels: 3, background: "teal" } });
    const buffer = await image.png().toBuffer();
    await page.locator("input[type=file]").setInputFiles({ name, mimeType: "image/png", buffer });
    await write(page, "A caption of more than one line, because it has so many words in it");
    const picture = page.getByRole("img", { name });
    await picture.waitFor();
    assert.ok(await eventually(() => picture.evaluate((each: HTMLImageElement) => each.naturalWidth > 0)));
  }
  // The size of a picture is known only after its message was read from the server.
  const reader = await open(element);
  await reader.getByRole("img", { name: "small.png" }).waitFor();
  for (const each of [page, reader]) await assertWhole(each);
  assert.deepEqual(complaints, []);
});

test("chosen files show their size and leave the focus in the field, so that Enter sends", {
  skip: noChromium,
}, async (t) => {
  const { ann, conversation, open, toElement, complaints } = await openWorld(t);
  const page = await open(toElement("chat", ann, `conversation="${conversation}"`));
  const choosing = page.waitForEvent("filechooser");
  await page.getByRole("button", { name: "Attach files" }).click();
  const toFile = (name: string, bytes: number) => ({
    name,
    mimeType: "text/plain",
    buffer: Buffer.alloc(bytes, "a"),
  });
  await (await choosing).setFiles([toFile("short.txt", 19), toFile("long.txt", 1900)]);
  await page.locator(".chosen").getByText("19 bytes", { exact: true }).waitFor();
  await page.locator(".chosen").getByText("1.9 kB", { exact: true }).waitFor();
  await page.locator("textarea:focus").waitFor();
  await page.getByRole("button", { name: "Remove long.txt" }).click();
  await page.locator("textarea:focus").waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: "short.txt" }).getByText("19 bytes", { exact: true }).waitFor();
  assert.deepEqual(complaints, []);
});

test("one message at a time has buttons, and an open choice keeps them", { skip: noChromium }, async (t) => {
  const { app, ann, bob, conversation, open, toElement, complaints } = await openWorld(t);
  for (const text of ["First", "Second", "Third"]) await say(app, bob, conversation, text);
  const page = await open(toElement("chat", ann, `conversation="${conversation}"`));
  const tools = page.locator(".tools");
  const assertTools = async (text: string) => {
    await message(page, text).locator(".tools").waitFor();
    assert.equal(await tools.count(), 1);
  };
  await message(page, "Third").focus();
  await assertTools("Third");
  await message(page, "First").hover();
  await assertTools("First");
  // The pointer rests while the keyboard moves on.
  await page.keyboard.press("ArrowUp");
  await assertTools("Second");
  await message(page, "Third").hover();
  await assertTools("Third");
  await message(page, "Third").getByRole("button", { name: "React" }).click();
  await message(page, "First").hover();
  await page.locator(".choice").waitFor();
  await assertTools("Third");
  await page.getByRole("textbox").click();
  await tools.waitFor({ state: "detached" });
  assert.deepEqual(complaints, []);
});

test("the list keeps its place when an unread badge goes", { skip: noChromium }, async (t) => {
  const { app, ann, bob, conversation, open, toElement, complaints } = await openWorld(t);
  await say(app, bob, conversation, "Hello");
  const page = await open(toElement("inbox", ann));
  const row = page.getByRole("option", { name: bob.name });
  await row.getByText("1 unread message").waitFor();
  const { height } = (await row.boundingBox())!;
  await row.click();
  await row.locator(".badge").waitFor({ state: "detached" });
  assert.equal((await row.boundingBox())!.height, height);
  assert.deepEqual(complaints, []);
});

test("unsent text stays with its conversation, also while a message is edited", {
  skip: noChromium,
}, async (t) => {
  const { app, ann, bob, conversation, open, toElement, complaints } = await openWorld(t);
  await say(app, bob, conversation, "Hello");
  const page = await open(toElement("inbox", ann));
  const field = page.getByRole("textbox");
  const openEntry = (name: string) => page.getByRole("option", { name }).click();
  const assertText = async (text: string) =>
    assert.ok(await eventually(async () => (await field.inputValue()) === text), text);
  await openEntry(bob.name);
  await write(page, "Sent");
  await field.fill("Half a thought");
  await openEntry("Notes to self");
  await page.getByRole("heading", { name: "Notes to self" }).waitFor();
  await assertText("");
  await field.fill("A note");
  await openEntry(bob.name);
  await page.getByRole("heading", { name: bob.name }).waitFor();
  await assertText("Half a thought");
  await message(page, "Sent").hover();
  await page.getByRole("button", { name: "Edit" }).click();
  await assertText("Sent");
  await field.press("Escape");
  await assertText("Half a thought");
  await field.press("Enter");
  await message(page, "Half a thought").waitFor();
  await assertText("");
  await openEntry("Notes to self");
  await page.getByRole("heading", { name: "Notes to self" }).waitFor();
  await assertText("A note");
  assert.deepEqual(complaints, []);
});

test("the list has contacts without messages below the conversations, and one begins there by the keyboard", {
  skip: noChromium,
}, async (t) => {
  const { app, ann, bob, open, toElement, complaints } = await openWorld(t);
  for (let at = 0; at < 101; at++) await add(app, ann, `contact-${at}`);
  const page = await open(`<h1>Chat</h1>${toElement("inbox", ann)}`);
  const entries = page.getByRole("option");
  await entries.getByText("contact-100").waitFor();
  assert.match(await entries.first().innerText(), /Notes to self/);
  // The oldest contact is on the second page.
  assert.equal(await entries.getByText(bob.name).count(), 0);
  await page.getByRole("listbox").focus();
  await page.keyboard.press("End");
  await entries.getByText(bob.name).waitFor();
  assert.equal(await entries.count(), 103);
  await assertAccessible(page, "contacts");
  await page.keyboard.press("End");
  await page.keyboard.press("Enter");
  await page.getByText("No messages yet").waitFor();
  await page.keyboard.type("Hello Bob");
  await page.keyboard.press("Enter");
  await entries.first().getByText("Hello Bob").waitFor();
  assert.equal(await entries.count(), 103);
  const asBob = await open(toElement("inbox", bob));
  await asBob.getByRole("option", { name: /Hello Bob.*1 unread message/s }).waitFor();
  assert.deepEqual(complaints, []);
});
