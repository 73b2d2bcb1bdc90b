// How messages are sent, seen, edited and deleted, on both engines.
import assert from "node:assert/strict";
import type { Database } from "../../../src/db/database.ts";
import { listAttachments } from "../../../src/db/queries/files/attachments.ts";
import { findMessage } from "../../../src/db/queries/messages/messages.ts";
import { storageUsed } from "../../../src/db/queries/storage/storage-used.ts";
import { sql } from "../../../src/db/sql.ts";
import { laterId } from "../../../src/util/ids.ts";
import { aDeletion, addUser, anEntry, attachment, messageId, walk } from "../../support/rows.ts";
import { onEachDatabase } from "../databases.ts";
import { block, count, eventsOf, meet, SHARED, seenBy, send } from "./talk.ts";

const file = (user: string, number: number) => attachment(user, number, {}, { fileSize: 7 }).file;

async function runsOf(db: Database, user: string): Promise<string[]> {
  const runs = await db.all<{ from_id: string; to_id: string }>(
    sql`SELECT from_id, to_id FROM withheld WHERE user_id = ${user} ORDER BY from_id`,
  );
  const numbers = Array.from({ length: 100 }, (_, n) => messageId(n));
  // A run begins at its first message, or at a time before it.
  return runs.map((run) => `${numbers.findIndex((id) => id >= run.from_id)}-${numbers.indexOf(run.to_id)}`);
}

onEachDatabase("message ids rise in commit order, even with a slow clock", async (db) => {
  await meet(db);
  const first = await send(db, "a", 10);
  const second = await send(db, "b", 3);
  assert.equal(first, messageId(10));
  assert.equal(second, laterId(messageId(3), first));
  const third = await send(db, "a", 11);
  const rows = await db.all<{ id: string; created_at: number }>(
    sql`SELECT id, created_at FROM messages WHERE conversation_id = ${SHARED} ORDER BY id`,
  );
  assert.deepEqual(
    rows.map(({ id }) => id),
    [first, second, third],
  );
  assert.equal(rows[1]!.created_at, rows[0]!.created_at);
  const last = await db.get<{ last_id: string }>(sql`SELECT last_id FROM conversations`);
  assert.equal(last!.last_id, third);
  const uploaded = await db.write("createAttachment", attachment("b", 4, { conversationId: SHARED }));
  const found = (await listAttachments(db, "a", undefined, walk("~", 5)))[0]!;
  assert.deepEqual({ id: found.id, message_id: found.message_id }, uploaded);
  assert.ok(found.message_id > third);
});

onEachDatabase("a message has at most 100 files, and a deleted one leaves room", async (db) => {
  await addUser(db, "a");
  const add = (number: number) =>
    db.write("createAttachment", attachment("a", number, { messageId: messageId(1) }));
  await db.write("createAttachment", attachment("a", 1));
  for (let number = 2; number <= 100; number++) await add(number);
  await assert.rejects(add(101), { code: "count_limit_reached" });
  const [{ id }] = (await db.all(sql`SELECT MIN(id) AS id FROM attachments`)) as [{ id: string }];
  const gone = { userId: "a", id, deletedAt: 1, limit: 250, expected: null, entry: anEntry() };
  await db.write("deleteAttachment", gone);
  await add(102);
  await assert.rejects(add(103), { code: "count_limit_reached" });
});

onEachDatabase("a deleted message leaves no column of its body readable", async (db) => {
  await meet(db);
  const id = await send(db, "a", 1, { text: "text", data: "{}" });
  const [body] = await db.all<Record<string, unknown>>(sql`SELECT * FROM message_bodies`);
  const columns = Object.keys(body!).filter((column) => column !== "id");
  for (const column of columns) assert.notEqual(body![column], null, `send ${column} with the message above`);
  await db.write("deleteMessage", { userId: "a", id, expected: null, now: 1, entry: anEntry() });
  const [erased] = await db.all<Record<string, unknown>>(sql`SELECT * FROM message_bodies`);
  for (const column of columns) assert.equal(erased![column], null, column);
});

onEachDatabase(
  "a message with one failing file is rolled back: text, files, events, place in the inbox and read position",
  async (db) => {
    await meet(db);
    await send(db, "a", 1, { files: [file("a", 1)] });
    const tables = ["messages", "message_bodies", "attachments", "grants", "small_files", "marks", "audit"];
    const look = async () => ({
      counts: await Promise.all(tables.map((table) => count(db, table))),
      events: [await eventsOf(db, "a"), await eventsOf(db, "b")],
      places: await db.all(sql`SELECT * FROM places ORDER BY user_id, conversation_id`),
      last: await db.all(sql`SELECT * FROM conversations`),
      used: await storageUsed(db, "a"),
    });
    const before = await look();
    // The id of the first file is taken, which no earlier check finds.
    await assert.rejects(send(db, "a", 2, { files: [file("a", 2), file("a", 1)] }));
    assert.deepEqual(await look(), before);
    await send(db, "a", 2, { files: [file("a", 2), file("a", 3)] });
    assert.deepEqual(await seenBy(db, "b"), [1, 2]);
  },
);

onEachDatabase("consecutive messages of a blocked user form one run until a visible message", async (db) => {
  await meet(db);
  await send(db, "b", 1);
  const before = await eventsOf(db, "a");
  await block(db, "a", "b");
  const place = sql`SELECT position FROM places WHERE user_id = 'a' AND conversation_id = ${SHARED}`;
  const stood = await db.get(place);
  for (const number of [2, 3, 4]) await send(db, "b", number, { files: [file("b", number)] });
  assert.deepEqual(await runsOf(db, "a"), ["2-4"]);
  assert.deepEqual(await db.get(place), stood, "it does not move the conversation up");
  assert.deepEqual(await eventsOf(db, "a"), before);
  await send(db, "a", 5);
  for (const number of [6, 7]) await send(db, "b", number);
  assert.deepEqual(await runsOf(db, "a"), ["2-4", "6-7"]);
  await block(db, "a", "b", null);
  await send(db, "b", 8);
  assert.deepEqual(await seenBy(db, "a"), [1, 5, 8]);
  assert.deepEqual(await seenBy(db, "b"), [1, 2, 3, 4, 5, 6, 7, 8]);
  assert.equal(await findMessage(db, "a", messageId(3)), undefined);
  assert.equal(await count(db, "grants WHERE user_id = 'a'"), 0);
  assert.deepEqual(await runsOf(db, "b"), []);
});

onEachDatabase("a user erased after the token check cannot block", async (db) => {
  await meet(db);
  await db.write("deleteUser", aDeletion("a", { limit: 1000 }));
  await block(db, "a", "b");
  assert.equal(await count(db, "blocks"), 0);
});
