// Runs tests on both databases.
import { type TestContext, test } from "node:test";
import type { Parts } from "../../src/app.ts";
import type { Limits } from "../../src/config/limits.ts";
import type { Config } from "../../src/config/settings.ts";
import { type Scope, startOn, type TestApp, testConfig } from "./app.ts";
import { testDatabase } from "./engines/postgres.ts";

export type Engine = "SQLite" | "PostgreSQL";
export const ENGINES: readonly Engine[] = ["SQLite", "PostgreSQL"];
/** The secrets that nodes on one database share. */
export const SECRETS = ["s".repeat(32)];

/** Returns the additional settings of a server on PostgreSQL. */
export async function postgresConfig(t: Scope): Promise<Pick<Config, "databaseUrl" | "secrets">> {
  return { databaseUrl: await testDatabase(t as TestContext), secrets: SECRETS };
}

export async function startOnEngine(
  t: Scope,
  engine: Engine,
  limits: Partial<Limits> = {},
  parts: Parts = {},
  config: Partial<Config> = {},
): Promise<TestApp> {
  const stored = engine === "SQLite" ? {} : await postgresConfig(t);
  return startOn(t, { ...(await testConfig(t, limits)), ...stored, ...config }, parts);
}

type Run = (server: TestApp, t: TestContext) => Promise<void>;

/** Runs a test on each database, with a server that has these limits. */
export function onEachEngineWith(limits: Partial<Limits>, name: string, run: Run): void {
  for (const engine of ENGINES)
    test(`${name} (${engine})`, async (t) => run(await startOnEngine(t, engine, limits), t));
}

export const onEachEngine = (name: string, run: Run): void => onEachEngineWith({}, name, run);
