// Deliveries by their rules, on both engines.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Database } from "../../src/db/database.ts";
import { findCursor, listDue, webhooksWithDue } from "../../src/db/deliveries.ts";
import { eventsBehind, hasUnnumbered } from "../../src/db/events.ts";
import { findWebhook, type WebhookRow } from "../../src/db/webhooks.ts";
import { openOnPostgres, openOnSqlite } from "./databases.ts";
import { addUser, anAct, contact } from "./rows.ts";

const NOW = 1_900_000_000_000;
const HOOK: WebhookRow = {
  id: "whk_1",
  user_id: "a",
  url: "https://receiver.invalid/",
  types: null,
  all_users: 0,
  secret: "whsec_x",
  old_secret: null,
  old_until: null,
  disabled_at: null,
  failing_since: null,
  since_position: 0,
  created_at: 1,
  version: 1,
};

/** A webhook, and one event that was handed to it. */
async function begin(t: TestContext, open: (t: TestContext) => Promise<Database>): Promise<Database> {
  const db = await open(t);
  await addUser(db, "a");
  await db.write("createWebhook", { row: HOOK, limit: 0, act: anAct(), sealed: null });
  await db.write("createContact", contact("a", 1));
  while (await hasUnnumbered(db)) await db.write("numberEvents", { limit: 10 });
  await handOut(db, 0, "dlv_1");
  return db;
}

async function handOut(db: Database, from: number, id: string): Promise<void> {
  const { position } = (await eventsBehind(db, 0, 1))[0]!;
  const deliveries = [{ id, webhookId: HOOK.id, eventId: "evt_1", position }];
  await db.write("addDeliveries", { deliveries, from, to: position, now: NOW });
}

const settle = (db: Database, state: "delivered" | "failed" | "pending", attempts: number, at = NOW) =>
  db.write("settleDelivery", {
    webhookId: HOOK.id,
    id: "dlv_1",
    state,
    attempts,
    nextAt: state === "pending" ? at + 1 : null,
    status: null,
    error: null,
    disable: state === "failed",
    act: { ...anAct(), at },
  });
const due = async (db: Database) =>
  (await listDue(db, HOOK.id, NOW + 10, 10)).map(({ id, attempts }) => `${id} ${attempts}`);
const hook = async (db: Database) => (await findWebhook(db, "a", HOOK.id))!;

for (const [engine, open] of Object.entries({ sqlite: openOnSqlite, postgres: openOnPostgres })) {
  test(`${engine}: events are handed out once, also where two nodes read them at the same time`, async (t) => {
    const db = await begin(t, open);
    const cursor = await findCursor(db);
    assert.ok(cursor > 0);
    await handOut(db, 0, "dlv_2");
    assert.deepEqual(await due(db), ["dlv_1 0"]);
    assert.deepEqual(await webhooksWithDue(db, NOW + 10), [HOOK.id]);
    assert.equal(await findCursor(db), cursor);
  });

  test(`${engine}: an attempt that fails after it was asked for anew changes nothing`, async (t) => {
    const db = await begin(t, open);
    await settle(db, "pending", 1);
    await db.write("redeliver", { userId: "a", webhookId: HOOK.id, id: "dlv_1", now: NOW });
    await settle(db, "failed", 2);
    assert.deepEqual(await due(db), ["dlv_1 0"]);
    assert.equal((await hook(db)).disabled_at, null);
    await settle(db, "delivered", 2);
    assert.deepEqual(await due(db), []);
    await settle(db, "failed", 3);
    assert.equal((await hook(db)).disabled_at, null, "what is done stays so");
  });

  test(`${engine}: since when nothing was taken is kept until something is`, async (t) => {
    const db = await begin(t, open);
    await settle(db, "pending", 1, NOW);
    await settle(db, "pending", 2, NOW + 5);
    assert.equal((await hook(db)).failing_since, NOW);
    await settle(db, "delivered", 3);
    assert.equal((await hook(db)).failing_since, null);
  });
}
