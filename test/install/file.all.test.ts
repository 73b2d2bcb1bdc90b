// Parley as one file, alone in a folder: on this machine, and on ARM by QEMU.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { commandLine } from "../support/command.ts";
import { without } from "../support/engines/packages.ts";
import { ROOT, run } from "../support/packed.ts";
import { checkCommands, checkDev } from "./installed.ts";

const MAX_BYTES = 160_000_000;
const QEMU = "/usr/bin/qemu-aarch64";

const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
const folder = mkdtempSync(join(tmpdir(), "parley-file-"));
const file = join(folder, `parley-linux-${process.arch}`);

before(() => run("npm", ["run", "-s", "release:file", "--", folder], { cwd: ROOT }));
after(() => rmSync(folder, { recursive: true, force: true }));

test("one file serves every page", (t) => checkDev(t, [file], {}, folder));

test("all commands run from one file", (t) => checkCommands(t, file, version));

test("one file makes no previews, and says so", async (t) => {
  const command = await commandLine(t, { PARLEY_PREVIEWS: join(folder, "previews") }, file);
  const { code, stderr } = await command.run("serve");
  assert.equal(code, 2);
  assert.match(
    stderr,
    /^parley: PARLEY_PREVIEWS needs .* cannot be part of one file\. Unset it, or install /,
  );
});

test("the file for ARM serves every page", { skip: without(QEMU) }, (t) => {
  const emulated = [QEMU, "-L", "/usr/aarch64-linux-gnu", join(folder, "parley-linux-arm64")];
  return checkDev(t, emulated, {}, folder);
});

test("the files are small enough to download, and their licences are beside them", () => {
  for (const machine of ["x64", "arm64"])
    assert.ok(statSync(join(folder, `parley-linux-${machine}`)).size < MAX_BYTES, machine);
  const licences = readFileSync(join(folder, "parley-licenses.md"), "utf8");
  for (const text of ["Parley", "Node.js is licensed for use as follows", "## fastify", "## preact"])
    assert.ok(licences.includes(text), text);
});
