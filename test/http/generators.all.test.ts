// Clients that generators make from the documents do ten calls each. Those in TypeScript take the full document,
// those of openapi-generator the small one. Commands and versions are those of the documentation.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cp, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import packages from "../../package.json" with { type: "json" };
import { startApp } from "../support/app.ts";
import { without } from "../support/engines/packages.ts";
import { blocksOf, OVERVIEW, readPage } from "./doc-pages.ts";

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

/** Runs the documented command of a generator, or the same command of another one. */
async function generate(name: string, folder: string, instead = name): Promise<void> {
  const commands = (await blocksOf(OVERVIEW)).map(({ text }) => text.replaceAll("\\\n", ""));
  const command = commands.find((text) => text.includes(` -g ${name} `))!;
  const [, version, options] = /^npx @openapitools\/openapi-generator-cli@(\S+) (.*)/.exec(command)!;
  assert.equal(version, packages.devDependencies["@openapitools/openapi-generator-cli"]);
  const args = options!
    .replace('"$PARLEY_URL/openapi-3.0.json"', SMALL)
    .replace(`-g ${name} -o parley`, `-g ${instead} -o ${folder}`)
    .trim()
    .split(/ +/);
  await run(JAVA, ["-jar", GENERATOR, ...args], { maxBuffer: 10_000_000 });
}

/** Asserts that the calls have the lines that the documentation shows in this language. */
async function checkLines(language: string, calls: string): Promise<void> {
  const source = await readFile(generated(calls), "utf8");
  const { text } = (await blocksOf(OVERVIEW)).find((block) => block.language === language)!;
  for (const line of text.trim().split("\n")) assert.ok(source.includes(line.trim()), line);
}

async function check(t: TestContext, call: (env: NodeJS.ProcessEnv) => Promise<{ stdout: string }>) {
  const server = await startApp(t);
  const { token } = await server.user();
  const env = { ...process.env, PARLEY_URL: server.url, PARLEY_TOKEN: token };
  assert.equal((await call(env)).stdout, "10 calls\n");
}

test("a generated client for Python does ten calls", {
  skip: without(JAVA) || without(PYTHON_PACKAGES),
}, async (t) => {
  const folder = await newFolder(t);
  await generate("python", folder);
  await checkLines("python", "calls.py");
  const call = (env: NodeJS.ProcessEnv) =>
    run("/usr/bin/python3", [generated("calls.py")], { env: { ...env, PYTHONPATH: folder } });
  await check(t, call);
});

test("a generated client for Java compiles, and does ten calls", {
  skip: without(JAVA) || without(JAVAC) || without(OKHTTP),
}, async (t) => {
  const folder = await newFolder(t);
  await generate("java", folder);
  const sources = await Promise.all([join(folder, "src/main"), generated("java")].map(findJava));
  const classes = join(folder, "classes");
  const path = [...JARS, classes].join(":");
  await run(JAVAC, ["-nowarn", "-d", classes, "-cp", path, ...sources.flat()]);
  await checkLines("java", "java/Calls.java");
  await check(t, (env) => run(JAVA, ["-cp", path, "Calls"], { env }));
});

async function findJava(folder: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true });
  return names.filter((name) => name.endsWith(".java")).map((name) => join(folder, name));
}

test("a generated client for Go compiles, and does ten calls", {
  skip: without(JAVA) || without(GO),
}, async (t) => {
  const folder = await newFolder(t);
  const go = await generateGo(folder);
  await checkLines("go", "calls.go");
  await check(t, (env) => run(GO, ["run", generated("calls.go")], { env: { ...env, ...go } }));
});

test("a generated client for Go compiles with the older generator, too", {
  skip: without(JAVA) || without(GO),
}, async (t) => {
  const folder = await newFolder(t);
  const go = await generateGo(folder, "go");
  await run(GO, ["build", "parley"], { env: { ...process.env, ...go } });
});

/** Returns settings of Go: Debian's packages and a stand-in, without modules, which would be downloaded. */
async function generateGo(folder: string, instead?: string): Promise<Record<string, string>> {
  await generate("go-experimental", join(folder, "src/parley"), instead);
  const path = [folder, generated("go"), "/usr/share/gocode"].join(":");
  return { GO111MODULE: "off", GOPATH: path, GOCACHE: join(folder, "cache") };
}

test("clients of openapi-typescript and @hey-api/openapi-ts compile, and do ten calls each", async (t) => {
  const folder = await newFolder(t);
  await cp(generated("typescript"), folder, { recursive: true });
  const { dependencies } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  const page = await readPage(OVERVIEW);
  for (const name of ["@hey-api/openapi-ts", "openapi-typescript"])
    assert.ok(page.includes(`npx ${name}@${dependencies[name]} `), name);
  await run("npm", ["ci", "--no-audit", "--no-fund"], { cwd: folder });
  const node = (path: string, args: string[], env = process.env) =>
    run(process.execPath, [join(folder, path), ...args], { env });
  await node("node_modules/.bin/openapi-typescript", [FULL, "--output", join(folder, "types.ts")]);
  await node("node_modules/.bin/openapi-ts", ["--input", FULL, "--output", join(folder, "sdk")]);
  await node("node_modules/.bin/tsc", ["--project", folder]);
  for (const calls of ["fetch", "sdk"]) await check(t, (env) => node(`out/${calls}-calls.js`, [], env));
});
