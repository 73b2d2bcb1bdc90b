// The metric of what all users store, on both engines.
import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import pg from "pg";
import { SCOPES } from "../../../src/core/people/tokens.ts";
import { startOn, type TestApp, testConfig, upload } from "../../support/app.ts";
import { testDatabase } from "../../support/engines/postgres.ts";

const MANY = 12_000;

async function assertSummed(server: TestApp, fill: () => void | Promise<void>): Promise<void> {
  const admin = await server.user({ scopes: SCOPES });
  const read = async () => {
    const text = await (await fetch(`${server.url}/metrics`, { headers: admin.headers })).text();
    return Number(/^parley_stored_bytes (\S+)$/m.exec(text)?.[1]);
  };
  assert.equal(await read(), 0);
  for (const user of [admin, await server.user()])
    assert.equal((await upload(server.url, user, new File(["12345"], "a.txt"))).status, 201);
  assert.equal(await read(), 10);
  await fill();
  assert.equal(await read(), 10 + MANY);
}

const start = async (t: TestContext, databaseUrl?: string) =>
  startOn(t, { ...(await testConfig(t)), ...(databaseUrl && { databaseUrl, secrets: ["s".repeat(32)] }) });

test("a metric adds up what all users store (SQLite)", async (t) => {
  const server = await start(t);
  await assertSummed(server, () => {
    const db = new DatabaseSync(join(server.config.dataFolder, "parley.db"));
    db.exec(`WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${MANY})
      INSERT INTO storage (user_id, used) SELECT 'usr_' || n, 1 FROM n`);
    db.close();
  });
});

test("a metric adds up what all users store (PostgreSQL)", async (t) => {
  const databaseUrl = await testDatabase(t);
  await assertSummed(await start(t, databaseUrl), async () => {
    const client = new pg.Client({ connectionString: databaseUrl });
    await client.connect();
    await client.query(
      `INSERT INTO storage (user_id, used) SELECT 'usr_' || n, 1 FROM generate_series(1, ${MANY}) n`,
    );
    await client.end();
  });
});
