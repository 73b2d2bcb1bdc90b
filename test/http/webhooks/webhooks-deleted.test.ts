// A deleted webhook with many deliveries is gone at once, and its deliveries are erased in steps, also after a restart.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import type { Database } from "../../../src/db/database.ts";
import { openSqlite } from "../../../src/db/engines/sqlite/sqlite.ts";
import { hasRemains } from "../../../src/db/queries/upkeep/erasing.ts";
import { TABLES } from "../../../src/db/queries/upkeep/tables.ts";
import { sql } from "../../../src/db/sql.ts";
import { createFuse } from "../../../src/util/fuse.ts";
import { startOn, testConfig } from "../../support/app.ts";
import { asker } from "../../support/asker.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { hook, LIMITS } from "../../support/hooks.ts";
import { person } from "../../support/people.ts";
import { receiver } from "../../support/receiver.ts";

const MANY = 2500;

async function fill(db: Database, webhookId: unknown): Promise<void> {
  const table = TABLES.find(({ name }) => name === "deliveries")!;
  const values: Record<string, string | number | null> = {
    ...{ event_id: "evt", position: 1, recipient_id: "usr", conversation_id: "cnv", type: "a", told_at: 1 },
    ...{ payload: "{}", state: "delivered", attempts: 1, created_at: Date.now(), updated_at: 1 },
  };
  const rows = Array.from({ length: MANY }, (_, i) =>
    table.columns.map((name) => ({ ...values, webhook_id: String(webhookId), id: `dlv_${i}` })[name] ?? null),
  );
  await db.write("importRows", { table, rows });
}

async function count(db: Database): Promise<number> {
  return (await db.get<{ count: number }>(sql`SELECT COUNT(*) AS count FROM deliveries`))!.count;
}

test("a deleted webhook is gone before its deliveries are erased, and others keep theirs", async (t) => {
  const server = await startOn(t, await testConfig(t, LIMITS));
  const { db } = server.app.core;
  const ann = await person(server, "ann");
  const [made, kept] = [
    await hook(server, ann, await receiver(t)),
    await hook(server, ann, await receiver(t)),
  ];
  for (const { id } of [made, kept]) await fill(db, id);
  const ask = asker(server, ann);
  assert.equal((await ask("DELETE", `/v1/webhooks/${made.id}`)).status, 204);
  for (const path of ["", "/deliveries"])
    assert.equal((await ask("GET", `/v1/webhooks/${made.id}${path}`)).status, 404);
  assert.ok(await eventually(async () => (await count(db)) === MANY));
  assert.ok(await eventually(async () => !(await hasRemains(db))));
  assert.equal(((await ask("GET", `/v1/webhooks/${kept.id}/deliveries`)).body.data as unknown[]).length, 10);
});

test("one write erases at most its limit of deliveries, and the next start erases what a crash left", async (t) => {
  const config = await testConfig(t, LIMITS);
  const first = await startOn(t, config);
  const ann = await person(first, "ann");
  const made = await hook(first, ann, await receiver(t));
  await first.app.stop();
  // No background work runs, so the test decides when the erasing stops.
  const db = openSqlite(join(config.dataFolder, "parley.db"), createFuse(assert.ifError));
  t.after(() => db.close());
  await fill(db, made.id);
  const entry = { id: "aud_1", at: 1, actorId: null, tokenId: null, actedById: null };
  await db.write("deleteWebhook", { userId: ann.id, id: String(made.id), expected: null, entry });
  assert.equal(await count(db), MANY);
  await db.write("eraseStep", { limit: 1000, now: 1, messageId: "m" });
  assert.equal(await count(db), MANY - 1000);
  await db.close();
  const second = await startOn(t, config);
  assert.ok(await eventually(async () => (await count(second.app.core.db)) === 0));
  assert.ok(await eventually(async () => !(await hasRemains(second.app.core.db))));
});
