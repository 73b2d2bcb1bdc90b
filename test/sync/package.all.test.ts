// Tests the published package: packed, installed into a new project with the client, and used as its README says.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
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

const DATABASE = "parley.db";
const GUIDE = join(ROOT, "docs/guides/offline.md");

let project: Project;

before(async () => {
  project = await createProject(["parley-client", "parley-sync"], ["idb"]);
});

after(() => project.remove());

/** Returns the code of the README. */
const code = async () => (await codeBlocks(join(ROOT, "packages/parley-sync/README.md"), "ts")).join("\n");

test("the package contains what it needs and nothing else", () => {
  const needed = ["index", "indexeddb", "sqlite"].flatMap((name) => [`dist/${name}.js`, `dist/${name}.d.ts`]);
  checkContents(project.packed["parley-sync"]!, needed);
});

const STORES: Record<string, (code: string) => string> = {
  memoryStore: (code) => code,
  sqliteStore: (code) =>
    code
      .replace("memoryStore, ", "")
      .replace("memoryStore()", `sqliteStore("${DATABASE}")`)
      .concat('import { sqliteStore } from "parley-sync/sqlite";\n'),
};

for (const [store, withStore] of Object.entries(STORES))
  test(`every line of packages/parley-sync/README.md runs as written (${store})`, async (t) => {
    const command = await commandLine(t);
    const token = tokenOf(await command.serve());
    const written = withStore((await code()).replaceAll("http://127.0.0.1:8080", command.url));
    const ending = `
      while (conversation.getSnapshot().messages.at(-1)?.state !== "sent")
        await new Promise((resolve) => setTimeout(resolve, 20));
      end();
      await sync.close();`;
    await writeFile(join(project.folder, `${store}.ts`), written + ending);
    const { stdout } = await run(process.execPath, ["--no-warnings", `${store}.ts`], {
      cwd: project.folder,
      env: { ...process.env, PARLEY_TOKEN: token },
    });
    const lines = stdout.trim().split("\n");
    assert.ok(lines.includes("waiting"), stdout);
    assert.equal(lines.at(-1), "Hello Ada sent");
    assert.equal(existsSync(join(project.folder, DATABASE)), store === "sqliteStore");
  });

test("every line of docs/guides/offline.md runs as written and prints what it says", async (t) => {
  const command = await commandLine(t);
  const token = tokenOf(await command.serve());
  await writeFile(join(project.folder, "offline.ts"), (await codeBlocks(GUIDE, "ts")).join("\n"));
  await rm(join(project.folder, DATABASE), { force: true });
  const { stdout } = await run(process.execPath, ["--no-warnings", "offline.ts"], {
    cwd: project.folder,
    env: { ...process.env, PARLEY_URL: command.url, PARLEY_TOKEN: token },
  });
  assert.equal(stdout, (await codeBlocks(GUIDE, "text")).join(""));
});

test("the types compile in Node and in browsers, and refuse what the package does not know", async () => {
  await writeFile(join(project.folder, "readme.ts"), await code());
  await writeFile(join(project.folder, "offline.ts"), (await codeBlocks(GUIDE, "ts")).join("\n"));
  await writeFile(
    join(project.folder, "browser.ts"),
    `import { Parley } from "parley-client";
    import { openSync } from "parley-sync";
    import { indexedDbStore } from "parley-sync/indexeddb";
    const client = new Parley({ url: "", token: "" });
    export const sync = await openSync({ client, store: await indexedDbStore("parley") });\n`,
  );
  await writeFile(
    join(project.folder, "wrong.ts"),
    `import { sync } from "./browser.js";
    sync.send("cnv_1", { txt: "Hello" });
    sync.conversation(1);`,
  );
  assert.equal(await compile(project, IN_NODE, "readme.ts", "offline.ts"), "");
  assert.equal(await compile(project, IN_BROWSERS, "browser.ts"), "");
  const said = await compile(project, IN_BROWSERS, "wrong.ts");
  assert.deepEqual(said.match(/^wrong\.ts\(\d+/gm), ["wrong.ts(2", "wrong.ts(3"]);
});

test("the package runs on Node 20", async (t) => {
  const node = await oldNode();
  if (!node) return t.skip("This machine has no Node 20.");
  const server = await startApp(t);
  const { token } = await server.user();
  const lines = `import { Parley } from "parley-client";
    import { memoryStore, openSync } from "parley-sync";
    const until = async (isDone) => {
      while (!isDone()) await new Promise((resolve) => setTimeout(resolve, 20));
    };
    const client = new Parley({ url: "${server.url}", token: "${token}" });
    const sync = await openSync({ client, store: memoryStore() });
    await until(() => sync.connection().getSnapshot().state === "live");
    const { conversation_id } = await client.groups.create({ name: "Climbing" });
    const group = sync.conversation(conversation_id);
    const end = group.subscribe(() => {});
    await until(() => group.getSnapshot().members);
    sync.send(conversation_id, { text: "Hello", files: [new File(["hello"], "hello.txt")] });
    await until(() => sync.outbox().getSnapshot().length === 0);
    const { members, messages } = group.getSnapshot();
    const { text, state, attachments } = messages.at(-1);
    console.log(members.length, text, state, attachments[0].filename);
    end();
    await sync.close();`;
  await writeFile(join(project.folder, "old.js"), lines);
  const { stdout, stderr } = await run(node, ["old.js"], { cwd: project.folder, timeout: 60_000 });
  assert.deepEqual([stdout, stderr], ["1 Hello sent hello.txt\n", ""]);
});
