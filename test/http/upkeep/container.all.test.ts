// The image and compose.yaml, as far as tests without Docker can cover them.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { test } from "node:test";
import { readConfig, unknownSettings } from "../../../src/config/settings.ts";
import { commandLine } from "../../support/command.ts";
import { documentedEnv, filledIn, ROOT, type Service, sh, textOf } from "./compose.ts";

/** Returns the instructions of the Dockerfile, in order. */
async function instructions(): Promise<{ name: string; value: string }[]> {
  const text = (await textOf("Dockerfile")).replace(/^#.*\n/gm, "").replace(/\\\n\s*/g, "");
  return [...text.matchAll(/^([A-Z]+) (.+)$/gm)].map((match) => ({ name: match[1]!, value: match[2]! }));
}

async function valuesOf(name: string): Promise<string[]> {
  return (await instructions()).filter((each) => each.name === name).map(({ value }) => value);
}

async function imageEnv(): Promise<Record<string, string>> {
  const pairs = (await valuesOf("ENV")).flatMap((value) => value.split(" "));
  return Object.fromEntries(pairs.map((pair) => pair.split("=", 2)));
}

/** Returns the copied paths of the project, and their paths in the image. */
async function copies(): Promise<[from: string, to: string][]> {
  return (await valuesOf("COPY"))
    .filter((value) => !value.startsWith("--from"))
    .flatMap((value) => {
      const paths = value.split(" ");
      const to = paths.pop()!;
      return paths.map((from): [string, string] => [from, to.endsWith("/") ? join(to, basename(from)) : to]);
    });
}

test(".dockerignore lets through exactly the paths that the image copies", async () => {
  const copied = [...new Set((await copies()).map(([from]) => from))];
  for (const path of copied) assert.ok(existsSync(join(ROOT, path)), path);
  const lines = (await textOf(".dockerignore")).split("\n").filter((line) => line && !line.startsWith("#"));
  assert.equal(lines[0], "*");
  const through = lines.filter((line) => line.startsWith("!")).map((line) => line.slice(1));
  assert.deepEqual(through.sort(), copied.sort());
});

test("the image has Node 24, no development dependencies and a user other than root", async () => {
  assert.deepEqual(
    (await valuesOf("FROM")).map((value) => value.split(" ")[0]),
    ["node:24-bookworm-slim", "debian:bookworm-slim"],
  );
  assert.ok((await valuesOf("RUN")).includes("npm ci --omit=dev --ignore-scripts"));
  const names = (await instructions()).map(({ name }) => name);
  const [user] = await valuesOf("USER");
  assert.ok(
    (await valuesOf("RUN")).some((run) => run.startsWith(`useradd --uid 1000`) && run.includes(user!)),
  );
  assert.ok(names.indexOf("USER") > names.lastIndexOf("COPY"), "copied files belong to root");
});

test("the settings of the image are known, and only PARLEY_PUBLIC_URL is missing", async () => {
  const env = await imageEnv();
  assert.deepEqual(unknownSettings(env), []);
  assert.throws(() => readConfig(env), /PARLEY_PUBLIC_URL must be set if PARLEY_HOST is 0\.0\.0\.0/);
  const config = readConfig({ ...env, PARLEY_PUBLIC_URL: "https://chat.example.com" });
  assert.deepEqual([String(config.port)], await valuesOf("EXPOSE"));
  assert.deepEqual([config.dataFolder], await valuesOf("VOLUME"));
});

async function healthCheck(): Promise<string[]> {
  const [value] = await valuesOf("HEALTHCHECK");
  return JSON.parse(value!.slice(value!.indexOf("CMD ") + 4)) as string[];
}

async function isHealthy(port: string): Promise<boolean> {
  const [command, ...args] = await healthCheck();
  try {
    await sh(command!, args, { env: { PATH: process.env.PATH, PARLEY_PORT: port } });
    return true;
  } catch (error) {
    assert.equal((error as { code: number }).code, 1);
    return false;
  }
}

test("the health check succeeds with a running server only", async (t) => {
  const command = await commandLine(t);
  const port = command.env.PARLEY_PORT!;
  assert.equal(await isHealthy(port), false);
  const server = await command.serve();
  assert.equal(await isHealthy(port), true);
  await server.stop();
  assert.equal(await isHealthy(port), false);
});

test("the files of the image are enough to serve and to chat, and nothing is written to them", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "parley-image-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const app = join(folder, "app");
  await mkdir(app);
  for (const [from, to] of await copies()) {
    await cp(join(ROOT, from), join(app, to), { recursive: true });
  }
  await installDependencies(app, "0");
  const before = await readdir(app, { recursive: true });
  const env = {
    ...(await imageEnv()),
    PATH: process.env.PATH,
    PARLEY_HOST: "127.0.0.1",
    PARLEY_PORT: "0",
    PARLEY_DATA: join(folder, "data"),
    NODE_COMPILE_CACHE: join(folder, "cache"),
  };
  const server = spawn(join(app, "bin/parley"), await defaultCommand(), { env });
  let output = "";
  server.stderr.on("data", (chunk) => {
    output += chunk;
  });
  const closed = once(server, "close");
  t.after(() => server.kill("SIGKILL"));
  let printed = "";
  for await (const chunk of server.stdout.iterator({ destroyOnReturn: false })) {
    printed += chunk;
    if (/^or sign in/m.test(printed)) break;
  }
  assert.match(
    await chat(join(app, "bin/parley"), { ...env, HOME: folder }, printed),
    /admin: hello\n$/,
    output,
  );
  server.kill("SIGTERM");
  assert.deepEqual(await closed, [0, null], output);
  assert.deepEqual(await readdir(app, { recursive: true }), before);
});

/** Installs the packages of the image by the commands of the Dockerfile, from what npm has cached, if it has. */
async function installDependencies(folder: string, previews: "0" | "1"): Promise<void> {
  for (const name of ["package.json", "package-lock.json"]) await cp(join(ROOT, name), join(folder, name));
  const env = { ...process.env, PREVIEWS: previews, npm_config_prefer_offline: "true" };
  const commands = (await valuesOf("RUN")).filter((command) => /npm|node_modules/.test(command));
  assert.deepEqual(
    commands.map((command) => command.split(" ")[0]),
    ["npm", "[", "find"],
  );
  for (const command of commands) await sh("sh", ["-c", command], { cwd: folder, env });
}

test("the build argument PREVIEWS=1 adds sharp, which makes a preview", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "parley-image-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  await installDependencies(folder, "1");
  const program = `const sharp = require("sharp");
    const create = { width: 8, height: 8, channels: 3, background: "red" };
    sharp({ create }).webp().toBuffer().then((picture) => console.log(picture.toString("latin1", 8, 12)));`;
  const { stdout } = await sh(process.execPath, ["-e", program], { cwd: folder });
  assert.equal(stdout, "WEBP\n");
});

/** Sends a message as the first user by this command, after a login. Returns what the chat printed. */
async function chat(parley: string, image: NodeJS.ProcessEnv, printed: string): Promise<string> {
  const token = /export PARLEY_TOKEN=(\S+)/.exec(printed)![1]!;
  const url = /Parley listens on (http:\S+)/.exec(printed)![1]!;
  const env = { ...image, PARLEY_URL: url };
  const headers = { authorization: `Bearer ${token}` };
  const me = (await (await fetch(`${url}/v1/me`, { headers })).json()) as { conversation_id: string };
  const line = `"$0" login --token-stdin <<< ${token} && "$0" chat ${me.conversation_id} <<< hello`;
  return (await sh("bash", ["-c", line, parley], { env })).stdout;
}

async function defaultCommand(): Promise<string[]> {
  return JSON.parse((await valuesOf("CMD"))[0]!) as string[];
}

test("compose.yaml with the .env of docs/scaling.md has valid settings", async () => {
  const { services, configs } = filledIn(await textOf("compose.yaml"), await documentedEnv());
  assert.deepEqual(Object.keys(services), ["parley", "postgres", "garage", "prometheus"]);
  const { parley, postgres, garage } = services as Record<"parley" | "postgres" | "garage", Service>;
  const env = { ...(await imageEnv()), ...parley.environment };
  assert.deepEqual(unknownSettings(env), []);
  const config = readConfig(env);
  const database = new URL(config.databaseUrl!);
  assert.deepEqual(
    [database.hostname, database.username, database.password, database.pathname],
    [
      "postgres",
      postgres.environment.POSTGRES_USER,
      postgres.environment.POSTGRES_PASSWORD,
      `/${postgres.environment.POSTGRES_DB}`,
    ],
  );
  const { bucket, endpoint, region, pathStyle } = config.store!;
  const toml = configs.garage!.content;
  assert.deepEqual(
    [bucket, parley.environment.AWS_ACCESS_KEY_ID, parley.environment.AWS_SECRET_ACCESS_KEY, pathStyle],
    [
      garage.environment.GARAGE_DEFAULT_BUCKET,
      garage.environment.GARAGE_DEFAULT_ACCESS_KEY,
      garage.environment.GARAGE_DEFAULT_SECRET_KEY,
      true,
    ],
  );
  assert.equal(endpoint, `http://garage:${/^api_bind_addr = "\[::\]:(\d+)"$/m.exec(toml)![1]}`);
  assert.equal(region, /^s3_region = "(.+)"$/m.exec(toml)![1]);
});

test("compose.yaml declares all volumes and configs it uses, and waits for healthy services", async () => {
  const compose = filledIn(await textOf("compose.yaml"), await documentedEnv());
  for (const [name, service] of Object.entries(compose.services)) {
    for (const volume of service.volumes ?? []) assert.ok(volume.split(":")[0]! in compose.volumes, volume);
    for (const { source } of service.configs ?? []) assert.ok(source in compose.configs, source);
    for (const [other, { condition }] of Object.entries(service.depends_on ?? {})) {
      assert.equal(condition, "service_healthy", name);
      assert.ok(compose.services[other]!.healthcheck!.test.length > 1, other);
    }
    assert.match(service.image, /^parley$|:v?\d/, "an image is of a version");
  }
});

test("compose.yaml names a missing secret and the page that explains it", async () => {
  const text = await textOf("compose.yaml");
  const env = await documentedEnv();
  for (const name of Object.keys(env)) {
    assert.throws(() => filledIn(text, { ...env, [name]: "" }), {
      message: new RegExp(`^${name}: put a (secret|password|key) into .env as docs/scaling.md says$`),
    });
  }
});
