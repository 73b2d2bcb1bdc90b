import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { startOn, type TestApp, testConfig } from "../app.ts";
import { testDatabase } from "./postgres.ts";
import { type Counts, startProxy } from "./postgres-proxy.ts";

/** A server on PostgreSQL whose statements are counted on the wire. */
export interface Counted {
  server: TestApp;
  /** Does it, and keeps in `least` what it costs at least: others use the wire as well, which adds and never takes away. */
  count<R>(least: Record<string, Counts>, name: string, work: () => Promise<R>): Promise<R>;
}

export async function startCounted(t: TestContext): Promise<Counted> {
  const database = await testDatabase(t);
  const proxy = await startProxy(t, database);
  // Another node does the background work; this one does not hear of events, on which it would look whether that is its own.
  proxy.rewrite = (sql) => sql.replace("; LISTEN parley_events", "");
  const secrets = ["s".repeat(32)];
  await startOn(t, { ...(await testConfig(t)), databaseUrl: database, secrets });
  const server = await startOn(t, { ...(await testConfig(t)), databaseUrl: proxy.url, secrets });
  return {
    server,
    async count(least, name, work) {
      // What the last one woke has ended by then.
      await sleep(10);
      proxy.takeCounts();
      const result = await work();
      const counts = proxy.takeCounts();
      const before = least[name] ?? counts;
      least[name] = {
        roundTrips: Math.min(before.roundTrips, counts.roundTrips),
        statements: Math.min(before.statements, counts.statements),
        commits: Math.min(before.commits, counts.commits),
      };
      return result;
    },
  };
}
