// The version of a release, in a clone. The other files of this folder test the packages that it makes.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { ROOT, run } from "../support/packed.ts";

const folder = mkdtempSync(join(tmpdir(), "parley-clone-"));
after(() => rmSync(folder, { recursive: true, force: true }));

/** Runs the command in the clone, and returns its exit code and what it printed. */
async function release(...args: string[]): Promise<{ code: number; output: string }> {
  // Node's test runner would not run the tests that write the OpenAPI documents inside of another test.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  return run("npm", ["run", "-s", "release", "--", ...args], { cwd: folder, env }).then(
    ({ stdout }) => ({ code: 0, output: stdout }),
    ({ code, stdout, stderr }) => ({ code, output: stdout + stderr }),
  );
}

test("a release needs an entry in the changelog, and sets the version everywhere before it makes anything", async () => {
  await run("git", ["clone", "--quiet", "--shared", ROOT, folder]);
  for (const path of ["node_modules", "runtime/node_modules"])
    if (existsSync(join(ROOT, path))) symlinkSync(join(ROOT, path), join(folder, path));
  const changelog = join(folder, "CHANGELOG.md");
  const text = readFileSync(changelog, "utf8");
  assert.match((await release("9.8.7")).output, /It must begin with "## 9\.8\.7 - YYYY-MM-DD"/);
  for (const version of ["9.8", "9.8.7-rc.1"])
    assert.match((await release(version)).output, /Name a version/, version);
  assert.equal((await run("git", ["diff", "--name-only"], { cwd: folder })).stdout, "");

  writeFileSync(changelog, text.replace(/^## .*/m, "## 9.8.7 - 2030-01-01"));
  const { code, output } = await release("9.8.7");
  assert.equal(code, 1);
  assert.match(output, /The version is now 9\.8\.7\. Commit all changes, and run this command again/);
  assert.ok(!existsSync(join(folder, "release")));
  const { stdout } = await run("git", ["diff", "--name-only", "--", ":!docs/dist"], { cwd: folder });
  const packages = ["client", "embed", "react", "sync"].map((name) => `packages/parley-${name}`);
  const json = [
    "package-lock.json",
    "package.json",
    ...packages.map((name) => `${name}/package.json`),
    "src/http/openapi/openapi-3.0.json",
  ];
  const pages = ["docs/install.md", ...packages.map((name) => `${name}/README.md`)];
  assert.deepEqual(
    stdout.trim().split("\n").sort(),
    ["CHANGELOG.md", ...json, ...pages, "src/http/openapi/openapi.json"].sort(),
  );
  for (const path of json)
    assert.match(readFileSync(join(folder, path), "utf8"), /"version": "9\.8\.7"/, path);
  for (const path of pages) {
    const named = readFileSync(join(folder, path), "utf8").match(/\d+\.\d+\.\d+(?=\.tgz|_amd64\.deb)/g)!;
    assert.deepEqual([...new Set(named)], ["9.8.7"], path);
  }
  const react = JSON.parse(readFileSync(join(folder, "packages/parley-react/package.json"), "utf8"));
  assert.equal(react.peerDependencies["parley-sync"], "9.8.7");
  await run("npm", ["ls", "--workspaces", "--package-lock-only"], { cwd: folder });
});
