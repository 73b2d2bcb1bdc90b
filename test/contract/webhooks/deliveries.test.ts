// The rules of deliveries, on both engines.
import assert from "node:assert/strict";
import type { Database } from "../../../src/db/database.ts";
import { eventsAfter, hasUnnumbered } from "../../../src/db/queries/events/events.ts";
import { hasRemains } from "../../../src/db/queries/upkeep/erasing.ts";
import { listDue, webhooksWithDue } from "../../../src/db/queries/webhooks/deliveries.ts";
import { findCursor, listBacklog, listWithBacklog } from "../../../src/db/queries/webhooks/hand-out.ts";
import { findWebhook, type WebhookRow } from "../../../src/db/queries/webhooks/webhooks.ts";
import { aDeletion, addUser, anEntry, contact } from "../../support/rows.ts";
import { onEachDatabase } from "../databases.ts";
import { meet, send } from "../messages/talk.ts";

const NOW = 1_900_000_000_000;
const HOOK: WebhookRow = {
  id: "whk_1",
  user_id: "a",
  url: "https://receiver.invalid/",
  types: null,
  scopes: "contacts:read",
  all_users: 0,
  secret: "whsec_x",
  old_secret: null,
  old_until: null,
  disabled_at: null,
  failing_since: null,
  since_position: 0,
  backlog_from: null,
  public_key: null,
  token_id: null,
  expires_at: null,
  created_at: 1,
  version: 1,
};

/** Adds a webhook and one event that was handed out to it. */
async function begin(db: Database): Promise<void> {
  await addUser(db, "a");
  await db.write("createWebhook", { row: HOOK, limit: 0, entry: anEntry(), sealed: null });
  await db.write("createContact", contact("a", 1));
  while (await hasUnnumbered(db)) await db.write("numberEvents", { limit: 10 });
  await handOut(db, 0, "dlv_1");
}

async function handOut(db: Database, from: number, id: string): Promise<void> {
  const { position } = (await eventsAfter(db, 0, 1))[0]!;
  const deliveries = [{ id, webhookId: HOOK.id, eventId: "evt_1", position, lastPosition: null }];
  await db.write("addDeliveries", {
    deliveries,
    fallen: [],
    behind: [],
    since: from,
    from,
    to: position,
    now: NOW,
  });
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
    responseBody: null,
    disable: state === "failed",
    entry: { ...anEntry(), at },
  });
const due = async (db: Database) =>
  (await listDue(db, HOOK.id, NOW + 10, 10)).map(({ id, attempts }) => `${id} ${attempts}`);
const hook = async (db: Database) => (await findWebhook(db, "a", HOOK.id))!;

onEachDatabase("two nodes hand out each event once", async (db) => {
  await begin(db);
  const cursor = await findCursor(db);
  assert.ok(cursor > 0);
  await handOut(db, 0, "dlv_2");
  assert.deepEqual(await due(db), ["dlv_1 0"]);
  assert.deepEqual(
    (await webhooksWithDue(db, NOW + 10)).map(({ id }) => id),
    [HOOK.id],
  );
  assert.equal(await findCursor(db), cursor);
});

onEachDatabase(
  "a change is delivered unless all its recipients were erased after it was read",
  async (db) => {
    await addUser(db, "admin");
    const row = { ...HOOK, user_id: "admin", all_users: 1, scopes: "messages:read" };
    await db.write("createWebhook", { row, limit: 0, entry: anEntry(), sealed: null });
    await meet(db);
    await send(db, "a", 1);
    while (await hasUnnumbered(db)) await db.write("numberEvents", { limit: 10 });
    const change = (await eventsAfter(db, 0, 20)).filter(({ type }) => type === "message.created");
    const [first, last] = [change[0]!.position, change.at(-1)!.position];
    assert.equal(change.length, 2);
    const delivery = { webhookId: HOOK.id, eventId: "evt_1", position: first, lastPosition: last };
    const step = { fallen: [], behind: [], since: 0, now: NOW };
    const erase = (id: string) => db.write("deleteUser", aDeletion(id, { deletedAt: NOW, limit: 1000 }));
    await erase(change[0]!.recipient_id);
    await db.write("addDeliveries", {
      ...step,
      deliveries: [{ ...delivery, id: "dlv_1" }],
      from: 0,
      to: last,
    });
    const due = await listDue(db, HOOK.id, NOW, 10);
    assert.deepEqual(
      due.map(({ id, type, position, last_position }) => [id, type, position, last_position]),
      [["dlv_1", "message.created", last, last]],
    );
    await erase(change[1]!.recipient_id);
    const deliveries = [{ ...delivery, id: "dlv_2" }];
    await db.write("addDeliveries", { ...step, deliveries, from: last, to: last + 1 });
    assert.equal((await listDue(db, HOOK.id, NOW, 10)).length, 1);
  },
);

onEachDatabase("a failed attempt changes nothing if a retry was requested meanwhile", async (db) => {
  await begin(db);
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

onEachDatabase(
  "one of two nodes delivers the backlog of a webhook, and the webhook misses no event",
  async (db) => {
    await begin(db);
    for (const number of [2, 3]) await db.write("createContact", contact("a", number));
    while (await hasUnnumbered(db)) await db.write("numberEvents", { limit: 10 });
    const [first, second, third] = (await eventsAfter(db, 0, 3)).map(({ position }) => position);
    const one = (id: string, position: number | undefined) => [
      { id, webhookId: HOOK.id, eventId: `evt_${id}`, position: position!, lastPosition: null },
    ];
    const step = { deliveries: [], fallen: [], behind: [], since: 0, now: NOW };
    const fallen = [{ webhookId: HOOK.id, position: second! }];
    await db.write("addDeliveries", { ...step, fallen, from: first!, to: second! });
    const [behind] = await listWithBacklog(db, "", 10);
    assert.equal(behind!.backlog_from, second);
    assert.equal(behind!.pending, 1);
    const backlog = await listBacklog(db, behind!, second!, 10);
    assert.deepEqual(
      backlog.map(({ position }) => position),
      [second],
    );
    const caughtUp = { webhookId: HOOK.id, from: second!, to: null, now: NOW };
    await db.write("addBacklog", {
      ...{ ...caughtUp, cursor: third! },
      deliveries: one("dlv_x", second),
    });
    assert.equal((await hook(db)).backlog_from, second, "the cursor was another");
    for (const id of ["dlv_2", "dlv_3"])
      await db.write("addBacklog", { ...caughtUp, cursor: second!, deliveries: one(id, second) });
    assert.equal((await hook(db)).backlog_from, null);
    // A node that saw the webhook with a backlog must not skip the third event.
    await db.write("addDeliveries", { ...step, behind: [HOOK.id], from: second!, to: third! });
    assert.equal(await findCursor(db), second);
    await db.write("addDeliveries", { ...step, deliveries: one("dlv_4", third), from: second!, to: third! });
    assert.deepEqual(await due(db), ["dlv_1 0", "dlv_2 0", "dlv_4 0"]);
    // Nor may a node that has skipped events that the webhook now wants.
    await db.write("addDeliveries", { ...step, since: third! + 5, from: third!, to: third! + 9 });
    assert.equal(await findCursor(db), third);
  },
);

onEachDatabase("the deliveries of a deleted webhook are erased in steps", async (db) => {
  await begin(db);
  const test = { userId: "a", webhookId: HOOK.id, eventId: "evt_2", payload: "{}", now: NOW };
  for (const id of ["dlv_2", "dlv_3"]) await db.write("addTestDelivery", { ...test, id });
  await db.write("deleteWebhook", { userId: "a", id: HOOK.id, expected: null, entry: anEntry() });
  assert.deepEqual(await webhooksWithDue(db, NOW + 10), []);
  const left: string[] = [];
  while ((await hasRemains(db)) && left.length < 9) {
    left.push((await due(db)).join());
    await db.write("eraseStep", { limit: 2, now: NOW, messageId: "m" });
  }
  assert.deepEqual(left, ["dlv_1 0,dlv_2 0,dlv_3 0", "dlv_3 0"]);
  assert.deepEqual(await due(db), []);
});

onEachDatabase("a webhook keeps the time of its first failure until a delivery succeeds", async (db) => {
  await begin(db);
  await settle(db, "pending", 1, NOW);
  await settle(db, "pending", 2, NOW + 5);
  assert.equal((await hook(db)).failing_since, NOW);
  await settle(db, "delivered", 3);
  assert.equal((await hook(db)).failing_since, null);
});
