// The client in a page. Uploads use XMLHttpRequest there, which has its own rules for redirects, aborts and errors.
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Page } from "playwright-core";
import { startApp } from "../support/app.ts";
import { noChromium, openBrowser } from "../support/engines/chromium.ts";
import { moduleAt } from "../support/page-modules.ts";
import { type Between, type Fate, proxy } from "../support/proxy.ts";

interface Opened {
  page: Page;
  /** Requests to the API so far. */
  seen: () => Between["seen"];
  /** Runs code that can use the client as `parley`. Returns its result or its error. */
  run: (code: string) => Promise<unknown>;
}

/** Opens a page of the API's origin. Calls `fateOf` for each request to the API. */
async function openPage(t: TestContext, fateOf: () => Fate = () => "pass"): Promise<Opened> {
  const server = await startApp(t);
  const { token } = await server.user();
  const between = await proxy(t, server.url, (path) => {
    if (path.startsWith("/v1/")) return fateOf();
    const headers = { "content-type": "text/html" };
    return moduleAt(path) ?? { status: 200, headers, body: "<!doctype html><input type=file>" };
  });
  const page = await (await openBrowser(t)).newPage();
  await page.goto(`${between.url}/`);
  const run = (code: string) =>
    page.evaluate(`(async () => {
      const { Parley } = await import("/packages/parley-client/src/index.ts");
      const token = ${JSON.stringify(token)};
      const parley = new Parley({ url: location.origin, token });
      const chosen = () => document.querySelector("input").files[0];
      try { ${code} } catch (error) { return [error.name, error.code, error.message]; }
    })()`);
  return { page, run, seen: () => between.seen.filter(({ path }) => path.startsWith("/v1/")) };
}

test("a page uploads with progress", { skip: noChromium }, async (t) => {
  const { run } = await openPage(t);
  const sent = await run(`
    const reports = [];
    const file = new File([new Uint8Array(300_000)], "a.bin");
    const made = await parley.attachments.upload(file, { onProgress: ({ sent }) => reports.push(sent) });
    return [made.filename, made.file_size, reports[0], reports.at(-1)];`);
  assert.deepEqual(sent, ["a.bin", 300_000, 0, 300_000]);
  const path = await run('return await parley.attachments.upload("/etc/hostname")');
  assert.deepEqual(path, [
    "TypeError",
    undefined,
    "Paths work only in Node. In a browser, pass a File or a Blob.",
  ]);
});

test("a page gets an error for a redirect instead of the redirect's target", {
  skip: noChromium,
}, async (t) => {
  const { run, seen } = await openPage(t, () =>
    seen().length % 2 === 0 ? { status: 301, headers: { location: "/v1/contacts" } } : "pass",
  );
  const upload = 'return await parley.attachments.upload(new File(["x"], "x"))';
  const [name, code, message] = (await run(upload)) as string[];
  assert.deepEqual([name, code], ["ParleyApiError", "unexpected_answer"]);
  assert.match(message!, /^The server redirects to http:.*\/v1\/contacts,/);
  const made = await run(
    'return await parley.contacts.create({ username: "ada", phone_number: "555-0100" })',
  );
  assert.deepEqual((made as string[]).slice(0, 2), ["ParleyApiError", "unexpected_answer"]);
});

test("an upload aborted while its token is requested is not sent", {
  skip: noChromium,
}, async (t) => {
  const { run, seen } = await openPage(t);
  const outcome = await run(`
    const stop = new AbortController();
    const slow = new Parley({ url: location.origin, token: async () => { stop.abort(); return token; } });
    return await slow.attachments.upload(new File(["x"], "x"), { signal: stop.signal });`);
  assert.equal((outcome as string[])[0], "AbortError");
  assert.deepEqual(seen(), []);
});

test("a file that changed since it was chosen fails at once with source_changed", {
  skip: noChromium,
}, async (t) => {
  const { page, run, seen } = await openPage(t);
  const folder = await mkdtemp(join(tmpdir(), "parley-client-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, "notes.txt");
  for (const [send, requests] of [
    ["attachments.upload", 1],
    ["uploads.send", 2],
  ] as const) {
    await writeFile(path, "as it was");
    await page.setInputFiles("input", path);
    assert.equal(await run(`return (await parley.${send}(chosen())).file_size`), 9);
    await writeFile(path, "and longer");
    const before = seen().length;
    const [name, code] = (await run(`return await parley.${send}(chosen())`)) as string[];
    assert.deepEqual([name, code], ["ParleyApiError", "source_changed"]);
    assert.ok(seen().length <= before + requests, "It was tried again.");
  }
});

test("a page whose origin is not allowed learns which setting allows it", { skip: noChromium }, async (t) => {
  const foreign = await startApp(t);
  const { page, run } = await openPage(t);
  const { origin } = new URL(page.url());
  for (const send of ["me()", 'attachments.upload(new File(["x"], "x"))']) {
    const [, code, message] = (await run(`
      const parley = new Parley({ url: "${foreign.url}", token, maxRetries: 0 });
      return await parley.${send};`)) as string[];
    assert.equal(code, "connection_failed");
    assert.ok(message!.endsWith(`Check that PARLEY_CORS_ORIGINS of the server has ${origin}.`), message);
  }
  await page.route("**/v1/**", (route) => route.abort());
  const [, , own] = (await run(
    "return await new Parley({ url: location.origin, token, maxRetries: 0 }).me()",
  )) as string[];
  assert.doesNotMatch(own!, /CORS/);
});
