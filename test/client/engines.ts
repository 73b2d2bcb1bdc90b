import { type TestContext, test } from "node:test";
import { Parley, type ParleyOptions } from "../../client/src/index.ts";
import type { Config } from "../../src/config.ts";
import type { TokenChoice } from "../../src/core/tokens.ts";
import { testDatabase } from "../engines/postgres.ts";
import { type TestApp, testConfig } from "../http/app.ts";

/** A test on each database. */
export function onEachEngine(name: string, run: (t: TestContext, config: Config) => Promise<void>): void {
  test(`${name} (SQLite)`, async (t) => run(t, await testConfig(t)));
  test(`${name} (PostgreSQL)`, async (t) => {
    const databaseUrl = await testDatabase(t);
    await run(t, { ...(await testConfig(t)), databaseUrl, secrets: ["s".repeat(32)] });
  });
}

/** A client of a new user. */
export async function clientOf(
  server: TestApp,
  options: Partial<ParleyOptions> = {},
  choice: TokenChoice = {},
): Promise<Parley> {
  const { token } = await server.user(choice);
  return new Parley({ url: server.url, token, ...options });
}
