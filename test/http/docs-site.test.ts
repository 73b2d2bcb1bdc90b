// The documentation at /docs: built from the pages of this repository, and whole.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { test } from "node:test";
import { allOperations } from "../../src/http/routes/operations.ts";
import { buildSite } from "../../tools/site/build.ts";
import { startApp } from "../support/app.ts";

const DIST = new URL("../../docs/dist/", import.meta.url);
/** The limit for all files of the site. */
const MAX_BYTES = 2_500_000;

const site = buildSite();
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
  const content = site.get(target);
  if (content === undefined) return `${page}: ${link}: no such page`;
  if (anchor === undefined || attributes(content, "id").includes(anchor)) return undefined;
  return `${page}: ${link}: no such heading`;
}

test("docs/dist is a build of the pages, below 2.5 MB", () => {
  const kept = readdirSync(DIST, { recursive: true, encoding: "utf8" }).filter((path) => path.includes("."));
  assert.deepEqual(kept.sort(), [...site.keys()].sort(), "run `npm run docs`");
  for (const [path, content] of site)
    assert.ok(readFileSync(new URL(path, DIST), "utf8") === content, `${path}: run \`npm run docs\``);
  const size = [...site.values()].reduce((sum, content) => sum + Buffer.byteLength(content), 0);
  assert.ok(size < MAX_BYTES, `${size} bytes`);
});

test("every link of the site leads to a page, and to a heading of it", () => {
  const faults = pages.flatMap(([page, html]) =>
    [...attributes(html, "href"), ...attributes(html, "src"), ...attributes(html, "data-index")]
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

test("llms.txt lists each page in Markdown, whose links lead to Markdown", () => {
  const listed = [...site.get("llms.txt")!.matchAll(/\]\((.+?)\)/g)].map(([, path]) => path!);
  assert.deepEqual(listed.toSorted(), linked.map(([path]) => path.replace(/html$/, "md")).toSorted());
  for (const path of listed) {
    const prose = site.get(path)!.replaceAll(/^```.*?^```$/gms, "");
    for (const [, link] of prose.matchAll(/\]\((?!\w+:)([^)#\s]+)/g))
      assert.ok(site.has(posix.join(posix.dirname(path), link!)), `${path}: ${link}`);
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
    "api",
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
