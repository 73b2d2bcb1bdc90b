// Tests the published parley-react: packed, installed into a new project with what it needs, and used as its README says.
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { startApp } from "../support/app.ts";
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
import { add, pair, person, say } from "../support/people.ts";
import { proxy } from "../support/proxy.ts";
import { buildApp } from "./built-app.ts";

const PACKAGES = ["parley-client", "parley-sync", "parley-react"];
const DEPENDENCIES = [
  "idb",
  "react",
  "react-dom",
  "scheduler",
  "@types/react",
  "@types/react-dom",
  "csstype",
];
const SETTINGS = [...IN_BROWSERS, "--jsx", "react-jsx"];

let project: Project;

before(async () => {
  project = await createProject(PACKAGES, DEPENDENCIES);
});

after(() => project.remove());

const README = join(ROOT, "packages/parley-react/README.md");

/** Returns the app of the README. */
const app = async () => (await codeBlocks(README, "tsx"))[0]!;

test("the package of the hooks contains what it needs and nothing else", () => {
  checkContents(project.packed["parley-react"]!, ["dist/index.js", "dist/index.d.ts"]);
});

test("the README of the hooks compiles, with the types of all packages checked", async () => {
  const code = await app();
  await writeFile(join(project.folder, "main.tsx"), code);
  await writeFile(join(project.folder, "wrong.tsx"), code.replace("useUnread()", 'useUnread("all")'));
  assert.equal(await compile(project, SETTINGS, "main.tsx"), "");
  assert.match(await compile(project, SETTINGS, "wrong.tsx"), /^wrong\.tsx\S+ error TS2554[^\n]*\n$/);
});

test("the README of the hooks runs as written", { skip: noChromium }, async (t) => {
  const files = {
    "main.tsx": (await app()).replace('"http://127.0.0.1:8080"', "location.origin"),
    "index.html": '<!doctype html><div id="app"></div><script type="module" src="/main.tsx"></script>',
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(project.folder, name), text);
  const serve = await buildApp({ root: project.folder, configFile: false, build: { target: "es2023" } });
  const server = await startApp(t);
  const { ann, bob, conversation } = await pair(server);
  await say(server, bob, conversation, "Hello Ann");
  const between = await proxy(t, server.url, (path) => (path.startsWith("/v1/") ? "pass" : serve(path)));
  const page = await (await (await openBrowser(t)).newContext()).newPage();
  page.on("dialog", (dialog) => dialog.accept(ann.token));
  await page.goto(between.url);
  await page.getByRole("heading", { name: "Inbox (1)" }).waitFor();
  await page.getByRole("button", { name: bob.name, exact: true }).click();
  await page.getByText(`${bob.name}: Hello Ann (sent)`).waitFor();
  await page.getByRole("button", { name: "Say hello" }).click();
  await page.getByText(`${ann.name}: Hello (sent)`).waitFor();
  // A conversation begins with a contact.
  const cat = await person(server, "cat");
  await add(server, ann, cat.name);
  await page.getByRole("button", { name: `Write to ${cat.name}` }).click();
  await page.getByText(`${bob.name}: Hello Ann`).waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Say hello" }).click();
  await page.getByText(`${ann.name}: Hello (sent)`).waitFor();
  await page.getByRole("button", { name: cat.name, exact: true }).waitFor();
});

test("the lines of the README that sign in and out run as written, in strict mode", {
  skip: noChromium,
}, async (t) => {
  const root = join(project.folder, "signed-in");
  await mkdir(root);
  const files = {
    "signed-in.tsx": (await codeBlocks(README, "tsx"))[1]!,
    "main.tsx": `import { Parley } from "parley-client";
      import { useInbox } from "parley-react";
      import { StrictMode } from "react";
      import { createRoot } from "react-dom/client";
      import { SignedIn } from "./signed-in";
      const client = new Parley({ url: location.origin, token: location.hash.slice(1) });
      const root = createRoot(document.body);
      const Names = () => <p>{useInbox().items.map(({ name }) => name ?? "Notes").join()}</p>;
      root.render(
        <StrictMode>
          <SignedIn userId="ann" client={client} onSignOut={() => root.render("Sign in")}><Names /></SignedIn>
        </StrictMode>,
      );`,
    "index.html": '<!doctype html><body><script type="module" src="/main.tsx"></script>',
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(root, name), text);
  assert.equal(await compile(project, SETTINGS, "signed-in/main.tsx"), "");
  const define = { "process.env.NODE_ENV": '"development"' };
  const serve = await buildApp({ root, configFile: false, define });
  const server = await startApp(t);
  const { ann, bob, conversation } = await pair(server);
  await say(server, bob, conversation, "Hello Ann");
  const between = await proxy(t, server.url, (path) => (path.startsWith("/v1/") ? "pass" : serve(path)));
  const page = await (await (await openBrowser(t)).newContext()).newPage();
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(error.message));
  await page.goto(`${between.url}/#${ann.token}`);
  await page.getByText(`${bob.name},Notes`).waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByText("Sign in", { exact: true }).waitFor();
  assert.deepEqual(errors, []);
});
