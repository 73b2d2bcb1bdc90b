// Tests the published components: packed, installed into a new project, and used as their README says.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, type TestContext, test } from "node:test";
import { createServer, type InlineConfig } from "vite";
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
import { type Fate, proxy } from "../support/proxy.ts";
import { buildApp } from "../sync/built-app.ts";

const README = join(ROOT, "packages/parley-embed/README.md");
const SERVER = "http://127.0.0.1:8080";

let project: Project;

before(async () => {
  project = await createProject(["parley-embed"]);
});

after(() => project.remove());

/** Returns the module of the README, and with `texts` also its lines that change texts. */
const code = async ({ texts = false } = {}) =>
  (await codeBlocks(README, "ts")).slice(0, texts ? 2 : 1).join("");

test("the package of the components contains what it needs and nothing else", async () => {
  const types = ["index", "element", "types"].map((name) => `dist/${name}.d.ts`);
  checkContents(project.packed["parley-embed"]!, [
    ...["dist/index.js", "dist/labels/ar.js", "src/labels/en.json", "dist/licenses.md"],
    ...types,
  ]);
  const { dependencies } = JSON.parse(
    await readFile(join(project.folder, "node_modules/parley-embed/package.json"), "utf8"),
  );
  assert.equal(dependencies, undefined);
});

test("the README of the components compiles, with the types of the package checked", async () => {
  const written = await code({ texts: true });
  await writeFile(join(project.folder, "main.ts"), written);
  await writeFile(join(project.folder, "wrong.ts"), written.replace("inbox.server =", "inbox.servers ="));
  const settings = [...IN_BROWSERS, "--resolveJsonModule"];
  assert.equal(await compile(project, settings, "main.ts"), "");
  assert.match(await compile(project, settings, "wrong.ts"), /^wrong\.ts\S+ error TS2551[^\n]*\n$/);
});

/** Writes the module of the README, with the origin of its page as server, and a page that loads it. */
async function writeApp(module: string): Promise<InlineConfig> {
  const files = {
    "main.ts": module.replace(`"${SERVER}"`, "location.origin"),
    "index.html": '<!doctype html><body></body><script type="module" src="/main.ts"></script>',
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(project.folder, name), text);
  return { root: project.folder, configFile: false, logLevel: "error", build: { target: "es2023" } };
}

/**
 * Opens the page of an app as Ann, with German as the language of the browser. `start` gets the address of its back end, which
 * serves its built files, and returns the address of the page.
 */
async function openInGerman(
  t: TestContext,
  serve: (path: string) => Fate,
  start = async (origin: string) => origin,
) {
  const server = await startOn(t, await testConfig(t));
  const { ann, bob, conversation } = await pair(server);
  await say(server, bob, conversation, "Hallo Ann");
  const between = await proxy(t, server.url, (path) => {
    if (path.startsWith("/v1/")) return "pass";
    return path === "/parley-token" ? { status: 200, body: ann.token } : serve(path);
  });
  const page = await (await (await openBrowser(t)).newContext({ locale: "de-DE" })).newPage();
  await page.goto(await start(between.url));
  return { page, bob };
}

test("the module of the README, built by Vite, runs as written, in German", {
  skip: noChromium,
}, async (t) => {
  const { page, bob } = await openInGerman(t, await buildApp(await writeApp(await code())));
  await page.getByRole("heading", { name: "Unterhaltungen" }).waitFor();
  await page.getByRole("option", { name: bob.name }).click();
  await page.locator(".message", { hasText: "Hallo Ann" }).waitFor();
});

test("the module of the README runs in the development server of Vite, in German", {
  skip: noChromium,
}, async (t) => {
  const config = await writeApp(await code());
  const { page } = await openInGerman(
    t,
    () => ({ status: 404 }),
    async (origin) => {
      const proxy = { "/v1": { target: origin, ws: true }, "/parley-token": origin };
      const server = await createServer({
        ...config,
        server: { host: "127.0.0.1", port: 0, hmr: false, proxy },
      });
      t.after(() => server.close());
      await server.listen();
      return server.resolvedUrls!.local[0]!;
    },
  );
  await page.getByRole("heading", { name: "Unterhaltungen" }).waitFor();
});

test("the lines of the README that change texts run as written", { skip: noChromium }, async (t) => {
  const { page } = await openInGerman(t, await buildApp(await writeApp(await code({ texts: true }))));
  await page.getByRole("heading", { name: "Nachrichten" }).waitFor();
  await page.getByText("Wähle eine Unterhaltung").waitFor();
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
