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
  /** Creates a user with a random name and a token. */
  user(choice?: TokenChoice): Promise<TestUser>;
}

/** When servers stop and folders are removed: after a test, or after all tests of a file. */
export type Scope = Pick<TestContext, "after">;

/** Hooks run in the order in which they were added, so servers must be stopped before their folder is removed. */
const running = new WeakMap<Scope, App[]>();

async function stopAll(t: Scope): Promise<void> {
  await Promise.all((running.get(t) ?? []).map((app) => app.stop()));
}

/** Returns a scope that ends with the last test of the file. Call it while the file loads. */
export function fileScope(): Scope {
  const ends: (() => unknown)[] = [];
  after(async () => {
    for (const end of ends) await end();
  });
  return { after: (end) => void ends.push(end as () => unknown) };
}

/** Returns settings with a temporary folder, which is removed after the test, and any free port. */
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
    // Most tests send requests faster than any client.
    PARLEY_RATE_LIMIT: "0",
  });
  // If the server closed idle connections, the next request of a slow test could fail.
  return { ...config, limits: { ...config.limits, keepAliveTimeoutMs: 900_000, ...limits } };
}

/** Returns a folder for previews, which is removed after the test. */
export function previewFolder({ dataFolder }: Config): string {
  return join(dirname(dataFolder), "previews");
}

/** Starts the service as in production, and stops it after the test. */
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

/** Returns the shared server of a file's tests, which starts when the first test asks for it. */
export function sharedApp(limits: Partial<Limits> = {}, parts: Parts = {}): () => Promise<TestApp> {
  const scope = fileScope();
  let server: Promise<TestApp> | undefined;
  return () => {
    server ??= startApp(scope, limits, parts);
    return server;
  };
}

/** Uploads a file by a form with these additional fields. */
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
