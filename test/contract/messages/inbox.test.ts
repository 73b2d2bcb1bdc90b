// Inboxes and unread counts, on both engines.
import assert from "node:assert/strict";
import type { Database } from "../../../src/db/database.ts";
import {
  countUnread,
  countUnreadConversations,
  findConversations,
} from "../../../src/db/queries/messages/inbox.ts";
import { findLastMessages } from "../../../src/db/queries/messages/messages.ts";
import { anEntry, message, messageId } from "../../support/rows.ts";
import { onEachDatabase } from "../databases.ts";
import { block, count, meet, SHARED, send } from "./talk.ts";

const read = (db: Database, userId: string, number: number) =>
  db.write("markRead", {
    ...{ userId, conversationId: SHARED, messageId: messageId(number), isPrivate: false, now: 5 },
  });

async function unreadOf(db: Database, userId: string): Promise<number> {
  const [row] = await findConversations(db, userId, [SHARED]);
  return (await countUnread(db, row!)).count;
}

/** Returns the id of the last message that the user sees. */
async function lastOf(db: Database, userId: string): Promise<string | undefined> {
  const [message] = await findLastMessages(db, await findConversations(db, userId, [SHARED]));
  return message?.id;
}

const badge = (db: Database, now = 5) => countUnreadConversations(db, "a", now, 1000);

onEachDatabase("withheld messages are neither unread nor the last message", async (db) => {
  await meet(db);
  await send(db, "b", 1);
  await block(db, "a", "b");
  for (let number = 2; number <= 130; number++) await send(db, "b", number);
  assert.equal(await unreadOf(db, "a"), 1);
  assert.equal(await badge(db), 1);
  assert.equal(await lastOf(db, "a"), messageId(1));
  await block(db, "a", "b", null);
  for (const number of [131, 132]) await send(db, "b", number);
  assert.equal(await unreadOf(db, "a"), 3);
  assert.equal(await lastOf(db, "a"), messageId(132));
  await read(db, "a", 60);
  assert.equal(await unreadOf(db, "a"), 2);
  assert.equal(await badge(db), 1);
  await read(db, "a", 132);
  assert.equal(await unreadOf(db, "a"), 0);
  assert.equal(await count(db, "places WHERE maybe_unread = 1"), 0);
});

onEachDatabase("the last message is none that its row does not count as unread yet", async (db) => {
  await meet(db);
  const before = await findConversations(db, "a", [SHARED]);
  await send(db, "b", 1);
  assert.deepEqual(await findLastMessages(db, before), []);
  const one = await findConversations(db, "a", [SHARED]);
  await send(db, "b", 2);
  const two = await findConversations(db, "a", [SHARED]);
  await db.write("deleteMessage", {
    ...{ userId: "b", id: messageId(2), expected: null, now: 5, entry: anEntry() },
  });
  await send(db, "b", 3);
  assert.equal((await findLastMessages(db, one))[0]!.id, messageId(1));
  assert.deepEqual(await findLastMessages(db, two), []);
  assert.equal(await lastOf(db, "a"), messageId(3));
});

onEachDatabase("reading again forgets deleted messages, and no position moves back", async (db) => {
  await meet(db);
  await send(db, "b", 1);
  await read(db, "a", 1);
  await send(db, "b", 2);
  await db.write("deleteMessage", {
    ...{ userId: "b", id: messageId(2), expected: null, now: 5, entry: anEntry() },
  });
  assert.equal(await count(db, "places WHERE maybe_unread = 1"), 1);
  await read(db, "a", 1);
  assert.equal(await count(db, "places WHERE maybe_unread = 1"), 0);
  const position = (await findConversations(db, "a", ["cnv_a_notes"]))[0]!.position!;
  const note = await db.write("createMessage", message("a", 3, "cnv_a_notes"));
  assert.ok(note.id.slice(4) < position, "sent by a clock that is behind");
  assert.equal((await findConversations(db, "a", ["cnv_a_notes"]))[0]!.position, position);
});

onEachDatabase("blocking a blocked user again changes nothing", async (db) => {
  await meet(db);
  for (const blockedAt of [5, 6]) await block(db, "a", "b", blockedAt);
  assert.equal(
    await count(db, "blocks b JOIN contacts c ON c.blocked_at = b.created_at WHERE created_at = 5"),
    1,
  );
});
