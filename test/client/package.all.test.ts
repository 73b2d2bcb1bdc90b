// Tests the published client: packed, installed into a new project, and used as its README says.
import assert from "node:assert/strict";
import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { startApp } from "../support/app.ts";
import { commandLine, tokenOf } from "../support/command.ts";
import {
  checkContents,
  codeBlocks,
  compile,
  createProject,
  IN_BROWSERS,
  IN_NODE,
  oldNode,
  type Project,
  ROOT,
  run,
} from "../support/packed.ts";

const README = join(ROOT, "packages/parley-client/README.md");
const GUIDE = join(ROOT, "docs/guides/add-chat-to-your-app.md");

let project: Project;

before(async () => {
  project = await createProject(["parley-client"]);
  await cp(README, join(project.folder, "README.md"));
});

after(() => project.remove());

test("the package contains what it needs and nothing else", () => {
  const needed = ["dist/index.js", "dist/index.d.ts", "dist/server.js", "dist/node-files.js"];
  checkContents(project.packed["parley-client"]!, needed);
});

test("every line of packages/parley-client/README.md runs as written and prints what it says", async (t) => {
  const PARLEY_JWT_SECRET = "s".repeat(32);
  const command = await commandLine(t, { PARLEY_JWT_SECRET });
  const token = tokenOf(await command.serve());
  const code = (await codeBlocks(README, "ts")).join("\n").replaceAll("http://127.0.0.1:8080", command.url);
  await writeFile(join(project.folder, "readme.ts"), code);
  const { stdout } = await run(process.execPath, ["readme.ts"], {
    cwd: project.folder,
    env: { ...process.env, PARLEY_TOKEN: token, PARLEY_JWT_SECRET },
  });
  assert.equal(stdout, (await codeBlocks(README, "text")).join(""));
  assert.equal(await readFile(join(project.folder, "copy.md"), "utf8"), await readFile(README, "utf8"));
});

test("every line of the guide runs as written and prints what it says", async (t) => {
  const secret = "a secret that the app and the server share";
  const command = await commandLine(t, {
    PARLEY_JWT_SECRET: secret,
    PARLEY_WEBHOOKS_ALLOW_PRIVATE: "true",
  });
  const token = tokenOf(await command.serve());
  // Nothing listens there.
  const code = (await codeBlocks(GUIDE, "ts"))
    .join("\n")
    .replace("https://push.shop.example/", "http://127.0.0.1:9/");
  await writeFile(join(project.folder, "guide.ts"), code);
  const { stdout } = await run(process.execPath, ["guide.ts"], {
    cwd: project.folder,
    env: { ...process.env, PARLEY_URL: command.url, PARLEY_TOKEN: token, PARLEY_JWT_SECRET: secret },
  });
  assert.equal(stdout, (await codeBlocks(GUIDE, "text")).join(""));
});

test("the types compile in Node and in browsers, and refuse what the API does not know", async () => {
  const pages = { "typed.ts": README, "guide.ts": GUIDE };
  for (const [name, page] of Object.entries(pages))
    await writeFile(join(project.folder, name), (await codeBlocks(page, "ts")).join("\n"));
  const files = Object.keys(pages);
  assert.equal(await compile(project, IN_NODE, ...files), "");
  const process = "declare const process: { env: Record<string, string | undefined> };\n";
  await writeFile(join(project.folder, "process.d.ts"), process);
  assert.equal(await compile(project, IN_BROWSERS, ...files, "process.d.ts"), "");
  const wrong = `import { Parley } from "parley-client";
    const parley = new Parley({ url: "", token: "" });
    parley.contacts.create({ name: "ada" });
    parley.contacts.list({ colour: "red" });`;
  await writeFile(join(project.folder, "wrong.ts"), wrong);
  const said = await compile(project, IN_NODE, "wrong.ts");
  assert.deepEqual(said.match(/^wrong\.ts\(\d+/gm), ["wrong.ts(3", "wrong.ts(4"]);
});

test("the package runs on Node 20", async (t) => {
  const node = await oldNode();
  if (!node) return t.skip("This machine has no Node 20.");
  const server = await startApp(t);
  const { token } = await server.user();
  const code = `import { Parley } from "parley-client";
    const parley = new Parley({ url: "${server.url}", token: "${token}" });
    const stop = new AbortController();
    const listening = (async () => {
      for await (const { type } of parley.events.stream({ signal: stop.signal })) {
        console.log(type);
        stop.abort();
      }
    })();
    async function* chunks() { for (let i = 0; i < 30; i++) yield new Uint8Array(100_000); }
    const progress = [];
    const onProgress = ({ sent }) => progress.push(sent);
    for (const source of ["README.md", chunks(), new Blob(["x".repeat(1e6)]), new Uint8Array(1e6)]) {
      const made = await parley.attachments.upload(source, { filename: "文件.md", size: source.next && 3e6, onProgress });
      const download = await parley.attachments.download(made);
      await download.saveTo("copy");
      console.log(made.filename, made.file_size === download.size);
    }
    for await (const { filename } of parley.attachments.list({ limit: 1 })) console.log(filename);
    console.log(progress.length > 60);
    await listening;`;
  await writeFile(join(project.folder, "old.js"), code);
  const { stdout, stderr } = await run(node, ["old.js"], { cwd: project.folder });
  const lines = stdout.trim().split("\n").sort();
  assert.deepEqual(lines, [
    "message.created",
    "true",
    ...Array(4).fill("文件.md"),
    ...Array(4).fill("文件.md true"),
  ]);
  assert.equal(stderr, "");
});
