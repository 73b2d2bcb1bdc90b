import { type TestContext, test } from "node:test";
import { Parley, type ParleyOptions } from "../../packages/parley-client/src/index.ts";
import type { Config } from "../../src/config/settings.ts";
import type { TokenChoice } from "../../src/core/people/tokens.ts";
import { type TestApp, testConfig } from "../support/app.ts";
import { testDatabase } from "../support/engines/postgres.ts";
import { isLong } from "../support/scale.ts";

/** Runs a test on SQLite, and in the long version also on PostgreSQL: the client sends the same to both. */
export function onEngines(name: string, run: (t: TestContext, config: Config) => Promise<void>): void {
  test(`${name} (SQLite)`, async (t) => run(t, await testConfig(t)));
  if (isLong)
    test(`${name} (PostgreSQL)`, async (t) => {
      const databaseUrl = await testDatabase(t);
      await run(t, { ...(await testConfig(t)), databaseUrl, secrets: ["s".repeat(32)] });
    });
}

/** How events arrive. */
type Carrier = Pick<ParleyOptions, "webSocket">;

const SENT_EVENTS: Carrier = { webSocket: false };

/** Runs a test with events over a WebSocket and as server-sent events. */
export function onCarriers(
  name: string,
  run: (t: TestContext, carrier: Carrier, config: Config) => Promise<void>,
): void {
  onEngines(`${name}, over a WebSocket`, (t, config) => run(t, {}, config));
  onEngines(`${name}, as server-sent events`, (t, config) => run(t, SENT_EVENTS, config));
}

/** Creates a user, and returns their client. */
export async function clientOf(
  server: TestApp,
  options: Partial<ParleyOptions> = {},
  choice: TokenChoice = {},
): Promise<Parley> {
  const { token } = await server.user(choice);
  return new Parley({ url: server.url, token, ...options });
}
