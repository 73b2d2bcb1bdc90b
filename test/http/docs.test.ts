import assert from "node:assert/strict";
import { access, readdir } from "node:fs/promises";
import { test } from "node:test";
import { settingsReference } from "../../src/config/settings.ts";
import { catalogue } from "../../src/errors.ts";
import { allOperations } from "../../src/http/routes/operations.ts";
import { ENGINES, startOnEngine } from "../support/on-engines.ts";
import { apiPages, blocksOf, OVERVIEW, ROOT, readPage } from "./doc-pages.ts";
import { scopeLines } from "./visibility/scopes.ts";

test("docs/api has a curl of every request of contacts and attachments", async () => {
  for (const family of ["contacts", "attachments"]) {
    const text = await readPage(`docs/api/${family}.md`);
    assert.match(text, new RegExp(`curl "\\$PARLEY_URL/v1/${family}"`));
    for (const method of ["PUT", "DELETE"]) {
      assert.match(text, new RegExp(`curl -X ${method} "\\$PARLEY_URL/v1/${family}/\\$`));
    }
  }
});

test("docs/api lists every error code", async () => {
  const [, rest] = (await readPage(OVERVIEW)).split("| status | codes |");
  const [table] = rest!.split("\n\n");
  const listed = [...table!.matchAll(/`([a-z_]+)`/g)].map((match) => match[1]!);
  assert.deepEqual(listed.sort(), Object.keys(catalogue).sort());
});

test("docs/api shows each endpoint once, with its scope", async () => {
  const pages = await Promise.all([...(await apiPages()), "docs/operate.md"].map(readPage));
  const shown = pages.flatMap((text) => text.match(/^`[A-Z]+ \/\S+` · .+$/gm) ?? []);
  assert.deepEqual(shown.sort(), scopeLines(allOperations).sort());
});

test("the tables of settings in docs/operate.md equal those of the code", async () => {
  const rows = (text: string) => text.match(/^\| `PARLEY_.+$/gm) ?? [];
  const [, settings] = (await readPage("docs/operate.md")).split("\n## Settings\n");
  const [tables] = settings!.split("\n## ");
  assert.deepEqual(rows(tables!).sort(), rows(settingsReference()).sort());
});

test("docs/operate.md names all metrics, and alerts only on those", async (t) => {
  const all = new Set<string>();
  for (const engine of ENGINES) {
    const server = await startOnEngine(t, engine);
    const { headers } = await server.user({ scopes: ["admin"] });
    const text = await (await fetch(`${server.url}/metrics`, { headers })).text();
    for (const [, name] of text.matchAll(/^# TYPE (\w+)/gm)) all.add(name!);
  }
  const served = [...all];
  assert.ok(served.length > 5);
  const text = await readPage("docs/operate.md");
  const table = [...text.matchAll(/^\| (`(?:parley|process)_[^|]+) \|/gm)].flatMap((match) =>
    match[1]!.split(", "),
  );
  assert.deepEqual(table.map((name) => name.replaceAll("`", "")).sort(), served.sort());
  const rules = (await blocksOf("docs/operate.md")).filter(({ text }) => text.includes("expr:"));
  const used = rules.flatMap(({ text }) => text.match(/\b(?:parley|process)_\w+/g) ?? []);
  assert.ok(used.length > 3);
  for (const name of used) assert.ok(served.includes(name.replace(/_(bucket|sum|count)$/, "")), name);
});

test("docs/security.md names existing tests, and every one of test/attacks", async () => {
  const text = await readPage("docs/security.md");
  const named = new Set([...text.matchAll(/`(test\/[^`]+)`/g)].map((match) => match[1]!));
  for (const path of named) await access(new URL(path, ROOT));
  for (const name of await readdir(new URL("test/attacks/", ROOT)))
    if (name.endsWith(".test.ts")) assert.ok(named.has(`test/attacks/${name}`), name);
});

test("no two pages create the same contact", async () => {
  const creations = /\/v1\/contacts" (?:[^\n|]|\\\n)*?username=(\w+)/g;
  const pageOf = new Map<string, string>();
  for (const page of ["README.md", ...(await apiPages())]) {
    const shell = (await blocksOf(page)).filter(({ language }) => language === "sh");
    const names = new Set(
      shell.flatMap(({ text }) => [...text.matchAll(creations)].map(([, name]) => name!)),
    );
    for (const name of names) {
      assert.equal(pageOf.get(name), undefined, `${name}, ${page}`);
      pageOf.set(name, page);
    }
  }
  assert.ok(pageOf.size > 5);
});
