// `parley dev` and its page /hello.
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { assertAccessible, assertNoSidewaysScroll, openPage } from "../console/browser.ts";
import { commandLine, ended } from "../support/command.ts";
import { noChromium, openBrowser } from "../support/engines/chromium.ts";
import { codeBlocks, ROOT } from "../support/packed.ts";
import { receiver } from "../support/receiver.ts";
import { message } from "./pages.ts";

test("parley dev shows two people side by side, and removes its data at the end", {
  skip: noChromium,
}, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "parley-hello-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const temporary = join(folder, "temporary");
  await mkdir(temporary);
  const command = await commandLine(t, { TMPDIR: temporary });
  const dev = command.start("dev");
  t.after(() => dev.kill());
  let said = "";
  dev.stdout!.setEncoding("utf8").on("data", (text) => {
    said += text;
  });
  while (!said.includes("curl")) await once(dev.stdout!, "data");
  assert.match(said, new RegExp(`^Parley runs on ${command.url} .*\\n[^]*  ${command.url}/hello `));
  assert.match(said, /export PARLEY_JWT_SECRET=\S{44}\n/);
  assert.equal((await readdir(temporary)).length, 1);

  // The page has tokens, which no other site may read.
  const asked = await fetch(`${command.url}/hello`, { headers: { origin: "https://evil.example" } });
  assert.deepEqual([asked.status, asked.headers.get("access-control-allow-origin")], [200, null]);
  const rebound = request(`${command.url}/hello`, { headers: { host: "evil.example" } }).end();
  assert.equal((await once(rebound, "response"))[0].statusCode, 404);

  const { page } = await openPage(await openBrowser(t), command.url);
  await page.goto(`${command.url}/hello`);
  // Each writes to the other.
  const toBob = page.getByRole("textbox", { name: "Message to Bob Stone" });
  const toAda = page.getByRole("textbox", { name: "Message to Ada Lovelace" });
  await toBob.fill("Hello Bob");
  await page.keyboard.press("Enter");
  await message(page, "Hello Bob").nth(1).waitFor();
  await toAda.fill("Hello Ada");
  await page.keyboard.press("Enter");
  await message(page, "Hello Ada").nth(1).waitFor();
  const lines = await page.locator("pre").textContent();
  assert.equal(lines!.trim().split("\n").length, 10);
  // The first pages of the documentation and of the repository have the same ones.
  const withoutToken = lines!
    .replace(/(?<=token=")[^"]+/, "TOKEN")
    .replaceAll(command.url, "http://127.0.0.1:8080");
  for (const path of ["docs/README.md", "README.md"])
    assert.equal((await codeBlocks(join(ROOT, path), "html"))[0], withoutToken, path);
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.getByRole("button", { name: "Copy" }).click();
  await page.getByText("Copied.").waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), lines);
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    await assertAccessible(page, `/hello, ${colorScheme}`);
  }
  await page.setViewportSize({ width: 390, height: 800 });
  await assertNoSidewaysScroll(page, "/hello");

  // The copied lines are a page that works, opened from a file.
  const file = join(folder, "hello.html");
  await writeFile(file, lines!);
  await page.goto(pathToFileURL(file).href);
  await page.getByRole("option", { name: /^Bob Stone/ }).waitFor();

  dev.kill();
  assert.equal((await once(dev, "close"))[0], 0);
  assert.deepEqual(await readdir(temporary), []);
});

test("webhooks of parley dev reach a receiver on this machine", async (t) => {
  const { url, wait } = await receiver(t);
  const command = await commandLine(t);
  const dev = command.start("dev");
  t.after(() => dev.kill());
  let said = "";
  dev.stdout!.setEncoding("utf8").on("data", (text) => {
    said += text;
  });
  const bearer = /Bearer (\S+)"/;
  while (!bearer.test(said)) await once(dev.stdout!, "data");
  const headers = { authorization: `Bearer ${bearer.exec(said)![1]}` };
  const body = new URLSearchParams({ url });
  const made = await fetch(`${command.url}/v1/webhooks`, { method: "POST", headers, body });
  assert.equal(made.status, 201, await made.clone().text());
  const { id } = (await made.json()) as { id: string };
  await fetch(`${command.url}/v1/webhooks/${id}/test`, { method: "POST", headers });
  assert.equal((await wait(1))[0]!.event.type, "webhook.test");
});

test("parley dev refuses to listen to other machines, and serve has no page /hello", async (t) => {
  const command = await commandLine(t, { PARLEY_HOST: "0.0.0.0" });
  const { code, stderr } = await ended(command.start("dev"));
  assert.equal(code, 2);
  assert.match(
    stderr,
    /^parley: parley dev shows the tokens of its users, so it listens only on this machine/,
  );
  const other = await commandLine(t);
  await other.serve();
  const answer = await fetch(`${other.url}/hello`, { headers: { accept: "application/json" } });
  assert.equal(answer.status, 404);
});
