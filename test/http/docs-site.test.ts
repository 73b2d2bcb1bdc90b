// The documentation at /docs: built from the pages of this repository, and whole.
import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { posix } from "node:path";
import { test } from "node:test";
import { allOperations } from "../../src/http/routes/operations.ts";
import { buildSite } from "../../tools/site/build.ts";
import { startApp } from "../support/app.ts";

const DIST = new URL("../../docs/dist/", import.meta.url);
const ROOT = new URL("../../", import.meta.url);
/** The limits for all texts of the site, and for its pictures. */
const MAX_BYTES = 2_700_000;
const MAX_PICTURE_BYTES = 400_000;

const { texts: site, pictures } = buildSite();
const pages = [...site].filter(([path]) => path.endsWith(".html"));
/** Those that the site links to. */
const linked = pages.filter(([path]) => path !== "404.html");

/** Returns the attributes of this name of a page, with characters instead of their references. */
function attributes(html: string, name: string): string[] {
  const found = html.matchAll(new RegExp(`\\s${name}="([^"]*)"`, "g"));
  return Array.from(found, ([, value]) => value!.replace(/&#(\d+);/g, (_, n) => String.fromCharCode(n)));
}

/** Returns why a relative link of a page leads nowhere; undefined if it does not. */
function faultOf(page: string, link: string): string | undefined {
  const [path, anchor] = link.split("#");
  const target = path ? posix.join(posix.dirname(page), path) : page;
  if (pictures.has(target)) return undefined;
  const content = site.get(target);
  if (content === undefined) return `${page}: ${link}: no such page`;
  if (anchor === undefined || attributes(content, "id").includes(anchor)) return undefined;
  return `${page}: ${link}: no such heading`;
}

test("docs/dist is a build of the pages, of limited size", () => {
  const kept = readdirSync(DIST, { recursive: true, encoding: "utf8" }).filter((path) => path.includes("."));
  assert.deepEqual(kept.sort(), [...site.keys(), ...pictures.keys()].sort(), "run `npm run docs`");
  for (const [path, content] of site)
    assert.ok(readFileSync(new URL(path, DIST), "utf8") === content, `${path}: run \`npm run docs\``);
  for (const [path, source] of pictures)
    assert.ok(readFileSync(new URL(path, DIST)).equals(readFileSync(new URL(source, ROOT))), path);
  const sum = (sizes: number[]) => sizes.reduce((total, size) => total + size, 0);
  const size = sum([...site.values()].map((content) => Buffer.byteLength(content)));
  assert.ok(size < MAX_BYTES, `${size} bytes`);
  const pictureSize = sum([...pictures.keys()].map((path) => statSync(new URL(path, DIST)).size));
  assert.ok(pictureSize < MAX_PICTURE_BYTES, `${pictureSize} bytes of pictures`);
});

test("every link of the site leads to a page, and to a heading of it", () => {
  const faults = pages.flatMap(([page, html]) =>
    ["href", "src", "data-moving", "data-index"]
      .flatMap((name) => attributes(html, name))
      .filter((link) => !/^\w+:/.test(link))
      .flatMap((link) => faultOf(page, link) ?? []),
  );
  assert.deepEqual(faults, []);
  assert.equal(faultOf("tour.html", "api.html#nothing"), "tour.html: api.html#nothing: no such heading");
  assert.equal(faultOf("tour.html", "../a.html"), "tour.html: ../a.html: no such page");
});

test("every page is reached from the first one by following `Next`, and has no id twice", () => {
  const reached: string[] = [];
  let page: string | undefined = "index.html";
  while (page !== undefined) {
    reached.push(page);
    const html: string = site.get(page)!;
    const next = /<a href="([^"]+)" rel="next">/.exec(html)?.[1];
    page = next && posix.join(posix.dirname(page), next);
    const ids = attributes(html, "id");
    assert.deepEqual([...new Set(ids)], ids, reached.at(-1));
  }
  assert.deepEqual(reached.toSorted(), linked.map(([path]) => path).toSorted());
});

test("no page has a script, a style or a handler in itself, or loads from another server", () => {
  for (const [path, html] of pages) {
    assert.doesNotMatch(html, /<script(?![^>]*src=)|<style|\s(?:style|on\w+)="/, path);
    for (const link of [...attributes(html, "src"), ...(html.match(/<link [^>]+>/g) ?? [])])
      assert.doesNotMatch(link, /\/\//, path);
  }
});

test("every operation is in the reference, with its example", () => {
  const reference = [...site].filter(([path]) => /^reference\/.+\.md$/.test(path));
  const text = reference.map(([, content]) => content).join("\n");
  for (const { method, path, id } of allOperations) {
    const shown = path.replace(":id", `{${id?.name}}`).replaceAll(/:(\w+)/g, "{$1}");
    assert.ok(text.includes(`\n\`${method} ${shown}\` · `), `${method} ${shown}`);
  }
  const parts = text.split(/^## /m).filter((part) => /\n`[A-Z]+ \/v1\//.test(part));
  const without = parts.filter((part) => !part.includes("```ts\n")).map((part) => part.split("\n")[0]);
  assert.deepEqual(without, ["Download the picture of a user"]);
});

test("each page is served as HTML and as Markdown, compressed for those who accept it", async (t) => {
  const { url } = await startApp(t);
  for (const [path, content] of site) {
    const plain = await fetch(`${url}/docs/${path}`, { headers: { "accept-encoding": "identity" } });
    assert.equal(plain.status, 200, path);
    assert.equal(await plain.text(), content, path);
    const policy = plain.headers.get("content-security-policy")!;
    assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/);
    assert.doesNotMatch(policy, /unsafe|\*|http|data:/);
    const small = await fetch(`${url}/docs/${path}`, { headers: { "accept-encoding": "gzip, br" } });
    assert.equal(small.headers.get("content-encoding"), "br", path);
    assert.equal(await small.text(), content, path);
    assert.notEqual(small.headers.get("etag"), plain.headers.get("etag"));
  }
  const types = { "index.html": "text/html", "tour.md": "text/markdown", "llms.txt": "text/plain" };
  for (const [path, type] of Object.entries(types)) {
    const { headers } = await fetch(`${url}/docs/${path}`);
    assert.equal(headers.get("content-type"), `${type}; charset=utf-8`);
  }
});

test("pictures are served with their types, without another compression", async (t) => {
  const { url } = await startApp(t);
  const types = { ".webp": "image/webp", ".svg": "image/svg+xml" };
  for (const [path, source] of pictures) {
    const answer = await fetch(`${url}/docs/${path}`, { headers: { "accept-encoding": "br" } });
    assert.equal(answer.headers.get("content-type"), types[posix.extname(path) as keyof typeof types], path);
    assert.equal(answer.headers.get("content-encoding"), path.endsWith(".svg") ? "br" : null, path);
    const bytes = Buffer.from(await answer.arrayBuffer());
    assert.ok(bytes.equals(readFileSync(new URL(source, ROOT))), path);
  }
});

test("llms.txt lists each page in Markdown, whose links lead to Markdown", () => {
  const listed = [...site.get("llms.txt")!.matchAll(/\]\((.+?)\)/g)].map(([, path]) => path!);
  assert.deepEqual(listed.toSorted(), linked.map(([path]) => path.replace(/html$/, "md")).toSorted());
  for (const path of listed) {
    const prose = site.get(path)!.replaceAll(/^```.*?^```$/gms, "");
    for (const [, link] of prose.matchAll(/\]\((?!\w+:)([^)#\s]+)/g))
      assert.equal(faultOf(path, link!), undefined);
  }
});

test("/docs needs no token, leads to its first page, and answers 404 and 405", async (t) => {
  const { url } = await startApp(t);
  const first = await fetch(`${url}/docs`, { redirect: "manual" });
  assert.deepEqual([first.status, first.headers.get("location")], [308, "docs/"]);
  assert.equal(await (await fetch(`${url}/docs`)).text(), site.get("index.html"));
  for (const path of [
    "nothing.html",
    "api/nothing.html",
    "..%2fREADME.md",
    "api/..%2ftour.html",
    "api/",
    "api/nothing",
  ])
    assert.equal((await fetch(`${url}/docs/${path}`)).status, 404, path);
  for (const path of ["/docs", "/docs/", "/docs/tour.html", "/docs/api/me.html"]) {
    const answer = await fetch(url + path, { method: "POST" });
    assert.deepEqual([answer.status, answer.headers.get("allow")], [405, "GET, HEAD"], path);
  }
});

test("a browser gets a page for an address that has none, with links that work at any depth", async (t) => {
  const { url } = await startApp(t);
  for (const path of [
    "nothing",
    "nothing.html?q=1",
    "api/nothing.html",
    "api/",
    "a/b/c/d",
    "errors/nothing",
  ]) {
    const answer = await fetch(`${url}/docs/${path}`, { headers: { accept: "text/html" } });
    assert.equal(answer.status, 404, path);
    const html = await answer.text();
    const links = ["href", "src", "data-index"].flatMap((name) => attributes(html, name));
    assert.ok(links.length > 20);
    for (const link of links.filter((each) => !each.startsWith("#"))) {
      const { pathname } = new URL(link, answer.url);
      assert.ok(site.has(pathname.slice("/docs/".length)), `${path}: ${link}`);
    }
  }
  // A program gets a problem, and an address that would make the page large the page of the console.
  assert.match((await fetch(`${url}/docs/nothing`)).headers.get("content-type")!, /problem/);
  const deep = await fetch(`${url}/docs/${"a/".repeat(1000)}`, { headers: { accept: "text/html" } });
  assert.equal(deep.status, 404);
  assert.ok((await deep.text()).length < 2000);
});
