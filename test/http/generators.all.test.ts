// Clients that openapi-generator makes from the small document do ten calls each.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startApp } from "../support/app.ts";
import { without } from "../support/engines/packages.ts";

const JAVA = "/usr/bin/java";
const GO = "/usr/bin/go";
const PYTHON_PACKAGES = "/usr/lib/python3/dist-packages/dateutil";
/** The last version whose package contains the program, so that nothing else is downloaded. */
const GENERATOR = fileURLToPath(
  new URL(
    "../../node_modules/@openapitools/openapi-generator-cli/bin/openapi-generator.jar",
    import.meta.url,
  ),
);
const DOCUMENT = fileURLToPath(new URL("../../src/http/openapi/openapi-3.0.json", import.meta.url));
const callsIn = (language: string) => fileURLToPath(new URL(`generated/calls.${language}`, import.meta.url));
const run = promisify(execFile);

async function newFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "parley-generated-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function generate(language: string, folder: string, ...options: string[]): Promise<void> {
  const args = ["generate", "-i", DOCUMENT, "-g", language, "-o", folder, ...options];
  await run(JAVA, ["-jar", GENERATOR, ...args], { maxBuffer: 10_000_000 });
}

async function check(t: TestContext, call: (url: string, token: string) => Promise<{ stdout: string }>) {
  const server = await startApp(t);
  const { token } = await server.user();
  assert.equal((await call(server.url, token)).stdout, "10 calls\n");
}

test("a generated client for Python does ten calls", {
  skip: without(JAVA) || without(PYTHON_PACKAGES),
}, async (t) => {
  const folder = await newFolder(t);
  await generate("python", folder);
  const env = { ...process.env, PYTHONPATH: folder };
  await check(t, (url, token) => run("/usr/bin/python3", [callsIn("py"), url, token], { env }));
});

test("a generated client for Go compiles, and does ten calls", {
  skip: without(JAVA) || without(GO),
}, async (t) => {
  const folder = await newFolder(t);
  await generate("go-experimental", join(folder, "src/parley"), "--package-name", "parley");
  // Debian's packages, without modules, which would be downloaded.
  const go = { GO111MODULE: "off", GOPATH: `${folder}:/usr/share/gocode`, GOCACHE: join(folder, "cache") };
  const env = { ...process.env, ...go };
  await check(t, (url, token) => run(GO, ["run", callsIn("go"), url, token], { env }));
});
