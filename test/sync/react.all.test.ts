// The hooks of parley-react, in the example, with each library that has them.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import type { Page } from "playwright-core";
import { type Alias, build } from "vite";
import { Parley } from "../../packages/parley-client/src/index.ts";
import { startApp } from "../support/app.ts";
import { noChromium, openBrowser } from "../support/engines/chromium.ts";
import { eventually } from "../support/files-on-disk.ts";
import { pair, say } from "../support/people.ts";
import { plainPictures } from "../support/pictures.ts";
import { type Fate, proxy } from "../support/proxy.ts";
import { buildApp } from "./built-app.ts";

const ROOT = join(import.meta.dirname, "../..");
const EXAMPLE = join(ROOT, "examples/react");
const HOOKS = join(ROOT, "packages/parley-react/src/index.ts");

const LIBRARIES: Record<string, Alias[]> = {
  "React 19": [],
  "React 18": [
    { find: /^react(?=$|\/)/, replacement: "react-18" },
    { find: /^react-dom(?=$|\/)/, replacement: "react-dom-18" },
  ],
  Preact: [
    { find: /^react\/(jsx-(dev-)?runtime)$/, replacement: "preact/$1" },
    { find: /^react-dom\/client$/, replacement: "preact/compat/client" },
    { find: /^react$/, replacement: "preact/compat" },
  ],
};

async function openExample(t: Parameters<typeof proxy>[0], library: string) {
  const serve = await buildApp({
    root: EXAMPLE,
    configFile: join(EXAMPLE, "vite.config.ts"),
    resolve: { alias: LIBRARIES[library]! },
    // Only then a StrictMode renders twice, and mistakes are logged.
    define: { "process.env.NODE_ENV": '"development"' },
  });
  const app = await startApp(t);
  const { ann, bob, conversation } = await pair(app);
  let sendFate: Fate = "pass";
  const between = await proxy(t, app.url, (path) => {
    if (path === "/v1/messages") return sendFate;
    return path.startsWith("/v1/") ? "pass" : serve(path);
  });
  const page = await (await (await openBrowser(t)).newContext()).newPage();
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error" && !message.text().includes("Failed to load")) errors.push(message.text());
  });
  // Typing ends by a message here, not by its time.
  await page.addInitScript(`const { setTimeout: set } = globalThis;
    globalThis.setTimeout = (run, ms, ...rest) => (ms === 6000 ? 0 : set(run, ms, ...rest));`);
  const { id: user, token } = ann;
  const open = () => page.goto(`${between.url}/#${new URLSearchParams({ url: between.url, user, token })}`);
  const treatSends = (fate: Fate) => {
    sendFate = fate;
  };
  const [asAnn, asBob] = [ann, bob].map(({ token }) => new Parley({ url: app.url, token }));
  return { app, ann, bob, conversation, page, errors, open, treatSends, asAnn: asAnn!, asBob: asBob! };
}

/** Waits until the page shows exactly one such element. */
const shows = (page: Page, selector: string, hasText: string | RegExp) =>
  page.locator(selector, { hasText }).waitFor();

async function write(page: Page, text: string): Promise<void> {
  await page.getByLabel("Message").fill(text);
  await page.getByLabel("Message").press("Enter");
}

for (const library of Object.keys(LIBRARIES)) {
  test(`${library}: the example shows an inbox and a conversation, and sends`, {
    skip: noChromium,
  }, async (t) => {
    const { app, bob, conversation, page, errors, open, asAnn, asBob } = await openExample(t, library);
    await say(app, bob, conversation, "Hello Ann");
    await open();
    await shows(page, "nav", /Inbox \(1\).*live/s);
    await shows(page, "button", `${bob.name} Hello Ann 1`);
    await page.getByRole("button", { name: bob.name }).click();
    await shows(page, "article", `${bob.name} Hello Ann`);
    await shows(page, "nav", /Inbox \(0\).*live/s);
    assert.ok(await eventually(async () => (await asAnn.me()).unread_conversations === 0));

    const stop = new AbortController();
    t.after(() => stop.abort());
    const typing = (async () => {
      for await (const { type } of asBob.events.stream({ signal: stop.signal, types: ["typing"] }))
        return type;
    })();
    // Nothing says when the stream of Bob is open.
    const shown = eventually(async () => {
      await page.getByLabel("Message").pressSequentially("x");
      return (await Promise.race([typing, page.waitForTimeout(500)])) === "typing";
    });
    assert.ok(await shown);
    await write(page, "Hello Bob");
    await shows(page, "article", "Hello Bob👍 0");
    assert.equal((await asBob.messages.list({ conversation_id: conversation })).data[0]!.text, "Hello Bob");

    await asBob.conversations.typing(conversation);
    await shows(page, "output", "typing…");
    const answer = await say(app, bob, conversation, "An answer");
    await shows(page, "article", "An answer");
    await page.locator("output", { hasText: "typing…" }).waitFor({ state: "detached" });
    await page.locator("article", { hasText: "An answer" }).getByRole("button", { name: "👍 0" }).click();
    await shows(page, "article", "An answer👍 1");
    assert.ok(await eventually(async () => (await asBob.messages.retrieve(answer)).reactions.length === 1));
    await page.locator("article", { hasText: "An answer" }).getByRole("button", { name: "👍 1" }).click();
    assert.ok(await eventually(async () => (await asBob.messages.retrieve(answer)).reactions.length === 0));
    assert.deepEqual(errors, []);
  });

  test(`${library}: the example shows progress, previews, and refused messages to retry`, {
    skip: noChromium,
  }, async (t) => {
    const { app, bob, conversation, page, errors, open, treatSends, asBob } = await openExample(t, library);
    await say(app, bob, conversation, "Hello Ann");
    await open();
    await page.getByRole("button", { name: bob.name }).click();
    const detail = "Not today.";
    const body = JSON.stringify({
      type: "about:blank",
      title: "Refused",
      status: 403,
      code: "not_owner",
      detail,
    });
    const headers = { "content-type": "application/problem+json" };
    treatSends({ status: 403, headers, body });
    await write(page, "Refused");
    await shows(page, "article", "Not today.");
    await write(page, "Discarded");
    await page.locator("article", { hasText: "Discarded" }).getByRole("button", { name: "Discard" }).click();
    await page.locator("article", { hasText: "Discarded" }).waitFor({ state: "detached" });
    treatSends("pass");
    await page.getByRole("button", { name: "Retry" }).click();
    await shows(page, "article", "Refused👍 0");

    treatSends({ status: 502 });
    const { name, bytes: buffer } = (await plainPictures())[0]!;
    await page.getByLabel("Files").setInputFiles({ name, mimeType: "image/png", buffer });
    await page.getByRole("button", { name: "Send" }).click();
    await page.locator("progress").waitFor();
    treatSends("pass");
    await page.evaluate('dispatchEvent(new Event("online"))');
    await page.locator("progress").waitFor({ state: "detached" });
    await page.locator("img").waitFor();
    const isLoaded = 'document.querySelector("img").naturalWidth > 0';
    assert.ok(await eventually(() => page.evaluate<boolean>(isLoaded)));
    const { data } = await asBob.messages.list({ conversation_id: conversation });
    assert.deepEqual(
      data.map(({ text, attachments }) => [text, attachments.length]),
      [
        [null, 1],
        ["Refused", 0],
        ["Hello Ann", 0],
      ],
    );
    assert.deepEqual(errors, []);
  });
}

test("hooks count unread conversations without muted ones, find contacts, keep functions, and end typing", {
  skip: noChromium,
}, async (t) => {
  const serve = await buildApp({
    configFile: false,
    build: {
      target: "es2023",
      rolldownOptions: {
        input: join(import.meta.dirname, "hooks-page.ts"),
        output: { entryFileNames: "page.js" },
      },
    },
  });
  const app = await startApp(t);
  const { ann, bob, conversation, contact } = await pair(app);
  await say(app, bob, conversation, "one");
  const between = await proxy(t, app.url, (path) => {
    if (path.startsWith("/v1/")) return "pass";
    const html = '<!doctype html><body></body><script type="module" src="/page.js"></script>';
    return path === "/" ? { status: 200, headers: { "content-type": "text/html" }, body: html } : serve(path);
  });
  const page = await (await (await openBrowser(t)).newContext()).newPage();
  await page.goto(`${between.url}/#${[ann.token, contact, conversation]}`);
  const shown = (unread: number, messages: number, typists: string[] = []) =>
    page.getByText(JSON.stringify({ unread, username: bob.name, typists, messages, changes: 1 })).waitFor();
  await shown(1, 1);
  await say(app, bob, conversation, "two");
  await shown(1, 2);
  const asAnn = new Parley({ url: app.url, token: ann.token });
  await asAnn.conversations.update(conversation, { muted_until: 99_999_999_999 });
  await shown(0, 2);
  // A notice within a second of a message is about that message.
  await page.waitForTimeout(1_000);
  await new Parley({ url: app.url, token: bob.token }).conversations.typing(conversation);
  await shown(0, 2, [bob.id]);
  await shown(0, 2);
});

test("parley-react is at most 3 kB", async (t) => {
  const built = await build({
    configFile: false,
    logLevel: "error",
    build: {
      write: false,
      rolldownOptions: { input: HOOKS, external: ["react"], preserveEntrySignatures: "strict" },
    },
  });
  assert.ok("output" in built);
  const { code, exports } = built.output[0];
  assert.ok(exports.includes("useMessages"));
  const { length } = gzipSync(code, { level: 9 });
  t.diagnostic(`${length} bytes, compressed`);
  assert.ok(length > 500 && length <= 3_000, `${length}`);
});

test("the hooks of the example have at most 40 lines of code", () => {
  const lines = readFileSync(join(EXAMPLE, "view.tsx"), "utf8").split("\n").filter(Boolean);
  assert.ok(lines.length <= 40, `${lines.length}`);
  assert.doesNotMatch(readFileSync(join(EXAMPLE, "parts.tsx"), "utf8"), /parley-react/);
});
