import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, type TestContext } from "node:test";
import { type App, createApp, type Parts } from "../../src/app.ts";
import type { Limits } from "../../src/config/limits.ts";
import { type Config, readConfig } from "../../src/config/settings.ts";
import { createToken, type TokenChoice } from "../../src/core/people/tokens.ts";
import { createUser } from "../../src/core/people/users.ts";

export interface TestUser {
  id: string;
  token: string;
  headers: { authorization: string };
}

export interface TestApp {
  app: App;
  url: string;
  config: Config;
  /** Makes a user with a token; names are made up. */
  user(choice?: TokenChoice): Promise<TestUser>;
}

/** What servers and folders end with: a test, or all tests of a file. */
export type Scope = Pick<TestContext, "after">;

/** Hooks run in the order in which they were added, and a folder must not go before those who write to it. */
const running = new WeakMap<Scope, App[]>();

async function stopAll(t: Scope): Promise<void> {
  await Promise.all((running.get(t) ?? []).map((app) => app.stop()));
}

/** Ends with the last test of the file that calls it while it loads. */
function fileScope(): Scope {
  const ends: (() => unknown)[] = [];
  after(async () => {
    for (const end of ends) await end();
  });
  return { after: (end) => void ends.push(end as () => unknown) };
}

/** Settings in a temporary folder that goes with the test, on any free port. */
export async function testConfig(t: Scope, limits: Partial<Limits> = {}): Promise<Config> {
  const folder = await mkdtemp(join(tmpdir(), "parley-test-"));
  t.after(async () => {
    await stopAll(t);
    await rm(folder, { recursive: true, force: true });
  });
  const config = readConfig({
    PARLEY_DATA: join(folder, "data"),
    PARLEY_PORT: "0",
    PARLEY_LOG_LEVEL: "silent",
    // Most tests come faster than any client.
    PARLEY_RATE_LIMIT: "0",
  });
  // A server that ends an idle connection can meet the next request of a slow test on it.
  return { ...config, limits: { ...config.limits, keepAliveTimeoutMs: 900_000, ...limits } };
}

/** A folder for previews that goes with the others of the test. */
export function previewFolder({ dataFolder }: Config): string {
  return join(dirname(dataFolder), "previews");
}

/** The service as production builds it, listening, and stopped with the test. */
export async function startApp(t: Scope, limits: Partial<Limits> = {}, parts: Parts = {}): Promise<TestApp> {
  return startOn(t, await testConfig(t, limits), parts);
}

export async function startOn(t: Scope, config: Config, parts: Parts = {}): Promise<TestApp> {
  const app = await createApp(config, parts);
  running.set(t, [...(running.get(t) ?? []), app]);
  t.after(() => app.stop());
  await app.start();
  let users = 0;
  return {
    app,
    url: app.core.origin(),
    config,
    async user(choice = {}) {
      const { id } = await createUser(app.core, null, { username: `user-${++users}` });
      const { token } = await createToken(app.core, null, id, choice);
      return { id, token, headers: { authorization: `Bearer ${token}` } };
    },
  };
}

/** Returns the one server of all tests of a file, which starts when a test first asks for it. */
export function sharedApp(limits: Partial<Limits> = {}, parts: Parts = {}): () => Promise<TestApp> {
  const scope = fileScope();
  let server: Promise<TestApp> | undefined;
  return () => {
    server ??= startApp(scope, limits, parts);
    return server;
  };
}

/** Uploads a file by a form with these further fields. */
export async function upload(
  url: string,
  user: TestUser,
  file: File,
  fields: Record<string, string> = {},
): Promise<Response> {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  form.set("file", file);
  return fetch(`${url}/v1/attachments`, { method: "POST", headers: user.headers, body: form });
}
