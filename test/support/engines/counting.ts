import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { startOn, type TestApp, testConfig } from "../app.ts";
import { testDatabase } from "./postgres.ts";
import { type Counts, startProxy } from "./postgres-proxy.ts";

/** A server on PostgreSQL that counts its statements on the wire. */
export interface Counted {
  server: TestApp;
  /** Runs `work` and keeps the lowest counts in `least`: other work on the wire adds counts and never removes any. */
  count<R>(least: Record<string, Counts>, name: string, work: () => Promise<R>): Promise<R>;
}

export async function startCounted(t: TestContext): Promise<Counted> {
  const database = await testDatabase(t);
  const proxy = await startProxy(t, database);
  // Another node does the background work. This one does not listen for events, which would make it check whether that
  // work is its job.
  proxy.rewrite = (sql) => sql.replace("; LISTEN parley_events", "");
  const secrets = ["s".repeat(32)];
  await startOn(t, { ...(await testConfig(t)), databaseUrl: database, secrets });
  const server = await startOn(t, { ...(await testConfig(t)), databaseUrl: proxy.url, secrets });
  return {
    server,
    async count(least, name, work) {
      // Work that the last operation started has ended by then.
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
