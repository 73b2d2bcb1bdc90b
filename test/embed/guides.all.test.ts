// The lines of the guides that show a conversation or an inbox: in React and in HTML.
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, type TestContext, test } from "node:test";
import { startApp } from "../support/app.ts";
import { noChromium, openBrowser } from "../support/engines/chromium.ts";
import { codeBlocks, compile, createProject, IN_BROWSERS, type Project, ROOT } from "../support/packed.ts";
import { add, person, say } from "../support/people.ts";
import { type Fate, proxy } from "../support/proxy.ts";
import { buildApp } from "../sync/built-app.ts";
import { message, write } from "./pages.ts";

const CHAT = join(ROOT, "docs/guides/add-chat-to-your-app.md");
const INBOX = join(ROOT, "docs/guides/embed.md");
const REACT = ["react", "react-dom", "scheduler", "@types/react", "@types/react-dom", "csstype"];

let project: Project;

before(async () => {
  project = await createProject(
    ["parley-client", "parley-sync", "parley-react", "parley-embed"],
    ["idb", ...REACT],
  );
});

after(() => project.remove());

/** Returns the first block of a guide in this language. */
async function blockOf(guide: string, language: string): Promise<string> {
  return (await codeBlocks(guide, language))[0]!;
}

/** Opens a page of the server's origin as Ann. `serve` returns its files, and the back end of the app a token. */
async function openAsAnn(t: TestContext, serve: (path: string, origin: string) => Fate) {
  const server = await startApp(t);
  const [ann, bob] = [await person(server, "ann"), await person(server, "bob")];
  const { conversation_id: conversation } = await add(server, ann, "bob");
  await add(server, bob, "ann");
  await say(server, bob, conversation, "Hello Ann");
  let origin = "";
  const between = await proxy(t, server.url, (path) => {
    if (/^\/(?:v1|embed)/.test(path)) return "pass";
    return path === "/parley-token" ? { status: 200, body: ann.token } : serve(path, origin);
  });
  origin = between.url;
  const page = await (await (await openBrowser(t)).newContext()).newPage();
  await page.goto(`${origin}/#${conversation}`);
  return page;
}

/** Compiles and builds an app that renders what the block of a guide in TSX exports. Returns its files. */
async function buildReact(guide: string, element: string): Promise<(path: string) => Fate> {
  const [name] = /\w+/.exec(element)!;
  const root = join(project.folder, name);
  await mkdir(root);
  const code = (await blockOf(guide, "tsx"))
    .replace('="https://chat.example"', "={location.origin}")
    .replace('"https://chat.example"', "location.origin");
  const files = {
    "guide.tsx": code,
    "get-token.ts": await blockOf(CHAT, "js"),
    "main.tsx": `import { createRoot } from "react-dom/client";
      import { ${name} } from "./guide";
      createRoot(document.querySelector("main")!).render(${element});`,
    "index.html": '<!doctype html><main></main><script type="module" src="/main.tsx"></script>',
  };
  for (const [path, text] of Object.entries(files)) await writeFile(join(root, path), text);
  const settings = [...IN_BROWSERS, "--jsx", "react-jsx"];
  assert.equal(await compile(project, settings, `${name}/main.tsx`), "");
  return buildApp({ root, configFile: false, build: { target: "es2023" } });
}

/** Returns the files of a page without a build: its scripts by path, and for other paths its HTML. */
function toPage(html: string, scripts: Readonly<Record<string, string>>) {
  return (path: string, origin: string): Fate => {
    const script = scripts[path];
    const type = script === undefined ? "text/html" : "text/javascript";
    const body = script ?? html.replaceAll("https://chat.example", origin);
    return { status: 200, headers: { "content-type": type }, body };
  };
}

test("the React of the guide for apps shows a conversation and sends a message", {
  skip: noChromium,
}, async (t) => {
  const page = await openAsAnn(t, await buildReact(CHAT, "<Chat id={location.hash.slice(1)} />"));
  await page.getByText("bob: Hello Ann").waitFor();
  await page.getByLabel("Message").fill("Hello Bob");
  await page.getByLabel("Message").press("Enter");
  await page.getByText("ann: Hello Bob").waitFor();
});

test("the HTML of the guide for apps shows a conversation and sends a message", {
  skip: noChromium,
}, async (t) => {
  const scripts = { "/get-token.js": await blockOf(CHAT, "js") };
  const page = await openAsAnn(t, toPage(await blockOf(CHAT, "html"), scripts));
  await message(page, "Hello Ann").waitFor();
  await write(page, "Hello Bob");
  await message(page, "Hello Bob").waitFor();
});

test("the HTML of the guide for pages shows an inbox", { skip: noChromium }, async (t) => {
  const scripts = { "/token.js": await blockOf(INBOX, "js") };
  const page = await openAsAnn(t, toPage(await blockOf(INBOX, "html"), scripts));
  await page.getByRole("option", { name: /^bob.*Hello Ann/s }).waitFor();
});

test("the React of the guide for pages shows an inbox", { skip: noChromium }, async (t) => {
  const page = await openAsAnn(t, await buildReact(INBOX, "<Inbox />"));
  await page.getByRole("option", { name: /^bob.*Hello Ann/s }).waitFor();
});
