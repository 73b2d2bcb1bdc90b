import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { brotliDecompressSync, gunzipSync, gzipSync } from "node:zlib";
import { build } from "vite";
import { formatAgo, formatDuration, formatSize, initials } from "../../console/src/ui/format.ts";
import { startApp, startOn, testConfig } from "../support/app.ts";

const CONSOLE = fileURLToPath(new URL("../../console", import.meta.url));
/** The limit for scripts and styles that everybody loads, and for those of the administration, which load on demand. */
const MAX_GZIP = { loaded: 125_000, administration: 25_000 };

const DECODERS: Record<string, (bytes: Buffer) => Buffer> = { br: brotliDecompressSync, gz: gunzipSync };
const endOf = (path: string) => path.split(".").at(-1)!;

/** Returns the files of a folder by path. Decompresses compressed ones: their bytes differ between machines. */
async function read(folder: string): Promise<Map<string, Buffer>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((each) => each.isFile()).map((each) => join(each.parentPath, each.name));
  return new Map(
    await Promise.all(
      paths.sort().map(async (path) => {
        const bytes = await readFile(path);
        return [path.slice(folder.length + 1), DECODERS[endOf(path)]?.(bytes) ?? bytes] as const;
      }),
    ),
  );
}

test("the served files are a small, byte-identical build of the sources", async (t) => {
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
  const sizes = { loaded: 0, administration: 0 };
  for (const [path, bytes] of built) {
    if (!/\.(?:js|css)$/.test(path)) continue;
    // As they are served.
    sizes[path.includes("administration") ? "administration" : "loaded"] += gzipSync(bytes, {
      level: 9,
    }).length;
  }
  t.diagnostic(`scripts and styles, bytes with gzip: ${JSON.stringify(sizes)}`);
  assert.ok(sizes.administration > 0);
  assert.ok(sizes.loaded <= MAX_GZIP.loaded && sizes.administration <= MAX_GZIP.administration);
});

/** Requests a file with this Accept-Encoding. Returns its ETag. */
async function checkCoding(
  address: string,
  bytes: Buffer,
  accepted: string,
  coding: string | null,
): Promise<string> {
  const ask = (headers: Record<string, string> = {}, method = "GET") =>
    fetch(address, { method, headers: { "accept-encoding": accepted, ...headers } });
  const what = `${address}, ${accepted}`;
  const answer = await ask();
  assert.equal(answer.status, 200, what);
  assert.equal(answer.headers.get("content-encoding"), coding, what);
  // `fetch` has decompressed it.
  assert.ok(Buffer.from(await answer.arrayBuffer()).equals(bytes), what);
  const etag = answer.headers.get("etag")!;
  const again = await ask({ "if-none-match": `"x", W/${etag}` });
  assert.equal(again.status, 304);
  assert.equal(again.headers.get("content-encoding"), null);
  for (const name of ["etag", "vary", "cache-control"])
    assert.equal(again.headers.get(name), answer.headers.get(name), `${what}, ${name}`);
  const head = await ask({}, "HEAD");
  for (const name of ["content-length", "content-encoding", "content-type", "etag", "vary"])
    assert.equal(head.headers.get(name), answer.headers.get(name), `${what}, ${name}`);
  return etag;
}

test("every file is served plain and compressed, each form with its own ETag", async (t) => {
  const { url } = await startApp(t);
  const files = await read(join(CONSOLE, "dist"));
  const plain = [...files].filter(([path]) => !DECODERS[endOf(path)] && path !== "licenses.md");
  assert.ok(plain.length > 5);
  for (const [path, bytes] of plain) {
    const address = `${url}/${path === "index.html" ? "" : path}`;
    const isCompressed = endOf(path) !== "png";
    for (const end of ["br", "gz"]) assert.equal(files.has(`${path}.${end}`), isCompressed, `${path}.${end}`);
    const tags = new Set<string>();
    for (const [accepted, coding] of [
      ["identity", null],
      ["gzip", "gzip"],
      ["gzip, deflate, br", "br"],
      ["br;q=0, gzip;q=0", null],
    ] as const)
      tags.add(await checkCoding(address, bytes, accepted, isCompressed ? coding : null));
    assert.equal(tags.size, isCompressed ? 3 : 1, path);
    const { headers } = await fetch(address, { headers: { "accept-encoding": "identity" } });
    assert.equal(headers.get("vary"), isCompressed ? "Accept-Encoding" : null, path);
  }
});

test("with several CORS origins, responses vary by origin", async (t) => {
  const corsOrigins = ["https://a.example", "https://b.example"];
  const { url } = await startOn(t, { ...(await testConfig(t)), corsOrigins });
  const answer = await fetch(`${url}/`, { headers: { origin: "https://a.example" } });
  assert.equal(answer.headers.get("vary"), "Origin, Accept-Encoding");
});

test("the console can be installed as an app", async (t) => {
  const { url } = await startApp(t);
  const html = await (await fetch(`${url}/`)).text();
  const [, address] = /<link rel="manifest" href="([^"]+)"/.exec(html)!;
  const answer = await fetch(new URL(address!, `${url}/`));
  assert.equal(answer.headers.get("content-type"), "application/manifest+json");
  assert.equal(answer.headers.get("cache-control"), "no-cache");
  const manifest = (await answer.json()) as {
    start_url: string;
    scope: string;
    display: string;
    icons: { src: string; sizes: string; type: string; purpose?: string }[];
  };
  for (const path of [manifest.start_url, manifest.scope])
    assert.equal(new URL(path, answer.url).href, `${url}/`);
  assert.equal(manifest.display, "standalone");
  const kinds = manifest.icons.map(({ sizes, purpose }) => `${sizes} ${purpose ?? "any"}`);
  assert.deepEqual(kinds, ["192x192 any", "512x512 any", "512x512 maskable"]);
  for (const { src, sizes, type } of manifest.icons) {
    const icon = await fetch(new URL(src, answer.url));
    assert.equal(icon.headers.get("content-type"), type);
    const bytes = Buffer.from(await icon.arrayBuffer());
    // The position of a PNG's width and height.
    assert.equal(`${bytes.readUInt32BE(16)}x${bytes.readUInt32BE(20)}`, sizes, src);
  }
});

test("the page is revalidated each time, and its assets are cached for ever", async (t) => {
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

test("the push worker has a fixed URL, and its policy allows no requests", async (t) => {
  const { url } = await startApp(t);
  const { status, headers } = await fetch(`${url}/push-worker.js`);
  assert.equal(status, 200);
  assert.equal(headers.get("content-type"), "text/javascript; charset=utf-8");
  assert.equal(headers.get("cache-control"), "no-cache");
  assert.equal(headers.get("content-security-policy"), "default-src 'none'");
});

test("the policy of the page forbids foreign resources and framing", async (t) => {
  const { url } = await startApp(t);
  const { headers } = await fetch(`${url}/`);
  const policy = new Map(
    headers
      .get("content-security-policy")!
      .split("; ")
      .map((each) => [each.split(" ")[0]!, each.split(" ").slice(1).join(" ")]),
  );
  assert.equal(policy.get("default-src"), "'none'");
  for (const directive of ["img-src", "media-src", "connect-src", "manifest-src"])
    assert.equal(policy.get(directive), "'self'");
  for (const [directive, sources] of policy) {
    assert.doesNotMatch(sources, /unsafe|\*|http|data:/, directive);
  }
  assert.equal(policy.get("frame-ancestors"), "'none'");
  assert.equal(headers.get("referrer-policy"), "no-referrer");
  assert.equal(headers.get("cross-origin-opener-policy"), "same-origin");
  assert.equal(headers.get("x-content-type-options"), "nosniff");
});

test("only the console may use the microphone, for voice messages", async (t) => {
  const { url } = await startApp(t);
  const read = async (path: string) => (await fetch(url + path)).headers.get("permissions-policy");
  assert.equal(await read("/"), "camera=(), microphone=(self), geolocation=()");
  assert.equal(await read("/docs/"), "camera=(), microphone=(), geolocation=()");
});

test("sizes and initials are formatted", () => {
  for (const [bytes, text] of [
    [1, "1 byte"],
    [999, "999 bytes"],
    [1024, "1 kB"],
    [1_310_000, "1.3 MB"],
    [104_857_600, "105 MB"],
    [999_600_000, "1 GB"],
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

test("durations are formatted as players do", () => {
  for (const [seconds, text] of [
    [0, "0:00"],
    [59.6, "1:00"],
    [725, "12:05"],
    [3661, "1:01:01"],
  ] as const)
    assert.equal(formatDuration(seconds), text);
});

test("times in the past are formatted as phrases", () => {
  const now = Date.now() / 1000;
  assert.equal(formatAgo(now), "1 minute ago");
  assert.equal(formatAgo(now - 5 * 60), "5 minutes ago");
  assert.equal(formatAgo(now - 3 * 86_400), "3 days ago");
  assert.match(formatAgo(now - 40 * 86_400), /\d{4}/);
});

test("unknown paths are not served", async (t) => {
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
