// The console from phone to wide screen: nothing overflows or is covered, and touch targets are large enough.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { startApp, upload } from "../support/app.ts";
import { noChromium, openBrowser } from "../support/engines/chromium.ts";
import {
  assertAccessible,
  assertNoSidewaysScroll,
  findSwitch,
  makeContact,
  openAccount,
  openFiles,
  openPage,
  signIn,
} from "./browser.ts";
import { PNG } from "./pictures.ts";
import { act, find, introduce, say } from "./talk.ts";

const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };

/** Returns the controls smaller than 44 pixels, except links in sentences. */
function listSmall(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const pressed = "button, select, input:not([type=radio]), textarea, a[href], [role=option], label.check";
    const isSmall = (element: Element) => {
      const { width, height } = element.getBoundingClientRect();
      const isShown = element.checkVisibility({ visibilityProperty: true, opacityProperty: true });
      // A control inside its label counts with the size of the label.
      const isPart = element.matches("label input, p a") || element.closest("p")?.contains(element);
      return isShown && !isPart && width > 1 && (width < 43.5 || height < 43.5);
    };
    return [...document.querySelectorAll(pressed)]
      .filter(isSmall)
      .map((element) => `${element.outerHTML.slice(0, 120)} ${element.clientWidth} ${element.clientHeight}`);
  });
}

test("on a phone, targets are large enough and nothing is covered", {
  skip: noChromium,
}, async (t) => {
  const server = await startApp(t);
  const [user, bob] = [await server.user(), await server.user()];
  const id = await introduce(server, user, bob);
  await makeContact(server, user, "ada", "Ada Lovelace");
  await say(server, bob, id, "from Bob");
  await upload(server.url, bob, new File([PNG], "a.png"), { conversation_id: id });
  const { page, guard } = await openPage(await openBrowser(t), server.url, PHONE);
  const look = async (what: string) => {
    await assertNoSidewaysScroll(page, what);
    await assertAccessible(page, what);
    assert.deepEqual(await listSmall(page), [], what);
  };
  await page.goto(`${server.url}/`);
  await page.getByLabel("Access token").waitFor();
  await look("sign-in");
  await signIn(page, server.url, user.token);
  await page.getByRole("option").nth(1).waitFor();
  await look("list");
  await openAccount(page);
  await look("the user's menu");
  const menu = (await page.locator(".menu").boundingBox())!;
  assert.ok(menu.x >= 0 && menu.y >= 0 && menu.x + menu.width <= 390 && menu.y + menu.height <= 844);
  // Nothing covers any of its items.
  for (const item of await page.locator(".menu [role^=menuitem]").all()) await item.click({ trial: true });
  await page.keyboard.press("Escape");
  await page.getByRole("option", { name: "Bob" }).click();
  await find(page, "from Bob").waitFor();
  await look("conversation");
  // Without a mouse, the actions of each message are in a permanent menu.
  await find(page, "from Bob").getByRole("button", { name: "Message actions" }).click();
  await look("the menu of a message");
  await page.getByRole("menuitem", { name: "React" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "👍" }).click();
  await find(page, "from Bob").getByRole("button", { name: /^👍 1/ }).waitFor();
  await look("a reaction");
  await openFiles(page);
  await page.getByRole("button", { name: "Open a.png" }).waitFor();
  await look("files");
  assert.deepEqual(guard.complaints, []);
});

const WIDTHS = [390, 820, 1280, 1920];

test("the console fits from 390 to 1920 pixels", { skip: noChromium }, async (t) => {
  const server = await startApp(t);
  const [user, bob] = [await server.user(), await server.user()];
  const id = await introduce(server, user, bob);
  await say(server, bob, id, "a sentence that is long enough to show how wide a line becomes ".repeat(8));
  const { page, guard } = await openPage(await openBrowser(t), server.url);
  await signIn(page, server.url, user.token);
  await page.getByRole("option", { name: "Bob" }).click();
  await find(page, "a sentence").waitFor();
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 });
    const about = page.getByRole("complementary", { name: "About Bob" });
    if (width >= 1500) await about.waitFor();
    else await about.waitFor({ state: "detached" });
    await assertNoSidewaysScroll(page, `${width}`);
    await assertAccessible(page, `${width}`);
    const { width: line } = (await page.locator(".message-text").boundingBox())!;
    assert.ok(line <= 600, `a line of ${line} pixels in ${width}`);
    const [name, tabs] = await Promise.all(
      [".conversation-title", ".tab-row"].map((place) => page.locator(place).boundingBox()),
    );
    assert.ok(name!.width >= 160, `the name has ${name!.width} pixels in ${width}`);
    const isBeside = name!.x + name!.width <= tabs!.x || name!.y + name!.height <= tabs!.y;
    assert.ok(isBeside, `the tabs cover the name in ${width}`);
    const lines = await page
      .getByRole("group", { name: "Which contacts are listed", includeHidden: true })
      .locator("label")
      .evaluateAll((all) => new Set(all.map((label) => label.getBoundingClientRect().top)).size);
    assert.equal(lines, 1, `the lists in ${width}`);
    await act(page, "a sentence", "Reply");
    await page.keyboard.press("Escape");
  }
  // The details of a wide window can be edited.
  const pin = page.getByRole("complementary").getByRole("checkbox", { name: /^Pinned/ });
  await pin.check();
  await page.getByRole("option", { name: /Bob.*Pinned/ }).waitFor();
  assert.deepEqual(guard.complaints, []);
});

test("a notice covers nothing", { skip: noChromium }, async (t) => {
  const server = await startApp(t);
  const [user, bob] = [await server.user(), await server.user()];
  await introduce(server, user, bob);
  const { page, guard } = await openPage(await openBrowser(t), server.url);
  await signIn(page, server.url, user.token);
  await (await findSwitch(page, "Notify while Parley is open", false)).click();
  const notice = page.locator(".toast").filter({ hasText: "Notifications stay off." });
  await notice.waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("option", { name: "Bob" }).click();
  await page.getByLabel("Message to Bob").waitFor();
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 });
    await page.getByLabel("Message to Bob").click({ trial: true });
    const box = (await notice.boundingBox())!;
    assert.ok(box.width >= 200, `the notice has ${box.width} pixels in ${width}`);
    for (const place of [".conversation", ".contacts"]) {
      const other = await page.locator(place).boundingBox();
      if (!other) continue;
      const isBeside = box.x + box.width <= other.x || other.x + other.width <= box.x;
      const isAbove = box.y + box.height <= other.y || other.y + other.height <= box.y;
      assert.ok(isBeside || isAbove, `${place} is covered in ${width}`);
    }
    await assertAccessible(page, `a notice in ${width}`);
  }
  await notice.getByRole("button", { name: "Dismiss" }).click();
  await notice.waitFor({ state: "detached" });
  assert.deepEqual(guard.complaints, []);
});

test("each user has a stable colour, and all are readable", { skip: noChromium }, async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  for (let at = 0; at < 40; at++) await makeContact(server, user, `friend-${at}`);
  const { page, guard } = await openPage(await openBrowser(t), server.url, {
    viewport: { width: 900, height: 3000 },
  });
  await signIn(page, server.url, user.token);
  await page.getByRole("option").nth(39).waitFor();
  const hues = await page
    .locator(".list-row .avatar")
    .evaluateAll((all) => all.map((each) => (each as HTMLElement).style.getPropertyValue("--hue")));
  assert.ok(new Set(hues).size >= 12, `${new Set(hues).size} hues`);
  await assertAccessible(page, "forty avatars");
  const row = page.getByRole("option", { name: "friend-39" });
  const before = await row.locator(".avatar").getAttribute("style");
  await row.click();
  await page.getByRole("button", { name: "Rename contact friend-39" }).click();
  await page.keyboard.type("Zoe");
  await page.keyboard.press("Enter");
  const renamed = page.getByRole("option", { name: "Zoe" });
  await renamed.waitFor();
  assert.equal(await renamed.locator(".avatar").getAttribute("style"), before);
  assert.equal(await page.locator(".conversation-head .avatar").getAttribute("style"), before);
  assert.deepEqual(guard.complaints, []);
});
