// Links, paths and names in all pages of this repository lead to what they name.
import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { test } from "node:test";

const ROOT = join(import.meta.dirname, "../..");
const pages = globSync("**/*.md", {
  cwd: ROOT,
  exclude: (path) => /^release$|(?:^|\/)(?:node_modules|data|docs\/dist)$/.test(path),
});
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");

interface Link {
  text: string;
  /** Relative to the root; that of the page for an anchor alone. */
  target: string;
  anchor: string | undefined;
}

function linksOf(page: string, content = read(page)): Link[] {
  const links = content.matchAll(/\[([^\]]*)\]\((?!https?:)([^)#\s]*)(?:#([^)]+))?\)/g);
  return Array.from(links, ([, text, path, anchor]) => ({
    text: text!,
    target: path ? join(dirname(page), path) : page,
    anchor,
  }));
}

/** The anchors that a page has, as GitHub makes them of its headings. */
function anchorsOf(content: string): string[] {
  const headings = content.replaceAll(/^```.*?^```$/gms, "").matchAll(/^#+ (.+)$/gm);
  return Array.from(headings, ([, title]) =>
    title!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

/** Folders that a path in a page may be relative to, beside that of the page and the one above. */
const BASES = ["", "src", "test", "console"];
/** A path of a source file or of a folder at the root; `<…>` in it stands for a name that the reader chooses. */
const PATH =
  /^(?:[\w./*{},-]+\.(?:tsx?|sql|mjs|sh|css)|(?:src|test|docs|tools|bench|client|console)\/[\w./*{},-]*)$/;

/** The resource that docs/adding-a-resource.md adds, and a file of the reader. */
const EXAMPLE = /\bpins\b|^devices\.mjs$/;

/** Returns the paths between backticks of a page that do not exist. */
function missingPaths(page: string, content = read(page)): string[] {
  // A link says by its target where its text is.
  const prose = content.replaceAll(/^```.*?^```$/gms, "").replaceAll(/\[[^\]]*\]\([^)]*\)/g, "");
  const paths = Array.from(prose.matchAll(/`([^`\n]+)`/g), ([, code]) => code!).filter(
    (code) => PATH.test(code) && !EXAMPLE.test(code),
  );
  const bases = [dirname(page), join(dirname(page), ".."), ...BASES];
  return paths.filter((path) => !bases.some((base) => globSync(path, { cwd: join(ROOT, base) }).length > 0));
}

/** Returns why a link is broken; undefined if it is not. */
function faultOf({ text, target, anchor }: Link): string | undefined {
  if (!existsSync(join(ROOT, target))) return "no such file";
  if (anchor !== undefined && !anchorsOf(read(target)).includes(anchor)) return `no heading #${anchor}`;
  const name = /^`(\w+)`$/.exec(text)?.[1];
  if (name === undefined || !/\.tsx?$/.test(target)) return undefined;
  return new RegExp(`(?:^|[^\\w.])#?${name}\\b`, "m").test(read(target)) ? undefined : `no ${name} in it`;
}

test("every link of every page leads to a file, and to a heading or a function of it", () => {
  assert.ok(pages.length > 60, `only ${pages.length} pages`);
  const faults = pages.flatMap((page) =>
    linksOf(page).flatMap((link) => {
      const fault = faultOf(link);
      return fault === undefined ? [] : [`${page}: [${link.text}] ${link.target}: ${fault}`];
    }),
  );
  assert.deepEqual(faults, []);
});

test("every path that a page names exists", () => {
  const missing = pages
    .filter((page) => page !== "CHANGELOG.md")
    .flatMap((page) => missingPaths(page).map((path) => `${page}: ${path}`));
  assert.deepEqual(missing, []);
});

test("a broken link, heading, name and path are each found", () => {
  const faults = linksOf(
    "docs/a.md",
    "[a](b.md) [`sees`](../src/db/sql.ts) [`sql`](../src/db/sql.ts) [c](security.md#nothing) [d](security.md#attacks-refused)",
  ).map(faultOf);
  assert.deepEqual(faults, ["no such file", "no sees in it", undefined, "no heading #nothing", undefined]);
  const content =
    "`src/nothing.ts` `db/sql.ts` `http/nothing.ts` `data/` `Content-Type`\n```\n`src/b.ts`\n```";
  assert.deepEqual(missingPaths("docs/a.md", content), ["src/nothing.ts", "http/nothing.ts"]);
});

/** Folders whose files the README of their parent describes: each has the same form. */
const DESCRIBED_ABOVE = /^src\/(?:http\/routes|cli|db\/engines\/\w+\/migrations)\/?/;

test("each folder of src has a README of at most one page", () => {
  const folders = ["src", ...globSync("src/**/", { cwd: ROOT })].map((path) => relative("", path) || path);
  const readmes = folders.map((folder) => join(folder, "README.md"));
  for (const readme of readmes) {
    const folder = dirname(readme);
    const hasCode = globSync("*.ts", { cwd: join(ROOT, folder) }).length > 0;
    const isDescribed = DESCRIBED_ABOVE.test(`${dirname(folder)}/`) && folder !== "src/http/routes";
    if (hasCode && !isDescribed) assert.ok(existsSync(join(ROOT, readme)), `${readme} is missing`);
    if (!existsSync(join(ROOT, readme)) || !statSync(join(ROOT, readme)).isFile()) continue;
    const words = read(readme).split(/\s+/).length;
    assert.ok(words <= 500, `${readme} has ${words} words`);
  }
});
