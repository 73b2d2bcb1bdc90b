// What ends push subscriptions besides their owner, and who cannot create one, on both engines.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Database } from "../../../src/db/database.ts";
import {
  endPushSubscriptionsOf,
  findPushKey,
  listPushSubscriptionRows,
} from "../../../src/db/queries/webhooks/push-subscriptions.ts";
import { findWebhook, type WebhookRow } from "../../../src/db/queries/webhooks/webhooks.ts";
import { list } from "../../../src/db/sql.ts";
import { addUser, anEntry, aToken, walk } from "../../support/rows.ts";
import { onEachDatabase, openPlainSqlite } from "../databases.ts";

const aSubscription = (id: string, fields: Partial<WebhookRow> = {}): WebhookRow => ({
  ...{
    id,
    user_id: "a",
    url: `https://push.invalid/${id}`,
    types: "message.created",
    scopes: "messages:read",
  },
  ...{ all_users: 0, secret: "x", old_secret: null, old_until: null, disabled_at: null, failing_since: null },
  ...{ since_position: 0, backlog_from: null, public_key: "x", token_id: null, expires_at: null },
  ...{ created_at: 1, version: 1 },
  ...fields,
});

const subscribe = (db: Database, row: WebhookRow, limit = 20) =>
  db.write("createPushSubscription", { row, limit, entry: anEntry() });
const left = async (db: Database, now = 0) =>
  (await listPushSubscriptionRows(db, "a", walk("", 50, true), now)).map(({ id }) => id);

onEachDatabase("a revoked token or an erased user cannot create a push subscription", async (db) => {
  await addUser(db, "a");
  for (const fields of [{ token_id: "tok_gone" }, { user_id: "gone" }])
    await assert.rejects(subscribe(db, aSubscription("psh_1", fields)), { code: "invalid_token" });
  assert.deepEqual(await left(db), []);
});

onEachDatabase("neither expired subscriptions nor webhooks count as push subscriptions", async (db) => {
  await addUser(db, "a");
  await db.write("createToken", aToken("a", 0, { expiresAt: 1 }));
  await subscribe(db, aSubscription("psh_1", { token_id: "tok_0000" }));
  const hook = aSubscription("whk_1", { public_key: null });
  await db.write("createWebhook", { row: hook, limit: 1, entry: anEntry(), sealed: null });
  await subscribe(db, aSubscription("psh_2"), 1);
  // The endpoint of the expired subscription counts like a new one.
  for (const url of ["https://push.invalid/psh_1", "https://push.invalid/psh_3"])
    await assert.rejects(subscribe(db, aSubscription("psh_3", { url }), 1), {
      code: "count_limit_reached",
    });
  assert.deepEqual([await left(db), await left(db, 1)], [["psh_1", "psh_2"], ["psh_2"]]);
  assert.equal(await findWebhook(db, "a", "psh_1"), undefined);
  await assert.rejects(
    db.write("deletePushSubscription", { userId: "a", id: "whk_1", expected: null, entry: anEntry() }),
    { code: "push_subscription_not_found" },
  );
  await assert.rejects(
    db.write("deleteWebhook", { userId: "a", id: "psh_1", expected: null, entry: anEntry() }),
    { code: "webhook_not_found" },
  );
});

onEachDatabase("the first push key is kept", async (db) => {
  assert.equal(await findPushKey(db), undefined);
  assert.equal(await db.write("createPushKey", { key: "first" }), "first");
  assert.equal(await db.write("createPushKey", { key: "second" }), "first");
  assert.equal(await findPushKey(db), "first");
});

test("push subscriptions of a token are found by an index", async (t) => {
  const db = await openPlainSqlite(t);
  for (const { sql, params } of endPushSubscriptionsOf(list(["tok_1", "tok_2"]))) {
    const plan = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...(params as string[]));
    assert.match(JSON.stringify(plan), /SEARCH webhooks USING (?:COVERING )?INDEX webhooks_by_token/);
  }
});
