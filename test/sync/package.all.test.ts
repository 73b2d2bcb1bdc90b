// Tests the published package: packed, installed into a new project with the client, and used as its README says.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { commandLine, tokenOf } from "../support/command.ts";

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, "../..");
const SYNC = join(ROOT, "packages/parley-sync");

let project: string;
let packed: string[];

/** Packs a package into the project, and returns the name of the archive and its files. */
async function pack(folder: string): Promise<{ filename: string; files: string[] }> {
  const { stdout } = await run("npm", ["pack", "--json", "--pack-destination", project], { cwd: folder });
  const [{ filename, files }] = JSON.parse(stdout.slice(stdout.indexOf("[\n")));
  return { filename, files: files.map(({ path }: { path: string }) => path) };
}

before(async () => {
  project = await mkdtemp(join(tmpdir(), "parley-sync-"));
  const client = await pack(join(ROOT, "packages/parley-client"));
  const sync = await pack(SYNC);
  packed = sync.files;
  await writeFile(join(project, "package.json"), '{ "type": "module", "private": true }');
  const archives = [client, sync].map(({ filename }) => `./${filename}`);
  const offline = ["--offline", "--install-links", "--no-audit", "--no-fund"];
  await run("npm", ["install", ...offline, ...archives, join(ROOT, "node_modules/idb")], { cwd: project });
});

after(() => rm(project, { recursive: true, force: true }));

/** Returns the code of the README. */
async function code(): Promise<string> {
  const text = await readFile(join(SYNC, "README.md"), "utf8");
  return [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map((match) => match[1]!).join("\n");
}

test("the package contains what it needs and nothing else", () => {
  const wanted = /^(LICENSE|README\.md|package\.json|dist\/[a-z-]+\.(js|d\.ts))$/;
  assert.deepEqual(
    packed.filter((path) => !wanted.test(path)),
    [],
  );
  for (const name of ["index", "indexeddb", "sqlite"])
    for (const path of [`dist/${name}.js`, `dist/${name}.d.ts`]) assert.ok(packed.includes(path), path);
});

const STORES: Record<string, (code: string) => string> = {
  memoryStore: (code) => code,
  sqliteStore: (code) =>
    code
      .replace("memoryStore, ", "")
      .replace("memoryStore()", 'sqliteStore("parley.db")')
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
    await writeFile(join(project, `${store}.ts`), written + ending);
    const { stdout } = await run(process.execPath, ["--no-warnings", `${store}.ts`], {
      cwd: project,
      env: { ...process.env, PARLEY_TOKEN: token },
    });
    const lines = stdout.trim().split("\n");
    assert.ok(lines.includes("waiting"), stdout);
    assert.equal(lines.at(-1), "Hello Ada sent");
  });

test("the types compile in Node and in browsers, and refuse what the package does not know", async () => {
  await writeFile(join(project, "readme.ts"), await code());
  await writeFile(
    join(project, "browser.ts"),
    `import { Parley } from "parley-client";
    import { openSync } from "parley-sync";
    import { indexedDbStore } from "parley-sync/indexeddb";
    const client = new Parley({ url: "", token: "" });
    export const sync = await openSync({ client, store: await indexedDbStore("parley") });\n`,
  );
  await writeFile(
    join(project, "wrong.ts"),
    `import { sync } from "./browser.js";
    sync.send("cnv_1", { txt: "Hello" });
    sync.conversation(1);`,
  );
  const compile = (...settings: string[]) => {
    const strict = ["--ignoreConfig", "--noEmit", "--strict", "--exactOptionalPropertyTypes"];
    return run(join(ROOT, "node_modules/.bin/tsc"), [...strict, "--target", "es2023", ...settings], {
      cwd: project,
    }).then(
      ({ stdout }) => stdout,
      ({ stdout }) => stdout as string,
    );
  };
  const types = ["--typeRoots", join(ROOT, "node_modules/@types"), "--types", "node"];
  assert.equal(await compile("--module", "nodenext", "--lib", "esnext", ...types, "readme.ts"), "");
  const browser = [
    "--module",
    "esnext",
    "--moduleResolution",
    "bundler",
    "--lib",
    "esnext,dom",
    "--types",
    "",
  ];
  assert.equal(await compile(...browser, "browser.ts"), "");
  const said = await compile(...browser, "wrong.ts");
  assert.deepEqual(said.match(/^wrong\.ts\(\d+/gm), ["wrong.ts(2", "wrong.ts(3"]);
});
