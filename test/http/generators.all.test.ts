// Clients that generators make from the documents do ten calls each. Those in TypeScript take the full document,
// those of openapi-generator the small one.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cp, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startApp } from "../support/app.ts";
import { without } from "../support/engines/packages.ts";

const JAVA = "/usr/bin/java";
const JAVAC = "/usr/bin/javac";
const GO = "/usr/bin/go";
const OKHTTP = "/usr/share/java/okhttp.jar";
/** Debian's libraries of the Java client. Debian lacks a few others, of which `support/generated/java` has stand-ins. */
const JARS = [OKHTTP, "/usr/share/java/gson.jar", "/usr/share/java/jsr305.jar", "/usr/share/java/okio.jar"];
const PYTHON_PACKAGES = "/usr/lib/python3/dist-packages/dateutil";
/** The last version whose package contains the program, so that nothing else is downloaded. */
const GENERATOR = fileURLToPath(
  new URL(
    "../../node_modules/@openapitools/openapi-generator-cli/bin/openapi-generator.jar",
    import.meta.url,
  ),
);
const [FULL, SMALL] = ["openapi.json", "openapi-3.0.json"].map((name) =>
  fileURLToPath(new URL(`../../src/http/openapi/${name}`, import.meta.url)),
) as [string, string];
const generated = (name: string) => fileURLToPath(new URL(`../support/generated/${name}`, import.meta.url));
const run = promisify(execFile);

async function newFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "parley-generated-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function generate(language: string, folder: string, ...options: string[]): Promise<void> {
  const args = ["generate", "-i", SMALL, "-g", language, "-o", folder, ...options];
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
  await check(t, (url, token) => run("/usr/bin/python3", [generated("calls.py"), url, token], { env }));
});

test("a generated client for Java compiles, and does ten calls", {
  skip: without(JAVA) || without(JAVAC) || without(OKHTTP),
}, async (t) => {
  const folder = await newFolder(t);
  await generate(
    "java",
    folder,
    "--library",
    "okhttp-gson",
    "--additional-properties",
    "dateLibrary=java8,hideGenerationTimestamp=true",
  );
  const sources = await Promise.all([join(folder, "src/main"), generated("java")].map(findJava));
  const classes = join(folder, "classes");
  const path = [...JARS, classes].join(":");
  await run(JAVAC, ["-nowarn", "-d", classes, "-cp", path, ...sources.flat()]);
  await check(t, (url, token) => run(JAVA, ["-cp", path, "Calls", url, token]));
});

async function findJava(folder: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true });
  return names.filter((name) => name.endsWith(".java")).map((name) => join(folder, name));
}

test("a generated client for Go compiles, and does ten calls", {
  skip: without(JAVA) || without(GO),
}, async (t) => {
  const folder = await newFolder(t);
  const env = await generateGo("go-experimental", folder);
  await check(t, (url, token) => run(GO, ["run", generated("calls.go"), url, token], { env }));
});

test("a generated client for Go compiles with the older generator, too", {
  skip: without(JAVA) || without(GO),
}, async (t) => {
  const folder = await newFolder(t);
  const env = await generateGo("go", folder);
  await run(GO, ["build", "parley"], { env });
});

/** Returns the environment of Go: Debian's packages and a stand-in, without modules, which would be downloaded. */
async function generateGo(generator: string, folder: string): Promise<NodeJS.ProcessEnv> {
  await generate(generator, join(folder, "src/parley"), "--package-name", "parley");
  const path = [folder, generated("go"), "/usr/share/gocode"].join(":");
  return { ...process.env, GO111MODULE: "off", GOPATH: path, GOCACHE: join(folder, "cache") };
}

test("clients of openapi-typescript and @hey-api/openapi-ts compile, and do ten calls each", async (t) => {
  const folder = await newFolder(t);
  await cp(generated("typescript"), folder, { recursive: true });
  await run("npm", ["ci", "--no-audit", "--no-fund"], { cwd: folder });
  const node = (path: string, ...args: string[]) => run(process.execPath, [join(folder, path), ...args]);
  await node("node_modules/.bin/openapi-typescript", FULL, "--output", join(folder, "types.ts"));
  await node("node_modules/.bin/openapi-ts", "--input", FULL, "--output", join(folder, "sdk"));
  await node("node_modules/.bin/tsc", "--project", folder);
  for (const calls of ["fetch", "sdk"])
    await check(t, (url, token) => node(`out/${calls}-calls.js`, url, token));
});
