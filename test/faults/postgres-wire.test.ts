// F6: the connection to PostgreSQL is cut at COMMIT, or stalls.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { openPostgres } from "../../src/db/engines/postgres/postgres.ts";
import { sql } from "../../src/db/sql.ts";
import { administer, startPostgres, testDatabase } from "../support/engines/postgres.ts";
import { type CommitCut, startProxy } from "../support/engines/postgres-proxy.ts";
import { aUser } from "../support/rows.ts";
import { scaled } from "../support/scale.ts";
import { endAndCheck, endOfStory, isReady, startSubject } from "./postgres.ts";

test("F6 the connection is cut at COMMIT: committed writes succeed, others are refused", async (t) => {
  const wanted = scaled(30, 1500);
  const url = await testDatabase(t);
  const proxy = await startProxy(t, url);
  const subject = await startSubject(t, proxy.url);
  const cuts: Record<CommitCut, number> = { before: 0, at: 0, after: 0 };
  const total = () => cuts.before + cuts.at + cuts.after;
  proxy.onCommit = () => {
    if (subject.chance() > 0.2) return undefined;
    const cut = (["before", "at", "after"] as const)[Math.floor(subject.chance() * 3)]!;
    cuts[cut]++;
    return cut;
  };
  const writers = subject.write({ mixed: 8, contacts: 4 });
  while (total() < wanted) await sleep(20);
  proxy.onCommit = () => undefined;
  await endAndCheck(subject, writers, url, JSON.stringify(cuts));
  endOfStory(t, subject, `COMMIT was cut ${JSON.stringify(cuts)}`);
  // PostgreSQL could be asked, so no outcome remains unknown.
  assert.equal(subject.record.unknown, 0);
  assert.ok(subject.record.notMade.size > 0);
  await subject.end("SIGTERM");
});

test("F6 the connection stalls: requests end within their limits, and work once it recovers", async (t) => {
  const rounds = scaled(1, 10);
  const url = await testDatabase(t);
  const proxy = await startProxy(t, url);
  const subject = await startSubject(t, proxy.url);
  const db = await openPostgres(proxy.url);
  t.after(() => db.close());
  for (let i = 0; i < rounds; i++) {
    // Uploads of one user run one after another, so some are running at any time.
    const writers = subject.write({ mixed: 12, contacts: 8 });
    await sleep(200 + subject.chance() * 200);
    await db.get(sql`SELECT 1 AS one`);
    proxy.stall(true);
    // This read uses an open connection, and must fail before the stall ends.
    const read = assert.rejects(db.get(sql`SELECT 1 AS one`), { code: "unavailable" });
    // The test client gives up on an answer after 20 seconds.
    const silent = sleep(12_500 + subject.chance() * 1000);
    assert.equal(await isReady(subject), false);
    await Promise.all([read, silent]);
    proxy.stall(false);
    await endAndCheck(subject, writers, url, `round ${i}`);
    assert.ok(writers.statuses.has(503), "nothing was refused while nothing answered");
  }
  endOfStory(t, subject, `${rounds} times silent`);
  await subject.end("SIGTERM");
});

const USER = aUser("u");

test("F6 a transaction id that was reused after a crash is not taken for the lost transaction", async (t) => {
  const postgres = await startPostgres();
  t.after(() => postgres.remove());
  // Keeps uncommitted transactions from becoming durable.
  await administer(postgres.url, "ALTER SYSTEM SET wal_writer_delay = '10s'");
  await administer(postgres.url, "SELECT pg_reload_conf()");
  const proxy = await startProxy(t, postgres.url);
  const db = await openPostgres(proxy.url);
  t.after(() => db.close());
  const cut = new Promise<void>((resolve) => {
    proxy.onCommit = () => {
      // Stalls the query for the outcome until the transaction id has been reused.
      proxy.stall(true);
      resolve();
      return "before";
    };
  });
  const lost = assert.rejects(db.write("createUser", USER), { code: "outcome_unknown" });
  await cut;
  await postgres.stop("immediate");
  await postgres.start();
  for (let i = 0; i < 20; i++) await administer(postgres.url, "SELECT pg_current_xact_id()");
  proxy.onCommit = () => undefined;
  proxy.stall(false);
  await lost;
  assert.deepEqual(await administer(postgres.url, "SELECT id FROM users"), []);
  await db.write("createUser", USER);
});

test("F6 a write is not executed if its BEGIN fails", async (t) => {
  const url = await testDatabase(t);
  const proxy = await startProxy(t, url);
  const db = await openPostgres(proxy.url);
  t.after(() => db.close());
  proxy.rewrite = (sql) => (sql.startsWith("BEGIN") ? "BEGIN NOTHING" : sql);
  await assert.rejects(db.write("createIntent", { blobKey: "k", until: 1 }));
  assert.deepEqual(await administer(url, "SELECT blob_key FROM intents"), []);
  proxy.rewrite = (sql) => sql;
  await db.write("createIntent", { blobKey: "k", until: 1 });
});
