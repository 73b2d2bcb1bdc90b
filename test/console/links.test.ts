// The links in the messages of a conversation, in its Files tab.
import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { assertAccessible, assertNoSidewaysScroll, focused, openFiles } from "./browser.ts";
import { send } from "./in-files.ts";
import { testScenes } from "./scenes.ts";
import { find, meet, say } from "./talk.ts";

const MANY = 230;
/** The height of a link, in pixels. */
const ROW = 76;

const links = (page: Page) => page.locator(".link-row a");

/** Opens the links of the open conversation. */
async function openLinks(page: Page): Promise<void> {
  await openFiles(page);
  await page.getByText("Links", { exact: true }).click();
}

/** Waits until these links are shown, from top to bottom. */
async function assertLinks(page: Page, hrefs: readonly string[]): Promise<void> {
  await page.waitForFunction(
    (wanted) =>
      [...document.querySelectorAll(".link-row a")].map((a) => a.getAttribute("href")).join() === wanted,
    hrefs.join(),
  );
}

testScenes("the links of a conversation", {
  "are listed newest first, safe ones only, with their sender, and lead to their message": async (world) => {
    const { ann, bob, id } = await meet(world);
    const { server } = world;
    const { page } = ann;
    await say(server, bob.user, id, "Look: *https://example.org/first* and https://example.org/first.");
    for (let at = 0; at < 40; at++) await say(server, bob.user, id, `between ${at}`);
    await say(
      server,
      ann.user,
      id,
      "HTTP is a protocol, httpd a server, javascript:alert(1) and data:text/html,x",
    );
    await say(server, ann.user, id, "`https://example.org/code` mailto:ada@example.org ada@example.org");
    await say(server, ann.user, id, "http://example.org/last\nhttps://раураl.com/pay");
    await openLinks(page);
    await assertLinks(page, [
      "http://example.org/last",
      "https://xn--l-7sba6dbr.com/pay",
      "https://example.org/first",
    ]);
    const details = await links(page).evaluateAll((all) =>
      all.map((link) => {
        const { target, rel } = link as HTMLAnchorElement;
        return `${target} ${rel} ${getComputedStyle(link, "::before").content}`;
      }),
    );
    assert.ok(details.every((each) => each.startsWith("_blank noopener noreferrer nofollow")));
    assert.match(details[1]!, /xn--l-7sba6dbr\.com/);
    const row = page.locator(".link-row").filter({ hasText: "first" });
    await row.getByText("Bob", { exact: true }).waitFor();
    assert.equal(await page.locator(".link-row").getByText("You", { exact: true }).count(), 2);
    await row.getByRole("button").click();
    await page.locator(".message:focus").filter({ hasText: "Look:" }).waitFor();
    assert.deepEqual([...ann.guard.complaints, ...bob.guard.complaints], []);
  },

  "follow what is sent, edited and deleted, and are searched": async (world) => {
    const { ann, bob, id } = await meet(world);
    const { server } = world;
    const { page } = ann;
    await openLinks(page);
    await page.getByText("No links yet.").waitFor();
    const { id: first } = await say(server, bob.user, id, "the recipe https://example.org/soup");
    await assertLinks(page, ["https://example.org/soup"]);
    const { id: second } = await say(server, bob.user, id, "the map https://example.org/way");
    await assertLinks(page, ["https://example.org/way", "https://example.org/soup"]);
    const change = (method: string, message: string, body?: object) =>
      fetch(`${server.url}/v1/messages/${message}`, {
        method,
        headers: { ...bob.user.headers, "content-type": "application/json" },
        ...(body && { body: JSON.stringify(body) }),
      });
    await change("PUT", first, { text: "the recipe https://example.org/stew" });
    await assertLinks(page, ["https://example.org/way", "https://example.org/stew"]);
    await page.getByRole("button", { name: "Search files" }).click();
    const field = page.getByRole("searchbox", { name: "Search links" });
    await field.fill("reci");
    await assertLinks(page, ["https://example.org/stew"]);
    await field.fill("car");
    await page.getByText("Nothing matches “car”.").waitFor();
    await page.keyboard.press("Escape");
    await assertLinks(page, ["https://example.org/way", "https://example.org/stew"]);
    await change("DELETE", second);
    await assertLinks(page, ["https://example.org/stew"]);
    assert.deepEqual(ann.guard.complaints, []);
  },

  "load page by page while the list scrolls, and only those in view are rendered": async (world) => {
    const { ann, bob, id } = await meet(world);
    const { server } = world;
    const { page } = ann;
    for (let at = 0; at < MANY; at++) {
      await say(server, bob.user, id, `https://example.org/${at}`);
      // More than a page in which no message has a link.
      if (at === 50) for (let i = 0; i < 120; i++) await say(server, bob.user, id, `the http of ${i}`);
    }
    let pages = 0;
    page.on("request", (request) => {
      if (request.url().includes("/v1/messages?q=http")) pages++;
    });
    await openLinks(page);
    await links(page).first().waitFor();
    assert.ok(pages <= 2, `${pages} pages before scrolling`);
    const list = page.locator(".links");
    for (let at = MANY - 1; at >= 0; at -= 5) {
      await list.evaluate((box, top) => box.scrollTo(0, top), (MANY - 1 - at) * ROW);
      await page.locator(`.link-row a[href='https://example.org/${at}']`).waitFor();
      assert.ok((await links(page).count()) < 60);
    }
    await list.evaluate((box) => box.scrollTo(0, box.scrollHeight));
    await page.locator(`.link-row[aria-setsize='${MANY}'] a[href='https://example.org/0']`).waitFor();
    assert.deepEqual(ann.guard.complaints, []);
  },

  "are chosen and followed by keyboard, in each width, also without files": async (world) => {
    const { ann, bob, id } = await meet(world);
    const { server } = world;
    const { page } = ann;
    await say(server, bob.user, id, `https://example.org/${"long/".repeat(60)}`);
    await say(server, bob.user, id, "https://example.org/short");
    await openFiles(page);
    await page.getByRole("radio", { name: "All", exact: true }).focus();
    await page.keyboard.press("ArrowLeft");
    await links(page).nth(1).waitFor();
    assert.equal(await focused(page).getAttribute("name"), "file-type");
    await page.keyboard.press("Tab");
    assert.equal(await focused(page).getAttribute("href"), "https://example.org/short");
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 800 });
      await assertAccessible(page, `links, ${width}`);
      await assertNoSidewaysScroll(page, `links, ${width}`);
    }
    await send(server, bob.user, [["a.txt", "a"]], { conversation_id: id });
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await find(page, "short").and(page.locator(":focus")).waitFor();
    assert.deepEqual(ann.guard.complaints, []);
  },
});
