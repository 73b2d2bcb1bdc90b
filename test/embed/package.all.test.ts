// Tests the published components: packed, installed into a new project, and used as their README says.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { startOn, testConfig } from "../support/app.ts";
import { noChromium, openBrowser } from "../support/engines/chromium.ts";
import {
  checkContents,
  codeBlocks,
  compile,
  createProject,
  IN_BROWSERS,
  type Project,
  ROOT,
} from "../support/packed.ts";
import { pair, say } from "../support/people.ts";
import { proxy } from "../support/proxy.ts";
import { buildApp } from "../sync/built-app.ts";

const README = join(ROOT, "packages/parley-embed/README.md");
const SERVER = "http://127.0.0.1:8080";

let project: Project;

before(async () => {
  project = await createProject(["parley-embed"]);
});

after(() => project.remove());

/** Returns the module of the README. */
const code = async () => (await codeBlocks(README, "ts"))[0]!;

test("the package of the components contains what it needs and nothing else", async () => {
  const types = ["index", "element", "types"].map((name) => `dist/${name}.d.ts`);
  checkContents(project.packed["parley-embed"]!, [
    ...["dist/index.js", "dist/labels/ar.json", "dist/licenses.md"],
    ...types,
  ]);
  const { dependencies } = JSON.parse(
    await readFile(join(project.folder, "node_modules/parley-embed/package.json"), "utf8"),
  );
  assert.equal(dependencies, undefined);
});

test("the README of the components compiles, with the types of the package checked", async () => {
  await writeFile(join(project.folder, "main.ts"), await code());
  await writeFile(
    join(project.folder, "wrong.ts"),
    (await code()).replace("inbox.server =", "inbox.servers ="),
  );
  const settings = [...IN_BROWSERS, "--resolveJsonModule"];
  assert.equal(await compile(project, settings, "main.ts"), "");
  assert.match(await compile(project, settings, "wrong.ts"), /^wrong\.ts\S+ error TS2551[^\n]*\n$/);
});

test("the module of the README runs as written, in German", { skip: noChromium }, async (t) => {
  const files = {
    "main.ts": (await code()).replace(`"${SERVER}"`, "location.origin"),
    "index.html": '<!doctype html><body></body><script type="module" src="/main.ts"></script>',
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(project.folder, name), text);
  const serve = await buildApp({ root: project.folder, configFile: false, build: { target: "es2023" } });
  const server = await startOn(t, await testConfig(t));
  const { ann, bob, conversation } = await pair(server);
  await say(server, bob, conversation, "Hallo Ann");
  const between = await proxy(t, server.url, (path) => {
    if (path.startsWith("/v1/")) return "pass";
    return path === "/token" ? { status: 200, body: ann.token } : serve(path);
  });
  const page = await (await (await openBrowser(t)).newContext({ locale: "de-DE" })).newPage();
  await page.goto(between.url);
  await page.getByRole("heading", { name: "Unterhaltungen" }).waitFor();
  await page.getByRole("option", { name: bob.name }).click();
  await page.locator(".message", { hasText: "Hallo Ann" }).waitFor();
});

test("the page of the README has at most ten lines, and runs as written", { skip: noChromium }, async (t) => {
  const html = (await codeBlocks(README, "html"))[0]!;
  assert.ok(html.trimEnd().split("\n").length <= 10);
  const server = await startOn(t, { ...(await testConfig(t)), corsOrigins: ["*"] });
  const { ann, bob, conversation } = await pair(server);
  await say(server, bob, conversation, "Hello Ann");
  const between = await proxy(t, server.url, () => ({
    status: 200,
    headers: { "content-type": "text/html" },
    body: html.replaceAll(SERVER, server.url),
  }));
  const context = await (await openBrowser(t)).newContext();
  await context.addInitScript(`sessionStorage.setItem("token", "${ann.token}")`);
  const page = await context.newPage();
  await page.goto(between.url);
  await page.getByRole("option", { name: bob.name }).waitFor();
});
