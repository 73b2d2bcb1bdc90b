import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "vite";
import { formatSize, initials } from "../../console/src/format.ts";
import { startApp } from "../support/app.ts";

const CONSOLE = fileURLToPath(new URL("../../console", import.meta.url));
const MAX_GZIP = 58_000;

async function read(folder: string): Promise<Map<string, Buffer>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((each) => each.isFile()).map((each) => join(each.parentPath, each.name));
  return new Map(
    await Promise.all(
      paths.sort().map(async (path) => [path.slice(folder.length + 1), await readFile(path)] as const),
    ),
  );
}

test("the files that are served are what the sources make, byte for byte, and small", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "parley-console-"));
  t.after(() => rm(folder, { recursive: true }));
  await build({
    configFile: join(CONSOLE, "vite.config.ts"),
    logLevel: "silent",
    build: { outDir: folder, emptyOutDir: true },
  });
  const built = await read(folder);
  const kept = await read(join(CONSOLE, "dist"));
  assert.deepEqual([...kept.keys()], [...built.keys()], "run `npm run console`");
  for (const [path, bytes] of built)
    assert.ok(bytes.equals(kept.get(path)!), `${path}: run \`npm run console\``);
  const loaded = [...built].filter(([path]) => path !== "licenses.md");
  const size = loaded.reduce((sum, [, bytes]) => sum + gzipSync(bytes).length, 0);
  t.diagnostic(`${size} bytes, compressed by gzip`);
  assert.ok(size <= MAX_GZIP, `${size} bytes`);
});

test("the page is checked anew each time, and its parts are kept for ever", async (t) => {
  const { url } = await startApp(t);
  const page = await fetch(`${url}/`);
  assert.equal(page.status, 200);
  assert.equal(page.headers.get("content-type"), "text/html; charset=utf-8");
  assert.equal(page.headers.get("cache-control"), "no-cache");
  const etag = page.headers.get("etag")!;
  const again = await fetch(`${url}/`, { headers: { "if-none-match": etag } });
  assert.equal(again.status, 304);
  assert.equal(again.headers.get("etag"), etag);
  const head = await fetch(`${url}/`, { method: "HEAD" });
  assert.equal(head.headers.get("content-length"), page.headers.get("content-length"));
  const html = await page.text();
  assert.doesNotMatch(html, /<script(?![^>]*src=)|<style|\s(?:style|on\w+)=|https?:/);
  const parts = [...html.matchAll(/(?:src|href)="\.\/(assets\/[^"]+)"/g)].map(([, path]) => path!);
  assert.equal(parts.length, 3);
  const types = {
    js: "text/javascript; charset=utf-8",
    css: "text/css; charset=utf-8",
    svg: "image/svg+xml",
  };
  for (const path of parts) {
    const part = await fetch(`${url}/${path}`);
    assert.equal(part.status, 200, path);
    assert.equal(part.headers.get("content-type"), types[path.split(".").at(-1) as keyof typeof types]);
    assert.equal(part.headers.get("cache-control"), "public, max-age=31536000, immutable");
    assert.match(part.headers.get("content-security-policy")!, /^default-src 'none'/);
    assert.equal(part.headers.get("x-content-type-options"), "nosniff");
    assert.equal((await fetch(`${url}/${path}`, { method: "HEAD" })).status, 200);
  }
});

test("the worker of push has a fixed address, and may ask nobody", async (t) => {
  const { url } = await startApp(t);
  const { status, headers } = await fetch(`${url}/push-worker.js`);
  assert.equal(status, 200);
  assert.equal(headers.get("content-type"), "text/javascript; charset=utf-8");
  assert.equal(headers.get("cache-control"), "no-cache");
  assert.equal(headers.get("content-security-policy"), "default-src 'none'");
});

test("the page lets nothing in from elsewhere, and nobody frame it", async (t) => {
  const { url } = await startApp(t);
  const { headers } = await fetch(`${url}/`);
  const policy = new Map(
    headers
      .get("content-security-policy")!
      .split("; ")
      .map((each) => [each.split(" ")[0]!, each.split(" ").slice(1).join(" ")]),
  );
  assert.equal(policy.get("default-src"), "'none'");
  for (const directive of ["img-src", "media-src", "connect-src"])
    assert.equal(policy.get(directive), "'self'");
  for (const [directive, sources] of policy) {
    assert.doesNotMatch(sources, /unsafe|\*|http|data:/, directive);
  }
  assert.equal(policy.get("frame-ancestors"), "'none'");
  assert.equal(headers.get("referrer-policy"), "no-referrer");
  assert.equal(headers.get("cross-origin-opener-policy"), "same-origin");
  assert.equal(headers.get("x-content-type-options"), "nosniff");
});

test("sizes and names are written as people read them", () => {
  for (const [bytes, text] of [
    [999, "999 B"],
    [1024, "1.0 KiB"],
    [104_857_600, "100 MiB"],
    [888_860_856, "848 MiB"],
  ] as const) {
    assert.equal(formatSize(bytes), text);
  }
  for (const [name, letters] of [
    ["Grace Hopper", "GH"],
    ["über ß", "ÜS"],
    ["grace", "G"],
    ["..", "?"],
  ] as const) {
    assert.equal(initials(name), letters);
  }
});

test("nothing else is served there", async (t) => {
  const { url } = await startApp(t);
  for (const path of ["assets/", "assets/none.js", "assets/..%2findex.html", "licenses.md", "index.html"]) {
    assert.equal((await fetch(`${url}/${path}`)).status, 404, path);
  }
  for (const method of ["POST", "PUT", "DELETE"]) {
    const response = await fetch(`${url}/`, { method });
    assert.equal(response.status, 405);
    assert.equal(response.headers.get("allow"), "GET, HEAD");
  }
});
