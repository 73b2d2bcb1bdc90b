// Previews of pictures: on cards, in messages and in the viewer, and the original where needed.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Locator, Page } from "playwright-core";
import { previewFolder, startOn, type TestApp, type TestUser, testConfig } from "../support/app.ts";
import { noChromium, openBrowser } from "../support/engines/chromium.ts";
import { eventually } from "../support/files-on-disk.ts";
import { dropFiles, openFiles, openPage, signIn } from "./browser.ts";
import { opener, openNotes, send } from "./in-files.ts";
import { paint } from "./pictures.ts";
import { gate, type ProxyServer, startProxy } from "./proxy.ts";

/** Red on the left, blue on the right. */
const LARGE = paint(2000, 1500, (x) => [255 * (1 - x), 0, 255 * x]);
const SMALL = paint(200, 150, () => [31, 111, 95]);
/** The request line for the details of files, which events lack. */
const DETAILS = /^GET \/v1\/messages\?\S*include=/;

interface Image {
  width: number;
  height: number;
  placeholder: string | null;
  previews: { width: number; url: string }[];
}

interface Scene {
  server: TestApp;
  user: TestUser;
  proxy: ProxyServer;
  page: Page;
  complaints: string[];
  /** Request lines for previews of the large picture, the smallest first, and for its original. */
  previews: string[];
  original: string;
  /** The lines of all requests for pictures. */
  asked: string[];
}

/** Starts a server that makes previews, with a user who has not opened their two pictures yet. */
async function arrive(t: TestContext, deviceScaleFactor = 1): Promise<Scene> {
  const config = await testConfig(t);
  const previews = { folder: previewFolder(config), maxBytes: 10_000_000 };
  const server = await startOn(t, { ...config, previews });
  const user = await server.user();
  await send(server, user, [
    ["small.png", SMALL],
    ["large.png", LARGE],
  ]);
  const url = `${server.url}/v1/attachments?include=image`;
  const read = async () => {
    const { data } = (await (await fetch(url, { headers: user.headers })).json()) as {
      data: { file_url: string; image: Image }[];
    };
    return data;
  };
  // The server makes previews in the background.
  assert.ok(await eventually(async () => (await read()).every(({ image }) => image.placeholder !== null)));
  const [large, small] = await read();
  assert.deepEqual(small!.image.previews, []);
  assert.deepEqual([large!.image.width, large!.image.height], [2000, 1500]);
  const proxy = await startProxy(t, server);
  const { page, guard } = await openPage(await openBrowser(t), proxy.url, { deviceScaleFactor });
  const scene: Scene = {
    ...{ server, user, proxy, page, complaints: guard.complaints },
    previews: large!.image.previews.map(({ url }) => toLine(url)),
    original: toLine(large!.file_url),
    asked: [],
  };
  page.on("request", (request) => {
    const line = toLine(request.url());
    if ([...scene.previews, scene.original].includes(line)) scene.asked.push(line);
  });
  await signIn(page, proxy.url, user.token);
  return scene;
}

/** Returns the request line of a file, without its signature, which changes. */
function toLine(address: string): string {
  const { pathname, searchParams } = new URL(address, "http://here");
  return `GET ${pathname} ${searchParams.get("width") ?? "whole"}`;
}

/** The same for a line that a proxy sees. */
const toShort = (line: string) => toLine(line.split(" ")[1]!);

/** Waits until a picture is drawn. Returns the width of its source. */
async function drawnWidth(image: Locator): Promise<number> {
  await image.waitFor();
  return image.evaluate(async (each: HTMLImageElement) => {
    each.loading = "eager";
    while (!each.complete || each.naturalWidth === 0) await new Promise(requestAnimationFrame);
    await each.decode();
    const { width } = await createImageBitmap(each);
    return width;
  });
}

const picture = (page: Page, name: string) => opener(page, name).locator("img");

for (const [density, preview] of [
  [1, 0],
  [2, 1],
] as const) {
  test(`a card uses the smallest sharp preview at pixel density ${density}`, {
    skip: noChromium,
  }, async (t) => {
    const { page, previews, asked, complaints } = await arrive(t, density);
    await openNotes(page);
    const large = picture(page, "large.png");
    await drawnWidth(large);
    await drawnWidth(picture(page, "small.png"));
    assert.deepEqual(asked, [previews[preview]]);
    // Its shape is known before it loads.
    assert.deepEqual(
      await large.evaluate((image) => [image.getAttribute("width"), image.getAttribute("height")]),
      ["2000", "1500"],
    );
    await page.locator("canvas").first().waitFor({ state: "detached" });
    assert.deepEqual(complaints, []);
  });
}

test("the placeholder shows until the preview is loaded", { skip: noChromium }, async (t) => {
  const { proxy, page, previews, complaints } = await arrive(t);
  const late = gate();
  proxy.fate = (line) => (previews.includes(toShort(line)) ? late.passed : "pass");
  await openNotes(page);
  const canvas = opener(page, "large.png").locator("canvas");
  await canvas.waitFor();
  const [left, right] = await canvas.evaluate((each: HTMLCanvasElement) => {
    const pixel = (x: number) => [...each.getContext("2d")!.getImageData(x, each.height / 2, 1, 1).data];
    return [pixel(1), pixel(each.width - 2)];
  });
  assert.ok(left![0]! > left![2]! && right![2]! > right![0]!, `${left} ${right}`);
  late.open();
  await canvas.waitFor({ state: "detached" });
  assert.deepEqual(complaints, []);
});

test("without a preview, the original is tried once", {
  skip: noChromium,
}, async (t) => {
  const { proxy, page, previews, original, asked, complaints } = await arrive(t);
  proxy.fate = (line) => (previews.includes(toShort(line)) ? "break" : "pass");
  await page.getByRole("link", { name: "Notes to self" }).click();
  const image = page.locator(".message", { has: opener(page, "large.png") }).locator("img");
  await image.and(page.locator("[src]")).waitFor();
  assert.equal(await drawnWidth(image), 2000);
  assert.deepEqual(asked, [previews[0], original]);
  await opener(page, "large.png").click();
  await page.locator(".stage-image img[src*='large.png']:not([src*='width='])").waitFor();
  assert.deepEqual(asked.slice(2, 3), [previews[2]]);
  assert.deepEqual(complaints, []);
});

/** Records later requests: the widths of a picture, and reads of details. */
function watchLive(page: Page, name: string): { widths: string[]; reads: string[] } {
  const seen = { widths: [] as string[], reads: [] as string[] };
  page.on("request", (request) => {
    const [, path, width] = toLine(request.url()).split(" ");
    if (path!.endsWith(`/${name}`)) seen.widths.push(width!);
    const { pathname, search } = new URL(request.url());
    if (DETAILS.test(`${request.method()} ${pathname}${search}`)) seen.reads.push(search);
  });
  return seen;
}

test("a picture that arrives reserves its place and shows its preview", {
  skip: noChromium,
}, async (t) => {
  const { server, user, proxy, page, complaints } = await arrive(t);
  const late = gate();
  proxy.fate = (line) => (DETAILS.test(line) ? late.passed : "pass");
  await page.getByRole("link", { name: "Notes to self" }).click();
  await drawnWidth(picture(page, "large.png"));
  const { widths, reads } = watchLive(page, "live.png");
  await send(server, user, [["live.png", LARGE]]);
  assert.ok(await eventually(async () => reads.length > 0));
  // A change arrives before the answer.
  const id = await page.locator(".message", { has: opener(page, "live.png") }).getAttribute("id");
  await fetch(`${server.url}/v1/messages/${id}`, {
    method: "PUT",
    headers: { ...user.headers, "content-type": "application/json" },
    body: JSON.stringify({ text: "what it shows" }),
  });
  await page.getByText("what it shows", { exact: true }).waitFor();
  const place = await opener(page, "live.png").boundingBox();
  await page.waitForTimeout(300);
  assert.deepEqual(widths, []);
  late.open();
  await drawnWidth(picture(page, "live.png"));
  assert.deepEqual(widths, ["320"]);
  assert.deepEqual(await opener(page, "live.png").boundingBox(), place, "it has the same place");
  assert.equal(reads.length, 1);
  const own = watchLive(page, "own.png");
  await dropFiles(page, [{ name: "own.png", type: "image/png", base64: LARGE.toString("base64") }]);
  await page.getByRole("textbox", { name: "Message to your notes" }).press("Enter");
  await drawnWidth(picture(page, "own.png"));
  assert.deepEqual(own.widths, ["320"]);
  await openFiles(page);
  await drawnWidth(picture(page, "live.png"));
  const later = watchLive(page, "later.png");
  await send(server, user, [["later.png", LARGE]]);
  await drawnWidth(picture(page, "later.png"));
  assert.deepEqual(later.widths, ["320"]);
  assert.deepEqual(complaints, []);
});

test("a picture that arrives shows the original if its details cannot be read", {
  skip: noChromium,
}, async (t) => {
  const { server, user, proxy, page, complaints } = await arrive(t);
  proxy.fate = (line) => (DETAILS.test(line) ? "break" : "pass");
  await page.getByRole("link", { name: "Notes to self" }).click();
  await drawnWidth(picture(page, "large.png"));
  const { widths, reads } = watchLive(page, "live.png");
  await send(server, user, [["live.png", LARGE]]);
  assert.equal(await drawnWidth(picture(page, "live.png")), 2000);
  assert.deepEqual(widths, ["whole"]);
  assert.equal(reads.length, 1);
  assert.deepEqual(complaints, []);
});

test("the viewer shows a preview until the user zooms", { skip: noChromium }, async (t) => {
  const { page, original, asked, complaints } = await arrive(t);
  await openNotes(page);
  await drawnWidth(picture(page, "large.png"));
  const enlarged = page.getByRole("dialog").getByRole("img", { name: "large.png" });
  await opener(page, "large.png").click();
  assert.equal(await drawnWidth(enlarged), 1280);
  assert.ok(!asked.includes(original), "the original is not loaded yet");
  const before = await enlarged.boundingBox();
  await page.keyboard.press("+");
  await page.locator(".stage-image img:not([src*='width='])").waitFor();
  assert.equal(await drawnWidth(enlarged), 2000);
  await page.keyboard.press("0");
  await page.locator(".stage-image:not(.zoomed)").waitFor();
  assert.deepEqual(await enlarged.boundingBox(), before, "it has the same place");
  assert.equal(await drawnWidth(enlarged), 2000);
  assert.deepEqual(
    asked.filter((line) => line === original),
    [original],
  );
  assert.deepEqual(complaints, []);
});
