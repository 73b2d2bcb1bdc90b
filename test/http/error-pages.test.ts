import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { test } from "node:test";
import { catalogue } from "../../src/errors.ts";
import { startApp } from "./app.ts";

const SRC = new URL("../../src/", import.meta.url);

test("the address of every code leads to a page that explains it; another code has none", async (t) => {
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

test("every code of the catalogue is thrown somewhere", async () => {
  const files = (await readdir(SRC, { recursive: true })).filter((name) => /\.ts$/.test(name));
  const others = files.filter((name) => !["errors.ts", "http/problems.ts"].includes(name));
  const texts = await Promise.all(others.map((name) => readFile(new URL(name, SRC), "utf8")));
  for (const code of Object.keys(catalogue)) {
    assert.ok(
      texts.some((text) => text.includes(`"${code}"`)),
      `${code} is thrown nowhere`,
    );
  }
});
