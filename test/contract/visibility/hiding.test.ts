// Messages that a member deletes for themselves: who still sees them, which rows remain, and when they are erased, on
// both engines.
import assert from "node:assert/strict";
import type { Database } from "../../../src/db/database.ts";
import { countUnread, findConversations } from "../../../src/db/queries/messages/inbox.ts";
import { findLastMessages } from "../../../src/db/queries/messages/messages.ts";
import { findMiscounts, storageUsed } from "../../../src/db/queries/storage/storage-used.ts";
import { sql } from "../../../src/db/sql.ts";
import { checkOrphans } from "../../support/orphans.ts";
import { addUser, anEntry, attachment, messageId } from "../../support/rows.ts";
import { onTwoNodes } from "../databases.ts";
import { createGroup, deleteUser, join, leaveGroup, people } from "../groups/in-groups.ts";
import {
  add,
  block,
  count,
  eraseAll,
  eventsOf,
  leave,
  meet,
  SHARED,
  seenBy,
  send,
} from "../messages/talk.ts";

const file = (user: string, number: number) => attachment(user, number, {}, { fileSize: 7 }).file;

const hide = (db: Database, userId: string, number: number, id = messageId(number)) =>
  db.write("hideMessage", { userId, id, expected: null, now: 5, entry: anEntry() });

async function runsOf(db: Database, user: string): Promise<string[]> {
  const runs = await db.all<{ from_id: string; to_id: string }>(
    sql`SELECT from_id, to_id FROM withheld WHERE user_id = ${user} ORDER BY from_id`,
  );
  const numbers = Array.from({ length: 100 }, (_, n) => messageId(n));
  return runs.map((run) => `${numbers.indexOf(run.from_id)}-${numbers.indexOf(run.to_id)}`);
}

/** Returns how many messages the user has not read, and the number of the last message. */
async function shownOf(db: Database, user: string): Promise<[unread: number, last: string | undefined]> {
  const [row] = await findConversations(db, user, [SHARED]);
  const [last] = await findLastMessages(db, [row!]);
  return [(await countUnread(db, row!)).count, last?.id];
}

/** Asserts that no row refers to a missing one, and each user's storage is the sum of their files. */
async function check(db: Database): Promise<void> {
  await checkOrphans(db);
  for await (const miscount of findMiscounts(db)) assert.fail(JSON.stringify(miscount));
}

onTwoNodes("adjacent messages deleted for oneself form one run, in any order of deletes", async ([db]) => {
  await meet(db);
  for (let number = 1; number <= 9; number++) await send(db, "a", number);
  for (const number of [3, 5, 8]) await hide(db, "b", number);
  assert.deepEqual(await runsOf(db, "b"), ["3-3", "5-5", "8-8"]);
  await hide(db, "b", 4);
  assert.deepEqual(await runsOf(db, "b"), ["3-5", "8-8"]);
  await hide(db, "b", 2);
  assert.deepEqual(await runsOf(db, "b"), ["2-5", "8-8"]);
  await db.write("deleteMessage", {
    userId: "a",
    id: messageId(6),
    expected: null,
    now: 5,
    entry: anEntry(),
  });
  await hide(db, "b", 7);
  assert.deepEqual(await runsOf(db, "b"), ["2-8"]);
  await hide(db, "b", 9);
  await block(db, "b", "a");
  await send(db, "a", 10);
  assert.deepEqual(await runsOf(db, "b"), ["2-10"]);
  assert.deepEqual(await seenBy(db, "b"), [1]);
  assert.deepEqual(await shownOf(db, "b"), [1, messageId(1)]);
  await check(db);
});

onTwoNodes("a message that no present member sees is deleted", async ([db]) => {
  for (const user of ["a", "b"]) await addUser(db, user);
  await add(db, "a", "b");
  await send(db, "a", 1, { files: [file("a", 1)] });
  await hide(db, "a", 1);
  assert.equal(await count(db, "messages"), 0, "the contact has not joined yet");
  assert.deepEqual((await eventsOf(db, "a")).slice(-2), [
    `message.deleted ${messageId(1)}`,
    "attachment.deleted att_0001",
  ]);
  await send(db, "a", 2);
  await add(db, "b", "a");
  assert.deepEqual(await seenBy(db, "b"), [2]);
  await hide(db, "a", 2);
  await send(db, "b", 3);
  await leave(db, "b");
  await eraseAll(db);
  assert.deepEqual(await seenBy(db, "a"), [3]);
  assert.equal(await count(db, "messages"), 1, "the last one who saw it has left");
  await check(db);
});

onTwoNodes("a message that all members delete at once is deleted", async (nodes) => {
  const [db] = nodes;
  await meet(db);
  for (let number = 1; number <= 20; number++) {
    await send(db, "a", number, { files: [file("a", number)] });
    await Promise.all([hide(nodes[0], "a", number), hide(nodes[1], "b", number)]);
  }
  for (const table of ["messages", "attachments", "grants"]) assert.equal(await count(db, table), 0, table);
  assert.equal(await storageUsed(db, "a"), 0);
  await check(db);
});

onTwoNodes("system messages, and messages last seen by an erased user, are deleted too", async ([db]) => {
  await people(db, "a", "b");
  await createGroup(db, "a", "grp_1", ["b"]);
  await join(db, "grp_1", "b");
  const id = await send(db, "a", 3001, { conversationId: "cnv_grp_1" });
  const before = await count(db, "messages");
  const [system] = await db.all<{ id: string }>(
    sql`SELECT id FROM messages WHERE type = 'joined' ORDER BY id DESC`,
  );
  const seen = (await seenBy(db, "b", "cnv_grp_1")).length;
  await hide(db, "b", 0, system!.id);
  assert.equal((await seenBy(db, "b", "cnv_grp_1")).length, seen - 1);
  await hide(db, "a", 0, id);
  assert.equal(await count(db, "messages"), before);
  await deleteUser(db, "b", 2);
  await eraseAll(db, 2);
  assert.equal(await count(db, "messages WHERE type = 'text'"), 0);
  await check(db);
  await leaveGroup(db, "grp_1", "a");
  await eraseAll(db);
  for (const table of ["messages", "withheld"]) assert.equal(await count(db, table), 0, table);
});
