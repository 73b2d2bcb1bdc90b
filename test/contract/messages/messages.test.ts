// How messages are sent, seen, edited and deleted, on both engines.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Database } from "../../../src/db/database.ts";
import { listAttachments } from "../../../src/db/queries/files/attachments.ts";
import { findMessage } from "../../../src/db/queries/messages/message-read.ts";
import { findMiscounts, storageUsed } from "../../../src/db/queries/storage/storage-used.ts";
import { listTombstones } from "../../../src/db/queries/storage/tombstones.ts";
import { sql } from "../../../src/db/sql.ts";
import { laterId } from "../../../src/util/ids.ts";
import { addUser, anEntry, attachment, contact, messageId, walk } from "../../support/rows.ts";
import { openOnPostgres, openOnSqlite } from "../databases.ts";
import { add, block, count, eventsOf, leave, meet, SHARED, seenBy, send } from "./talk.ts";

type Open = (t: TestContext) => Promise<Database>;

const file = (user: string, number: number) => attachment(user, number, {}, { fileSize: 7 }).file;

const update = (db: Database, userId: string, number: number, text: string | null) =>
  db.write("updateMessage", {
    ...{ userId, id: messageId(number), expected: null, now: 5, text, data: undefined },
  });

const remove = (db: Database, userId: string, number: number) =>
  db.write("deleteMessage", { userId, id: messageId(number), expected: null, now: 5, entry: anEntry() });

async function runsOf(db: Database, user: string): Promise<string[]> {
  const runs = await db.all<{ from_id: string; to_id: string }>(
    sql`SELECT from_id, to_id FROM withheld WHERE user_id = ${user} ORDER BY from_id`,
  );
  const numbers = Array.from({ length: 100 }, (_, n) => messageId(n));
  // A run begins with its first message, or with a time before that.
  return runs.map((run) => `${numbers.findIndex((id) => id >= run.from_id)}-${numbers.indexOf(run.to_id)}`);
}

function sendingContract(name: string, open: Open): void {
  test(`${name}: ids rise in the order of the commits, also with a clock behind`, async (t) => {
    const db = await open(t);
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

  test(`${name}: a reply needs a message that its sender sees, a mention a member`, async (t) => {
    const db = await open(t);
    await meet(db);
    await addUser(db, "c");
    await block(db, "a", "b");
    await send(db, "b", 1);
    await block(db, "a", "b", null);
    for (const replyToId of [messageId(1), messageId(9)])
      await assert.rejects(send(db, "a", 2, { replyToId }), { code: "message_not_found" });
    await assert.rejects(send(db, "b", 2, { mentions: ["a", "c"] }), { code: "invalid_parameter" });
    await assert.rejects(send(db, "c", 2), { code: "conversation_not_found" });
    assert.equal(await count(db, "messages"), 1, "what was refused left nothing");
    assert.equal(await count(db, "message_bodies"), 1);
    await send(db, "b", 3, { replyToId: messageId(1), mentions: ["a", "b"] });
    await remove(db, "b", 1);
    const reply = await findMessage(db, "a", messageId(3));
    assert.equal(reply!.reply_to_id, messageId(1), "it remains when that message is deleted");
    assert.equal(reply!.mentions, "a b");
  });
}

function wholeContract(name: string, open: Open): void {
  test(`${name}: a message of which one file fails leaves nothing: no text, file, event, place or mark`, async (t) => {
    const db = await open(t);
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
    // The id of the first file is taken: an error that no check comes before.
    await assert.rejects(send(db, "a", 2, { files: [file("a", 2), file("a", 1)] }));
    assert.deepEqual(await look(), before);
    await send(db, "a", 2, { files: [file("a", 2), file("a", 3)] });
    assert.deepEqual(await seenBy(db, "b"), [1, 2]);
  });
}

function withholdingContract(name: string, open: Open): void {
  test(`${name}: what a blocked user sends is one run until something else is seen`, async (t) => {
    const db = await open(t);
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

  test(`${name}: an edit, a late file and a new name of a blocked user withdraw the message`, async (t) => {
    const db = await open(t);
    await meet(db);
    for (const number of [1, 2, 3, 4])
      await send(db, "b", number, number === 3 ? { files: [file("b", 3)] } : {});
    await block(db, "a", "b");
    const before = (await eventsOf(db, "a")).length;
    await update(db, "b", 1, "new");
    await db.write("createAttachment", attachment("b", 9, { messageId: messageId(2) }));
    const renamed = { userId: "b", id: "att_0003", filename: "new", expected: null, entry: anEntry() };
    await db.write("renameAttachment", renamed);
    assert.deepEqual(await seenBy(db, "a"), [4]);
    assert.deepEqual(await seenBy(db, "b"), [1, 2, 3, 4]);
    assert.deepEqual((await eventsOf(db, "a")).slice(before), [
      ...[1, 2, 3].map((number) => `message.deleted ${messageId(number)}`),
      "attachment.deleted att_0003",
    ]);
    assert.equal(await count(db, "grants WHERE user_id = 'a'"), 0);
    await remove(db, "b", 4);
    assert.deepEqual((await eventsOf(db, "a")).at(-1), `message.deleted ${messageId(4)}`);
    await send(db, "b", 5);
    assert.deepEqual(await seenBy(db, "a"), []);
  });
}

function blockingContract(name: string, open: Open): void {
  test(`${name}: a user who was erased since the token was checked blocks nobody`, async (t) => {
    const db = await open(t);
    await meet(db);
    await db.write("deleteUser", { id: "a", deletedAt: 1, limit: 1000, messageId: "m", entry: anEntry() });
    await block(db, "a", "b");
    assert.equal(await count(db, "blocks"), 0);
  });

  test(`${name}: a block outlives the contact, and holds for what waits`, async (t) => {
    const db = await open(t);
    await meet(db);
    await block(db, "a", "b", 1_800_000_000_002);
    const isBlocked = () => count(db, "contacts WHERE owner_id = 'a' AND blocked_at IS NOT NULL");
    assert.equal(await isBlocked(), 1);
    await leave(db, "a");
    await leave(db, "b");
    assert.equal(await count(db, "blocks"), 1);
    // b begins anew, before and after a blocks b.
    await block(db, "a", "b", null);
    const conversation = "cnv_b_7";
    const other = { conversationId: conversation };
    await db.write("createContact", { ...contact("b", 7), usernameKey: "a" });
    await send(db, "b", 1, other);
    await block(db, "a", "b", 1_800_000_000_002);
    for (const number of [2, 3]) await send(db, "b", number, other);
    // Adding lifts the block, but brings nothing that was sent meanwhile.
    await add(db, "a", "b", false);
    assert.equal(await count(db, "blocks"), 0);
    assert.equal(await isBlocked(), 0);
    await send(db, "b", 4, other);
    assert.deepEqual(await seenBy(db, "a", conversation), [1, 4]);
    assert.deepEqual(await runsOf(db, "a"), ["2-3"]);
  });

  test(`${name}: a contact that is blocked from the start brings nothing that waits`, async (t) => {
    const db = await open(t);
    for (const user of ["a", "b"]) await addUser(db, user);
    const conversation = "cnv_b_7";
    const other = { conversationId: conversation };
    await db.write("createContact", { ...contact("b", 7), usernameKey: "a" });
    for (const number of [1, 2]) await send(db, "b", number, other);
    const id = await add(db, "a", "b", true);
    await send(db, "b", 3, other);
    await db.write("blockContact", { ownerId: "a", id, blockedAt: null, now: 1 });
    assert.equal(await count(db, "blocks"), 0);
    await send(db, "b", 4, other);
    assert.deepEqual(await seenBy(db, "a", conversation), [4]);
    assert.deepEqual(await seenBy(db, "b", conversation), [1, 2, 3, 4]);
  });
}

function changingContract(name: string, open: Open): void {
  test(`${name}: an edit replaces the text, and without a change nothing happens`, async (t) => {
    const db = await open(t);
    await meet(db);
    await send(db, "a", 1);
    await send(db, "a", 2, { text: null, files: [file("a", 2)] });
    const before = (await eventsOf(db, "b")).length;
    await update(db, "a", 1, "text 1");
    assert.equal((await findMessage(db, "a", messageId(1)))!.edited_at, null);
    await update(db, "a", 1, "new");
    const { text, edited_at, version } = (await findMessage(db, "b", messageId(1)))!;
    assert.deepEqual({ text, edited_at, version }, { text: "new", edited_at: 5, version: 2 });
    assert.equal(await count(db, "message_bodies WHERE text = 'text 1'"), 0);
    await assert.rejects(update(db, "a", 1, null), { code: "missing_parameter" });
    await assert.rejects(update(db, "b", 1, "x"), { code: "not_sender" });
    await assert.rejects(update(db, "b", 9, "x"), { code: "message_not_found" });
    for (const content of ["a word", null]) {
      await update(db, "a", 2, content);
      assert.equal((await findMessage(db, "a", messageId(2)))!.text, content);
    }
    assert.equal(await count(db, "message_bodies WHERE text IS NOT NULL"), 1);
    assert.deepEqual((await eventsOf(db, "b")).slice(before), [
      `message.updated ${messageId(1)}`,
      ...Array(2).fill(`message.updated ${messageId(2)}`),
    ]);
  });

  test(`${name}: deleting a message erases its text and files for all, and returns their storage`, async (t) => {
    const db = await open(t);
    await meet(db);
    await send(db, "a", 1, { files: [file("a", 1), file("a", 2)] });
    await send(db, "a", 2, { text: null, files: [file("a", 3)] });
    await send(db, "a", 3, { files: [file("a", 4)] });
    assert.equal(await storageUsed(db, "a"), 28);
    const before = (await eventsOf(db, "b")).length;
    await assert.rejects(remove(db, "b", 1), { code: "not_sender" });
    await remove(db, "a", 1);
    // The last thing in a message takes the message with it.
    for (const id of ["att_0003", "att_0004"])
      await db.write("deleteAttachment", {
        ...{ userId: "a", id, deletedAt: 5, expected: null, entry: anEntry() },
      });
    assert.deepEqual(await seenBy(db, "b"), [3]);
    assert.deepEqual((await eventsOf(db, "b")).slice(before), [
      `message.deleted ${messageId(1)}`,
      ...["attachment.deleted att_0001", "attachment.deleted att_0002"],
      `message.deleted ${messageId(2)}`,
      ...["attachment.deleted att_0003", "attachment.deleted att_0004"],
      `message.updated ${messageId(3)}`,
    ]);
    assert.equal(await storageUsed(db, "a"), 0);
    assert.equal(await count(db, "message_bodies WHERE text IS NOT NULL"), 1);
    for (const table of ["grants", "attachments"]) assert.equal(await count(db, table), 0, table);
    assert.deepEqual(
      (await listTombstones(db, 9, 9)).sort(),
      [1, 2, 3, 4].map((n) => `blob-${n}`),
    );
    assert.equal(await count(db, "audit WHERE action = 'attachment.deleted'"), 4);
    for await (const miscount of findMiscounts(db)) assert.fail(JSON.stringify(miscount));
  });
}

for (const [name, open] of Object.entries({ sqlite: openOnSqlite, postgres: openOnPostgres })) {
  sendingContract(name, open);
  wholeContract(name, open);
  withholdingContract(name, open);
  blockingContract(name, open);
  changingContract(name, open);
}
