// The script and its labels as the server serves them.
import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { build } from "vite";
import { startApp } from "../support/app.ts";

const PACKAGE = join(import.meta.dirname, "../../packages/parley-embed");
const SERVED = join(PACKAGE, "served");
/** The limit for the script with all that it contains, in bytes with gzip. */
const MAX_GZIP = 45_000;

async function read(folder: string): Promise<Map<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((each) => each.isFile()).map((each) => join(each.parentPath, each.name));
  const files = paths
    .sort()
    .map(async (path) => [path.slice(folder.length + 1), await readFile(path, "utf8")]);
  return new Map((await Promise.all(files)) as [string, string][]);
}

test("the served components are a build of the sources, of at most 45 kB", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "parley-embed-"));
  t.after(() => rm(folder, { recursive: true }));
  await build({
    configFile: join(PACKAGE, "vite.config.ts"),
    logLevel: "silent",
    build: { outDir: folder, emptyOutDir: true },
  });
  const [built, served] = await Promise.all([read(folder), read(SERVED)]);
  assert.deepEqual(served, built, "run `npm run embed`");
  const { length } = gzipSync(served.get("index.js")!, { level: 9 });
  t.diagnostic(`${length} bytes with gzip`);
  assert.ok(length > 10_000 && length <= MAX_GZIP, `${length}`);
});

test("/embed.js leads to a script that caches keep, and pages of all origins may load it", async (t) => {
  const { url } = await startApp(t);
  const redirect = await fetch(`${url}/embed.js`, { redirect: "manual" });
  assert.equal(redirect.status, 302);
  assert.equal(redirect.headers.get("cache-control"), "public, max-age=300");
  assert.equal(redirect.headers.get("access-control-allow-origin"), "*");
  const script = await fetch(new URL(redirect.headers.get("location")!, `${url}/`));
  assert.equal(script.status, 200);
  const labels = await fetch(new URL("labels/de.js", script.url));
  for (const { headers } of [script, labels]) {
    assert.equal(headers.get("content-type"), "text/javascript; charset=utf-8");
    assert.equal(headers.get("cache-control"), "public, max-age=31536000, immutable");
    assert.equal(headers.get("access-control-allow-origin"), "*");
    assert.equal(headers.get("cross-origin-resource-policy"), "cross-origin");
    assert.equal(headers.get("x-content-type-options"), "nosniff");
  }
  assert.equal(await script.text(), await readFile(join(SERVED, "index.js"), "utf8"));
  for (const coding of ["br", "gzip"]) {
    const { headers } = await fetch(script.url, { headers: { "accept-encoding": coding } });
    assert.equal(headers.get("content-encoding"), coding);
  }
  const again = await fetch(script.url, { headers: { "if-none-match": script.headers.get("etag")! } });
  assert.equal(again.status, 304);
  assert.equal((await fetch(new URL("none.js", script.url))).status, 404);
});

test("the address of another version has the current script, for a short time", async (t) => {
  const { url } = await startApp(t);
  const script = await fetch(`${url}/embed/0000/index.js`);
  assert.equal(script.status, 200);
  assert.equal(script.headers.get("cache-control"), "public, max-age=300");
});
