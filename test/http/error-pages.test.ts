import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { test } from "node:test";
import { catalogue } from "../../src/errors.ts";
import { startApp } from "../support/app.ts";

const SRC = new URL("../../src/", import.meta.url);

test("every error code has a page that explains it", async (t) => {
  const server = await startApp(t);
  for (const [code, { title, explanation }] of Object.entries(catalogue)) {
    const response = await fetch(`${server.url}/docs/errors/${code}`);
    assert.equal(response.status, 200, code);
    assert.match(response.headers.get("content-type")!, /^text\/html/);
    const text = (await response.text())
      .replace(/<\/?code>/g, "`")
      .replace(/&#(\d+);/g, (_, n) => String.fromCharCode(n));
    assert.ok(text.includes(`\`${code}\``) && text.includes(title) && text.includes(explanation), text);
  }
  for (const code of ["nothing", "__proto__", "constructor", "<b>"]) {
    assert.equal((await fetch(`${server.url}/docs/errors/${encodeURIComponent(code)}`)).status, 404, code);
  }
});

test("/docs/errors leads to the list of all codes, with and without a trailing slash", async (t) => {
  const server = await startApp(t);
  const get = async (path: string) => {
    const response = await fetch(server.url + path);
    assert.equal(response.status, 200, path);
    assert.match(response.headers.get("content-type")!, /^text\/html/, path);
    return response.text();
  };
  const list = await get("/docs/errors");
  assert.equal(await get("/docs/errors/"), list);
  const listed = [...list.matchAll(/<h2 id="([a-z_]+)">/g)].map((match) => match[1]!);
  assert.deepEqual(listed.toSorted(), Object.keys(catalogue).toSorted());
});

test("an unknown path is an HTML page for browsers and a problem for programs", async (t) => {
  const server = await startApp(t);
  const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
  const get = async (path: string, accept: string, method = "GET") => {
    const response = await fetch(server.url + path, { method, headers: { accept } });
    assert.equal(response.status, 404, path);
    assert.equal(response.headers.get("cache-control"), "no-store", path);
    return {
      type: response.headers.get("content-type"),
      headers: response.headers,
      text: await response.text(),
    };
  };
  for (const path of "/nothing /v2/contacts /docs/nothing /docs/errors/nothing /assets/x /%zz".split(" ")) {
    const page = await get(path, browser);
    assert.equal(page.type, "text/html; charset=utf-8", path);
    assert.match(page.headers.get("content-security-policy")!, /^default-src 'none'/, path);
    assert.match(page.text, /<h1[^>]*>Page not found/, path);
    assert.match(
      page.text,
      path.startsWith("/docs/") ? / href="(\.\.\/)?index\.html"/ : / href="\/docs\/"/,
      path,
    );
    const head = await get(path, browser, "HEAD");
    assert.deepEqual([head.type, head.text], [page.type, ""], path);
    for (const accept of ["*/*", "application/json, text/html", ""])
      assert.equal((await get(path, accept)).type, "application/problem+json", `${path}, ${accept}`);
  }
  for (const path of ["/files/x", "/files"])
    assert.equal((await get(path, browser)).type, "application/problem+json", path);
  const posted = await fetch(`${server.url}/nothing`, { method: "POST", headers: { accept: browser } });
  assert.equal(posted.headers.get("content-type"), "application/problem+json");
  const unauthorized = await fetch(`${server.url}/v1/nothing`, { headers: { accept: browser } });
  assert.equal(unauthorized.status, 401);
  const user = await server.user();
  const unknown = await fetch(`${server.url}/v1/nothing`, { headers: { accept: browser, ...user.headers } });
  assert.deepEqual([unknown.status, unknown.headers.get("content-type")], [404, "application/problem+json"]);
});

test("every code of the catalogue is thrown somewhere", async () => {
  const files = (await readdir(SRC, { recursive: true })).filter((name) => /\.ts$/.test(name));
  const others = files.filter((name) => !["errors.ts", "http/protocol/problems.ts"].includes(name));
  const texts = await Promise.all(others.map((name) => readFile(new URL(name, SRC), "utf8")));
  for (const code of Object.keys(catalogue)) {
    assert.ok(
      texts.some((text) => text.includes(`"${code}"`)),
      `${code} is thrown nowhere`,
    );
  }
});

test("the address of a page of the documentation without its ending leads to it", async (t) => {
  const server = await startApp(t);
  for (const path of ["/docs/install", "/docs/guides/sign-in", "/docs/api/messages"]) {
    const answer = await fetch(server.url + path, { redirect: "manual" });
    const to = new URL(answer.headers.get("location")!, server.url + path);
    assert.deepEqual([answer.status, to.pathname], [308, `${path}.html`]);
    assert.equal((await fetch(to)).status, 200);
  }
  assert.equal((await fetch(`${server.url}/docs/nothing`)).status, 404);
});
