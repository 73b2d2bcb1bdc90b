// The first page of the documentation: its lines send a message in each of four ways.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { startApp } from "../support/app.ts";
import { noChromium, openBrowser } from "../support/engines/chromium.ts";
import { without } from "../support/engines/packages.ts";
import {
  codeBlocks,
  compile,
  createProject,
  IN_BROWSERS,
  IN_NODE,
  type Project,
  ROOT,
  run,
} from "../support/packed.ts";
import { pair } from "../support/people.ts";
import { type Fate, proxy } from "../support/proxy.ts";
import { buildApp } from "./built-app.ts";

const REACT = ["react", "react-dom", "scheduler", "@types/react", "@types/react-dom", "csstype"];

let project: Project;

before(async () => {
  project = await createProject(["parley-client", "parley-sync", "parley-react"], ["idb", ...REACT]);
});

after(() => project.remove());

/** Returns the last block of the page in this language, of which the page has `count`. */
async function blockOf(language: string, count = 1): Promise<string> {
  const blocks = await codeBlocks(join(ROOT, "docs/README.md"), language);
  assert.equal(blocks.length, count, language);
  return blocks.at(-1)!;
}

test("the first page shows at most ten lines of code in each way", async () => {
  for (const [language, count] of [["sh", 2], ["ts"], ["tsx"], ["html", 2]] as const) {
    const lines = (await blockOf(language, count)).split("\n").filter((line) => line !== "");
    assert.ok(lines.length <= 11, `${language}: ${lines.length}`);
  }
});

test("the curl of the first page sends a message and reads it", {
  skip: without("/usr/bin/curl"),
}, async (t) => {
  const server = await startApp(t);
  const { token } = await server.user();
  const env = { ...process.env, PARLEY_URL: server.url, PARLEY_TOKEN: token };
  const { stdout } = await run("bash", ["-euc", await blockOf("sh", 2)], { env });
  assert.equal(stdout.match(/"text":"Hello"/g)?.length, 2, stdout);
});

test("the TypeScript of the first page compiles, sends a message and shows it", async (t) => {
  const server = await startApp(t);
  const { token } = await server.user();
  await writeFile(join(project.folder, "home.ts"), await blockOf("ts"));
  assert.equal(await compile(project, IN_NODE, "home.ts"), "");
  const env = { ...process.env, PARLEY_URL: server.url, PARLEY_TOKEN: token };
  const started = spawn(process.execPath, ["home.ts"], { cwd: project.folder, env });
  t.after(() => started.kill());
  // It waits for further messages.
  for await (const printed of started.stdout) {
    assert.equal(String(printed), "Hello\n");
    break;
  }
});

/** Opens a page of the server's origin, whose files `serve` returns, as Ann. */
async function openPage(t: Parameters<typeof proxy>[0], serve: (path: string) => Fate) {
  const server = await startApp(t);
  const { ann, conversation } = await pair(server);
  const between = await proxy(t, server.url, (path) => (path.startsWith("/v1/") ? "pass" : serve(path)));
  const page = await (await (await openBrowser(t)).newContext()).newPage();
  const hash = new URLSearchParams({ token: ann.token, conversation_id: conversation });
  await page.goto(`${between.url}/#${hash}`);
  return page;
}

test("the React of the first page compiles, sends a message and shows it", {
  skip: noChromium,
}, async (t) => {
  const root = join(project.folder, "react");
  await mkdir(root);
  const files = {
    "chat.tsx": await blockOf("tsx"),
    "main.tsx": `import { Parley } from "parley-client";
      import { ParleyProvider } from "parley-react";
      import { memoryStore, openSync } from "parley-sync";
      import { createRoot } from "react-dom/client";
      import { Chat } from "./chat";
      const hash = new URLSearchParams(location.hash.slice(1));
      const client = new Parley({ url: location.origin, token: hash.get("token")! });
      const sync = await openSync({ client, store: memoryStore() });
      createRoot(document.body).render(
        <ParleyProvider sync={sync}><Chat id={hash.get("conversation_id")!} /></ParleyProvider>,
      );`,
    "index.html": '<!doctype html><body><script type="module" src="/main.tsx"></script>',
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(root, name), text);
  const settings = [...IN_BROWSERS, "--jsx", "react-jsx"];
  assert.equal(await compile(project, settings, "react/main.tsx"), "");
  const serve = await buildApp({ root, configFile: false, build: { target: "es2023" } });
  const page = await openPage(t, serve);
  await page.getByLabel("Message").fill("Hello Bob");
  await page.getByLabel("Message").press("Enter");
  await page.locator("p", { hasText: "Hello Bob" }).waitFor();
});

test("the HTML of the first page sends a message and shows it, without a build", {
  skip: noChromium,
}, async (t) => {
  const html = await blockOf("html", 2);
  const modules = new Map<string, string>();
  for (const path of project.packed["parley-client"]!.filter((name) => name.endsWith(".js"))) {
    const file = join(project.folder, "node_modules/parley-client", path);
    assert.ok(existsSync(file));
    modules.set(`/node_modules/parley-client/${path}`, await readFile(file, "utf8"));
  }
  const page = await openPage(t, (path) => {
    const module = modules.get(path);
    const type = module === undefined ? "text/html" : "text/javascript";
    return { status: 200, headers: { "content-type": type }, body: module ?? html };
  });
  await page.locator("#log", { hasText: "Hello" }).waitFor();
});
