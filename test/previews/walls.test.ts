// What code that takes over the process cannot do, thanks to Node and the kernel.
import assert from "node:assert/strict";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { childCommand, findSharp } from "../../src/previews/command.ts";
import { PreviewProcess } from "../../src/previews/process.ts";
import { makeOf, testMaker, twoColours } from "./pictures.ts";

const ROOT = join(import.meta.dirname, "../..");

/** Runs code in place of the decoder, and returns its standard error. */
async function runInside(code: string): Promise<string> {
  const { command } = childCommand(findSharp());
  const inside = new PreviewProcess([...command.slice(0, -1), "--input-type=module", "-e", code], 60_000);
  const ended = await inside.begin().catch((error: Error) => error.message);
  assert.match(String(ended), /^It ended with 0\./);
  return String(ended).slice("It ended with 0.".length).trim();
}

test("the process can read only its own code, and cannot write, start processes or see the environment", async () => {
  const outcome = JSON.parse(
    await runInside(`
      import * as fs from "node:fs";
      import { spawnSync } from "node:child_process";
      import { Worker } from "node:worker_threads";
      const tries = {
        code: () => fs.readFileSync(${JSON.stringify(join(ROOT, "src/previews/child.ts"))}),
        passwords: () => fs.readFileSync("/etc/passwd"),
        settings: () => fs.readFileSync(${JSON.stringify(join(ROOT, "package.json"))}),
        list: () => fs.readdirSync("/"),
        write: () => fs.writeFileSync("/tmp/parley-wall", "x"),
        start: () => spawnSync("/bin/true"),
        thread: () => new Worker("", { eval: true }),
        environ: () => fs.readFileSync("/proc/self/environ"),
      };
      const outcomes = {};
      for (const [name, attempt] of Object.entries(tries)) {
        try { attempt(); outcomes[name] = "done"; } catch (error) { outcomes[name] = error.code; }
      }
      console.error(JSON.stringify({ outcomes, variables: Object.keys(process.env) }));
    `),
  );
  const denied = "ERR_ACCESS_DENIED";
  assert.deepEqual(outcome, {
    outcomes: {
      ...{ code: "done", passwords: denied, settings: denied, list: denied, write: denied },
      ...{ start: denied, thread: denied, environ: denied },
    },
    variables: [],
  });
});

test("the process has no environment and its own kernel limits", async (t) => {
  const { isLimited } = childCommand(findSharp());
  if (!isLimited) return t.skip("prlimit is missing");
  const { maker } = testMaker(t);
  assert.ok(await makeOf(maker, await twoColours(64, 64).png().toBuffer()));
  const of = (file: string) => readFileSync(`/proc/${maker.pid}/${file}`, "utf8");
  assert.equal(of("environ"), "");
  const limit = (name: string) =>
    new RegExp(`^${name} +(\\d+) +(\\d+) `, "m").exec(of("limits"))?.slice(1, 3);
  assert.deepEqual(limit("Max cpu time"), ["30", "30"]);
  assert.deepEqual(limit("Max data size"), ["2147483648", "2147483648"]);
  assert.deepEqual(limit("Max open files"), ["64", "64"]);
  assert.deepEqual(limit("Max file size"), ["0", "0"]);
  const threads = readdirSync(`/proc/${maker.pid}/task`);
  const niceness = threads.map((id) => of(`task/${id}/stat`).split(") ")[1]!.split(" ")[16]);
  assert.deepEqual(new Set(niceness), new Set(["10"]));
});

test("sharp must be installed and recent enough", async (t) => {
  const place = mkdtempSync(join(tmpdir(), "parley-sharp-"));
  t.after(() => rmSync(place, { recursive: true }));
  for (const file of ["src/previews/command.ts", "src/assets.ts", "src/errors.ts"])
    cpSync(join(ROOT, file), join(place, file));
  writeFileSync(join(place, "package.json"), '{ "type": "module" }');
  const { findSharp } = (await import(
    pathToFileURL(join(place, "src/previews/command.ts")).href
  )) as typeof import("../../src/previews/command.ts");
  const advice = (found: string) =>
    new RegExp(`sharp, version 0\\.35\\.4 or newer, and ${found}.* npm install sharp$`);
  assert.throws(() => findSharp(), advice("it is not installed"));
  const folder = join(place, "node_modules/sharp");
  mkdirSync(join(folder, "lib"), { recursive: true });
  writeFileSync(join(folder, "lib/index.js"), "");
  for (const [version, isEnough] of [
    ["0.34.9", false],
    ["0.35.3", false],
    ["0.35.4", true],
    ["0.35.10", true],
    ["0.36.0", true],
    ["1.0.0", true],
  ] as const) {
    writeFileSync(
      join(folder, "package.json"),
      JSON.stringify({ name: "sharp", version, main: "lib/index.js" }),
    );
    if (isEnough) assert.equal(findSharp()[0], folder);
    else assert.throws(() => findSharp(), advice(`version ${version} is installed`));
  }
});
