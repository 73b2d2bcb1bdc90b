// What users see and which rows are counted between the steps that erase contacts and users, on both engines.
import assert from "node:assert/strict";
import type { Database } from "../../../src/db/database.ts";
import { NEWEST } from "../../../src/db/page.ts";
import { listRecipients } from "../../../src/db/queries/events/events.ts";
import {
  findAttachment,
  findAttachments,
  findLinkedAttachment,
  findVisibleAttachment,
  listAttachments,
} from "../../../src/db/queries/files/attachments.ts";
import { findMiscounts } from "../../../src/db/queries/storage/storage-used.ts";
import { listTombstones } from "../../../src/db/queries/storage/tombstones.ts";
import { hasRemains } from "../../../src/db/queries/upkeep/erasing.ts";
import { listDue } from "../../../src/db/queries/webhooks/deliveries.ts";
import { raw, sql } from "../../../src/db/sql.ts";
import {
  aDeletion,
  addUser,
  anEntry,
  attachment,
  aUser,
  contact,
  messageId,
  walk,
} from "../../support/rows.ts";
import { onEachDatabase } from "../databases.ts";

/** The conversation that a and b share. */
const SHARED = "cnv_a_1";
/** So small that each delete takes many steps. */
const LIMIT = 2;
/** Also small, but larger than the events of one upload, which an erased member gets until the contact is erased. */
const LIMIT_OF_A_USER = 3;

const idOf = (number: number) => `att_${String(number).padStart(4, "0")}`;

/** Adds users a and b who share a conversation, in which b sent files 1 to 5 and a sent files 6 to 8. */
async function share(db: Database): Promise<void> {
  for (const name of ["a", "b"]) await addUser(db, name);
  await db.write("createContact", { ...contact("a", 1), usernameKey: "b" });
  await db.write("createContact", { ...contact("b", 1), usernameKey: "a" });
  for (const i of [1, 2, 3, 4, 5]) await send(db, "b", i);
  for (const i of [6, 7, 8]) await send(db, "a", i);
}

const send = (db: Database, user: string, number: number, conversationId = SHARED) =>
  db.write("createAttachment", attachment(user, number, { conversationId }));

const leave = (db: Database, ownerId: string, number = 1, limit = LIMIT) =>
  db.write("deleteContact", {
    ownerId,
    id: `con_${ownerId}_${String(number).padStart(4, "0")}`,
    deletedAt: 1,
    limit,
    expected: null,
    entry: anEntry(),
  });

const rename = (db: Database, userId: string, number: number, filename: string) =>
  db.write("renameAttachment", { userId, id: idOf(number), filename, expected: null, entry: anEntry() });

async function numbersSeenBy(db: Database, user: string, conversation?: string): Promise<number[]> {
  const rows = await listAttachments(db, user, conversation, walk(NEWEST, 100));
  return rows.map(({ id }) => Number(id.slice(4))).sort((a, b) => a - b);
}

async function count(db: Database, from: string): Promise<number> {
  return (await db.get<{ count: number }>(sql`SELECT COUNT(*) AS count FROM ${raw(from)}`))!.count;
}

/** Counts the rows of all tables that a delete erases. */
async function countAll(db: Database): Promise<number> {
  let sum = 0;
  for (const table of [
    ...["attachments", "grants", "small_files", "messages", "members", "contacts", "departures"],
    ...["withheld", "places", "marks", "blocks", "events", "deliveries", "webhooks", "idempotency"],
  ])
    sum += await count(db, table);
  return sum;
}

/** Runs steps until nothing is left, and calls `look` between them. No step erases more rows than the limit allows. */
async function eraseAll(db: Database, look: () => Promise<void>, limit = LIMIT): Promise<number> {
  for (let steps = 0; ; steps++) {
    await look();
    for await (const miscount of findMiscounts(db)) assert.fail(JSON.stringify(miscount));
    const before = await countAll(db);
    assert.equal(await db.write("eraseStep", { limit, now: 1, messageId: "m" }), true);
    const erased = before - (await countAll(db));
    assert.ok(erased <= 3 * limit + 1, `${erased} rows in one step`);
    if (!(await hasRemains(db))) return steps;
  }
}

async function seesNothing(db: Database, user: string): Promise<void> {
  const ids = [1, 2, 3, 4, 5, 6, 7, 8].map(idOf);
  assert.deepEqual(await numbersSeenBy(db, user), []);
  assert.deepEqual(await numbersSeenBy(db, user, SHARED), []);
  assert.deepEqual(await findAttachments(db, user, ids), []);
  for (const [i, id] of ids.entries()) {
    assert.equal(await findAttachment(db, user, id), undefined);
    await assert.rejects(rename(db, user, i + 1, "x"), { code: "attachment_not_found" });
  }
}

async function eventsOf(db: Database, user: string): Promise<string[]> {
  while ((await db.write("numberEvents", { limit: 100 })) > 0);
  const rows = await db.all<{ type: string; payload: string }>(
    sql`SELECT type, payload FROM events WHERE recipient_id = ${user} ORDER BY number`,
  );
  return rows.map(({ type, payload }) => `${type} ${JSON.parse(payload).id}`);
}

const ALL = [1, 2, 3, 4, 5, 6, 7, 8];

onEachDatabase(
  "a member who left sees nothing while the conversation is erased, and the other member still sees everything",
  async (db) => {
    await share(db);
    await leave(db, "a");
    assert.equal(await count(db, "grants WHERE user_id = 'a'"), 6, "the first step erases two");
    const steps = await eraseAll(db, async () => {
      await seesNothing(db, "a");
      assert.deepEqual(await numbersSeenBy(db, "b"), ALL);
      for (const i of ALL) assert.ok(await findVisibleAttachment(db, idOf(i)));
      await assert.rejects(send(db, "a", 9), { code: "conversation_not_found" });
    });
    assert.ok(steps >= 2, `${steps} steps`);
    assert.equal(await count(db, "grants WHERE user_id = 'a'"), 0);
    assert.equal(await count(db, "storage WHERE user_id = 'a' AND used = 0"), 1);
    assert.deepEqual(await listTombstones(db, 1, 100), []);
  },
);

onEachDatabase("links end when the last member leaves, and every row is erased", async (db) => {
  await share(db);
  await leave(db, "a");
  // The file is deleted for both users, although a's grant still exists.
  await db.write("deleteAttachment", {
    userId: "b",
    id: idOf(5),
    deletedAt: 1,
    expected: null,
    entry: anEntry(),
  });
  await leave(db, "b");
  await eraseAll(db, async () => {
    for (const i of ALL) assert.equal(await findVisibleAttachment(db, idOf(i)), undefined);
    for (const user of ["a", "b"]) assert.deepEqual(await numbersSeenBy(db, user), []);
  });
  for (const table of ["attachments", "grants", "messages", "contacts", "departures", "departing"])
    assert.equal(await count(db, table), 0, table);
  assert.equal(await count(db, "storage WHERE used <> 0"), 0);
  assert.deepEqual((await listTombstones(db, 1, 100)).sort(), ALL.map((i) => `blob-${i}`).sort());
});

onEachDatabase("joining again before the erasure ends shows only later messages", async (db) => {
  await share(db);
  await leave(db, "a");
  await db.write("createContact", { ...contact("a", 2), usernameKey: "b" });
  await seesNothing(db, "a");
  // A file added to an earlier message is as hidden as that message.
  await db.write("createAttachment", attachment("b", 9, { messageId: messageId(1) }));
  await send(db, "b", 10);
  await send(db, "a", 11);
  const before = await eventsOf(db, "a");
  await rename(db, "b", 1, "hidden");
  await rename(db, "b", 10, "seen");
  assert.deepEqual((await eventsOf(db, "a")).slice(before.length), [
    `message.updated ${messageId(10)}`,
    `attachment.updated ${idOf(10)}`,
  ]);
  await eraseAll(db, async () => {
    await seesNothingOfBefore();
    assert.deepEqual(await numbersSeenBy(db, "b"), [...ALL, 9, 10, 11]);
  });
  await seesNothingOfBefore();
  assert.equal(await count(db, "grants WHERE user_id = 'a'"), 2);
  await send(db, "b", 12);
  assert.deepEqual(await numbersSeenBy(db, "a"), [10, 11, 12]);

  async function seesNothingOfBefore(): Promise<void> {
    assert.deepEqual(await numbersSeenBy(db, "a"), [10, 11]);
    assert.deepEqual(await numbersSeenBy(db, "a", SHARED), [10, 11]);
    const seen = await findAttachments(db, "a", [...ALL, 10].map(idOf));
    assert.deepEqual(
      seen.map(({ id }) => id),
      [idOf(10)],
    );
    for (const i of ALL) assert.equal(await findAttachment(db, "a", idOf(i)), undefined);
  }
});

onEachDatabase("leaving twice before the erasure ends shows nothing from either membership", async (db) => {
  await share(db);
  await leave(db, "a");
  await db.write("createContact", { ...contact("a", 2), usernameKey: "b" });
  for (const i of [10, 11, 12]) await send(db, "b", i);
  await leave(db, "a", 2);
  await db.write("createContact", { ...contact("a", 3), usernameKey: "b" });
  assert.deepEqual(await numbersSeenBy(db, "a"), []);
  await send(db, "b", 13);
  await eraseAll(db, async () => assert.deepEqual(await numbersSeenBy(db, "a"), [13]));
  assert.equal(await count(db, "grants WHERE user_id = 'a'"), 1);
});

onEachDatabase("a deleted user disappears at once, and every row is erased", async (db) => {
  await share(db);
  for (const i of [2, 3, 4]) await db.write("createContact", contact("a", i));
  await send(db, "a", 9, "cnv_a_2");
  for (const i of [10, 11, 12]) await db.write("createAttachment", attachment("a", i));
  const notes = [9, 10, 11, 12];
  await addWebhooks(db);
  const deletedAt = 1_800_000_000_000;
  await db.write("deleteUser", aDeletion("a", { deletedAt, limit: LIMIT_OF_A_USER }));
  // A new user takes the name while the first one is still being erased.
  await db.write("createUser", aUser("a2", { usernameKey: "a" }));
  let number = 20;
  await eraseAll(
    db,
    async () => {
      for (const i of notes) assert.equal(await findVisibleAttachment(db, idOf(i)), undefined);
      for (const i of ALL) assert.ok(await findVisibleAttachment(db, idOf(i)));
      for (const i of ALL) assert.equal(await findLinkedAttachment(db, "a", idOf(i)), undefined);
      await assert.rejects(send(db, "a", 30), { code: "conversation_not_found" });
      await assert.rejects(db.write("createAttachment", attachment("a", 30, { messageId: messageId(6) })), {
        code: "message_not_found",
      });
      await assert.rejects(rename(db, "a", 10, "x"), { code: "attachment_not_found" });
      const due = await listDue(db, "whk_b", 1_800_000_000_000, 100);
      assert.deepEqual(
        due.filter(({ recipient_id }) => recipient_id === "a"),
        [],
      );
      assert.ok(!(await listRecipients(db, 0, 1e9)).includes("a"));
      // b continues to send, and each send could create an event for the deleted user.
      await send(db, "b", number++);
      while ((await db.write("numberEvents", { limit: 100 })) > 0);
      if (number === 22) await db.write("createContact", { ...contact("a2", 1), usernameKey: "b" });
    },
    LIMIT_OF_A_USER,
  );
  assert.equal((await numbersSeenBy(db, "b")).length, ALL.length + number - 20);
  const theirs = (await numbersSeenBy(db, "a2")).filter((i) => i < 20);
  assert.deepEqual(theirs, [], "the new user gets nothing from before");
  const peer = await db.get<{ peer_id: string }>(sql`SELECT peer_id FROM contacts WHERE owner_id = 'b'`);
  assert.equal(peer!.peer_id, "a2", "the peer of the new user stays");
  for (const [table, column] of Object.entries({
    ...{ grants: "user_id", members: "user_id", contacts: "owner_id", events: "recipient_id" },
    ...{ deliveries: "recipient_id", webhooks: "user_id", idempotency: "user_id", storage: "user_id" },
  }))
    assert.equal(await count(db, `${table} WHERE ${column} = 'a'`), 0, table);
  assert.equal(await count(db, "attachments WHERE uploader_id = 'a'"), 3, "those that b sees");
  assert.equal(await count(db, "messages WHERE conversation_id <> 'cnv_a_1'"), 0);
  assert.deepEqual((await listTombstones(db, 1, 100)).sort(), notes.map((i) => `blob-${i}`).sort());
  assert.equal(await count(db, "deliveries WHERE webhook_id = 'whk_b' AND next_at IS NOT NULL"), 1);
});
/**
 * Adds a webhook of a, and an all-users webhook of b with a delivery that waits for one of a's in the same
 * conversation.
 */
async function addWebhooks(db: Database): Promise<void> {
  for (const user of ["a", "b"]) {
    const row = {
      id: `whk_${user}`,
      user_id: user,
      url: "https://a/",
      types: null,
      scopes: "attachments:read",
      all_users: 1,
      secret: "s",
    };
    const dates = {
      old_until: null,
      disabled_at: null,
      failing_since: null,
      backlog_from: null,
      since_position: 0,
      public_key: null,
      token_id: null,
      expires_at: null,
      created_at: 1,
    };
    await db.write("createWebhook", {
      row: { ...row, ...dates, old_secret: null, version: 1 },
      limit: 0,
      entry: anEntry(),
      sealed: null,
    });
  }
  while ((await db.write("numberEvents", { limit: 100 })) > 0);
  const events = await db.all<{ position: number; recipient_id: string }>(
    sql`SELECT position, recipient_id FROM events WHERE conversation_id = ${SHARED}
    ORDER BY recipient_id, position`,
  );
  const last = events.findLast(({ recipient_id }) => recipient_id === "b")!;
  const some = [...events.filter(({ recipient_id }) => recipient_id === "a").slice(0, 3), last];
  const deliveries = some.flatMap(({ position }, i) =>
    ["whk_a", "whk_b"].map((webhookId) => ({
      id: `dlv_${i}_${webhookId}`,
      webhookId,
      eventId: "e",
      position,
      lastPosition: null,
    })),
  );
  await db.write("addDeliveries", {
    deliveries,
    fallen: [],
    behind: [],
    since: 0,
    from: 0,
    to: last.position,
    now: 1,
  });
}
