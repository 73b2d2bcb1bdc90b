// The npm package of the server, as npx runs it in an empty folder, with the registry.
import assert from "node:assert/strict";
import { cpSync, globSync, lstatSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { twoColours } from "../previews/pictures.ts";
import { commandLine, tokenOf } from "../support/command.ts";
import { ROOT, run } from "../support/packed.ts";
import { checkCommands, checkDev } from "./installed.ts";

/** Of an installation, without Node. */
const MAX_BYTES = 20_000_000;

const { version, license } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
const folder = mkdtempSync(join(tmpdir(), "parley-package-"));
const env = { npm_config_cache: join(folder, "npm") };
let archive: string;
let files: string[];
let modules: string;

before(async () => {
  const made = join(folder, "made");
  await run("npm", ["run", "-s", "release:server", "--", made], { cwd: ROOT });
  const packed = JSON.parse(
    (await run("npm", ["pack", "--json", "--pack-destination", folder], { cwd: made })).stdout,
  )[0];
  // npx would start an absolute path as a program.
  archive = `./${packed.filename}`;
  files = packed.files.map(({ path }: { path: string }) => path);
  const args = ["--yes", archive, "--version"];
  const { stdout } = await run("npx", args, { cwd: folder, env: { ...process.env, ...env } });
  assert.equal(stdout, `${version}\n`);
  modules = globSync("npm/_npx/*/node_modules", { cwd: folder }).map((path) => join(folder, path))[0]!;
});
after(() => rmSync(folder, { recursive: true, force: true }));

test("the package has code and files that are served, without tests and sources", () => {
  const wanted =
    /^(LICENSE|README\.md|package\.json|bin\/parley|runtime\/node|dist\/[\w-]+\.(js|md)|(console|docs)\/dist\/.+|packages\/parley-embed\/served\/.+|src\/db\/engines\/.+\.sql|src\/http\/(hello|openapi)\/[\w.-]+)$/;
  assert.deepEqual(
    files.filter((path) => !wanted.test(path) || /\.tsx?$|\btest\b/.test(path)),
    [],
  );
  const metadata = JSON.parse(readFileSync(join(modules, "parley-server/package.json"), "utf8"));
  assert.equal(metadata.version, version);
  assert.equal(metadata.license, license);
});

test("an installation runs no script, is small, and has no other package than Node", () => {
  const lock = JSON.parse(readFileSync(join(modules, ".package-lock.json"), "utf8"));
  const packages = Object.entries<{ hasInstallScript?: true }>(lock.packages);
  assert.deepEqual(
    packages.filter(([path]) => !/^node_modules\/node-linux-\w+$/.test(path)).map(([path]) => path),
    ["node_modules/parley-server"],
  );
  assert.ok(packages.every(([, { hasInstallScript }]) => !hasInstallScript));
  const paths = globSync("parley-server/**", { cwd: modules });
  const bytes = paths.reduce((sum, path) => sum + lstatSync(join(modules, path)).size, 0);
  assert.ok(bytes > 1_000_000 && bytes < MAX_BYTES, String(bytes));
});

test("npx runs parley dev, which serves every page", (t) =>
  checkDev(t, ["npx", "--yes", archive], env, folder));

test("all commands run from the package", (t) => checkCommands(t, join(modules, ".bin/parley"), version));

test("the server makes previews once sharp is beside it", async (t) => {
  const program = join(modules, ".bin/parley");
  const command = await commandLine(t, { PARLEY_PREVIEWS: join(folder, "previews") }, program);
  const { code, stderr } = await command.run("serve");
  assert.equal(code, 2);
  assert.match(stderr, /sharp.* is not installed.* npm install sharp/);
  for (const name of ["sharp", "@img", "detect-libc", "semver"])
    cpSync(join(ROOT, "node_modules", name), join(modules, name), { recursive: true });
  const server = await command.serve();
  const headers = { authorization: `Bearer ${tokenOf(server)}` };
  const body = new FormData();
  body.set("file", new File([await twoColours(640, 480).png().toBuffer()], "two.png"));
  const sent = await fetch(`${command.url}/v1/attachments`, { method: "POST", headers, body });
  const { file_url } = (await sent.json()) as { file_url: string };
  const preview = await fetch(`${file_url}&width=320`);
  assert.equal(preview.status, 200, await preview.text());
  assert.equal(preview.headers.get("content-type"), "image/webp");
});
