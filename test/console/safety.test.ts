import assert from "node:assert/strict";
import { test } from "node:test";
import { startApp, startOn, testConfig, upload } from "../support/app.ts";
import { noChromium, openWholeBrowser } from "../support/engines/chromium.ts";
import { noS3, testBucket } from "../support/engines/s3.ts";
import { dropFiles, openFiles, openPage, signIn } from "./browser.ts";
import { PNG } from "./pictures.ts";
import { startProxy } from "./proxy.ts";

/** A script that would be noticed: it requests a special path and opens a dialog. */
const CANARY = "new Image().src='/canary';alert('canary')";
const HTML = `<!doctype html><title>x</title><script>${CANARY}</script><img src=x onerror="${CANARY}"><p>harmless</p>`;
const SVG = `<svg xmlns="http://www.w3.org/2000/svg" onload="${CANARY}"><script>${CANARY}</script></svg>`;
const XML = `<?xml version="1.0"?><x xmlns:h="http://www.w3.org/1999/xhtml"><h:script>${CANARY}</h:script></x>`;

/** Each with the type that a browser may be given or may detect. */
const FILES: [name: string, type: string, content: string][] = [
  ["page.html", "text/html", HTML],
  ["page.txt", "text/plain", HTML],
  ["page.pdf", "application/pdf", HTML],
  ["page.png", "image/png", HTML],
  ["page.mp4", "video/mp4", HTML],
  ["page.json", "application/json", HTML],
  ["page.xhtml", "application/xhtml+xml", HTML],
  ["feed.xml", "application/xml", XML],
  ["feed.rss", "text/xml", XML],
  ["feed.mp4", "video/mp4", XML],
  ["drawing.svg", "image/svg+xml", SVG],
  ["drawing.png", "image/png", SVG],
  ['<img src=x onerror="alert(1)">.html', "text/html", HTML],
];

test("uploaded content never runs in the console, whatever its type or name", {
  skip: noChromium,
}, async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const { page, guard } = await openPage(await openWholeBrowser(t), server.url);
  const seen: string[] = [];
  page.context().on("dialog", (dialog) => {
    seen.push(dialog.message());
    void dialog.dismiss();
  });
  page.context().on("request", (request) => request.url().includes("canary") && seen.push(request.url()));
  await signIn(page, server.url, user.token);
  await page.getByRole("link", { name: "Notes to self" }).click();
  await openFiles(page);
  await dropFiles(
    page,
    FILES.map(([name, type, content]) => ({ name, type, base64: btoa(content) })),
  );
  await page.getByText("All files uploaded").waitFor();
  for (const [name] of FILES) {
    await page.getByRole("button", { name: `Open ${name}`, exact: true }).click();
    await page.getByRole("dialog").locator("pre, iframe, .stage-none, video, img").first().waitFor();
    // Long enough to notice anything that runs.
    await page.waitForTimeout(200);
    assert.equal(await page.locator("iframe:not([src^='blob:'])").count(), 0);
    // Not by Escape: the browser's PDF viewer takes the focus, and so the keys, to report a broken file.
    await page.getByRole("button", { name: "Close" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
  }
  assert.deepEqual(guard.complaints, []);
  const listed = await fetch(`${server.url}/v1/attachments?limit=100`, { headers: user.headers });
  const { data } = (await listed.json()) as { data: { file_url: string }[] };
  assert.equal(data.length, FILES.length);
  for (const { file_url } of data) {
    const opened = await page.context().newPage();
    // A download ends the navigation.
    await opened.goto(file_url).catch(() => {});
    await opened.waitForTimeout(100);
    await opened.close();
  }
  assert.deepEqual(seen, []);
});

test("the policy stops an injected script, and these tests would notice it", {
  skip: noChromium,
}, async (t) => {
  const server = await startApp(t);
  const { page, guard } = await openPage(await openWholeBrowser(t), server.url);
  await page.goto(`${server.url}/`);
  const violation = (directive: string) =>
    page.waitForEvent("console", (message) => message.text().includes(`policy: ${directive}`));
  const violations = Promise.all([violation("img-src"), violation("style-src")]);
  await page.evaluate(() => {
    const image = document.createElement("img");
    image.src = "https://elsewhere.invalid/a.png";
    document.body.append(image);
    const script = document.createElement("style");
    script.textContent = "body { color: red }";
    document.body.append(script);
  });
  await violations;
  assert.ok(guard.complaints.some((each) => each.includes("policy: img-src")));
  assert.ok(guard.complaints.some((each) => each.includes("policy: style-src")));
  const html = await page.evaluate(() => {
    try {
      document.body.innerHTML = "<p>injected</p>";
      return "set";
    } catch (error) {
      return String(error);
    }
  });
  assert.match(html, /TrustedHTML/);
});

test("with redirects to the file store, the console still requests only its own server", {
  skip: noChromium || noS3,
}, async (t) => {
  const config = { ...(await testConfig(t)), store: testBucket(t), redirectFiles: true };
  const server = await startOn(t, config);
  const user = await server.user();
  await upload(server.url, user, new File([PNG], "dot.png"));
  const made = await upload(server.url, user, new File(["from the store"], "a.txt"));
  const { file_url } = (await made.json()) as { file_url: string };
  const { page, guard } = await openPage(await openWholeBrowser(t), server.url);
  await signIn(page, server.url, user.token);
  await page.getByRole("link", { name: "Notes to self" }).click();
  await openFiles(page);
  await page.getByRole("button", { name: "Open a.txt" }).click();
  await page.getByText("from the store").waitFor();
  await page.getByRole("button", { name: "Next" }).click();
  const image = page.getByRole("dialog").getByRole("img", { name: "dot.png" });
  await image.evaluate((img: HTMLImageElement) => img.decode());
  assert.deepEqual(guard.complaints, []);
  assert.equal((await fetch(file_url, { redirect: "manual" })).status, 302);
});

test("below a proxy's path, everything loads from the console's own origin", {
  skip: noChromium,
}, async (t) => {
  const server = await startOn(t, {
    ...(await testConfig(t)),
    publicUrl: "https://files.invalid/files/parley",
  });
  const user = await server.user();
  const { url } = await startProxy(t, server, "/parley");
  const { page, guard } = await openPage(await openWholeBrowser(t), url);
  await signIn(page, url, user.token);
  await page.getByRole("link", { name: "Notes to self" }).click();
  await openFiles(page);
  await page.getByRole("heading", { name: "Drop files here" }).waitFor();
  await dropFiles(page, [{ name: "dot.png", type: "image/png", base64: PNG.toString("base64") }]);
  await page.getByRole("button", { name: "Open dot.png" }).click();
  const image = page.getByRole("dialog").getByRole("img", { name: "dot.png" });
  await image.evaluate((img: HTMLImageElement) => img.decode());
  await page.getByRole("button", { name: "Copy link" }).click();
  await page.getByText("Link copied").waitFor();
  const link = await page.evaluate(() => navigator.clipboard.readText());
  assert.ok(link.startsWith("https://files.invalid/files/parley/files/"), link);
  assert.deepEqual(guard.complaints, []);
});
