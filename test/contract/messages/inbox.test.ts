// Inboxes and unread counts, on both engines.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Database } from "../../../src/db/database.ts";
import { NEWEST } from "../../../src/db/page.ts";
import {
  countUnread,
  countUnreadConversations,
  findConversations,
  listInbox,
} from "../../../src/db/queries/messages/inbox.ts";
import { findLastMessages } from "../../../src/db/queries/messages/message-read.ts";
import { anEntry, message, messageId, walk } from "../../support/rows.ts";
import { openOnPostgres, openOnSqlite } from "../databases.ts";
import { block, count, meet, SHARED, send } from "./talk.ts";

type Open = (t: TestContext) => Promise<Database>;

const read = (db: Database, userId: string, number: number) =>
  db.write("markRead", {
    ...{ userId, conversationId: SHARED, messageId: messageId(number), isPrivate: false, now: 5 },
  });

async function unreadOf(db: Database, userId: string): Promise<number> {
  const [row] = await findConversations(db, userId, [SHARED]);
  return countUnread(db, row!);
}

/** The number of the last message that the user sees. */
async function lastOf(db: Database, userId: string): Promise<string | undefined> {
  const [message] = await findLastMessages(db, await findConversations(db, userId, [SHARED]));
  return message?.id;
}

const badge = (db: Database, now = 5) => countUnreadConversations(db, "a", now, 1000);

function inboxContract(name: string, open: Open): void {
  test(`${name}: unread are the messages of others after the last one read, up to 100`, async (t) => {
    const db = await open(t);
    await meet(db);
    assert.equal(await unreadOf(db, "a"), 0);
    for (let number = 1; number <= 102; number++) {
      await send(db, "b", number);
      if ([1, 99, 100, 101].includes(number)) {
        assert.equal(await unreadOf(db, "a"), Math.min(number, 100));
        assert.equal(await badge(db), 1);
      }
    }
    assert.equal(await unreadOf(db, "b"), 0);
    await read(db, "a", 99);
    assert.equal(await unreadOf(db, "a"), 3);
    await send(db, "a", 103);
    assert.equal(await unreadOf(db, "a"), 0, "sending reads what came before");
    assert.equal(await badge(db), 0);
    await send(db, "b", 104);
    await db.write("deleteMessage", {
      ...{ userId: "b", id: messageId(104), expected: null, now: 5, entry: anEntry() },
    });
    assert.equal(await unreadOf(db, "a"), 0);
    assert.equal(await badge(db), 0);
    assert.equal(await lastOf(db, "a"), messageId(103));
  });

  test(`${name}: withheld messages are neither unread nor the last one, however many`, async (t) => {
    const db = await open(t);
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

  test(`${name}: a badge leaves out muted conversations, until the mute ends`, async (t) => {
    const db = await open(t);
    await meet(db);
    await send(db, "b", 1);
    await db.write("updateConversation", {
      ...{ userId: "a", conversationId: SHARED, isPinned: true, isArchived: undefined, mutedUntil: 10 },
      ...{ expected: null, now: 5 },
    });
    assert.deepEqual([await badge(db, 9), await badge(db, 10)], [0, 1]);
    const pinned = await listInbox(db, "a", "pinned", walk(NEWEST, 5));
    assert.deepEqual(
      pinned.map((row) => [row.conversation_id, row.is_pinned, row.muted_until, row.version]),
      [[SHARED, 1, 10, 2]],
    );
    assert.deepEqual(await listInbox(db, "a", "archived", walk(NEWEST, 5)), []);
  });
}

function changesContract(name: string, open: Open): void {
  test(`${name}: a read that moves nothing forgets what was deleted, and no position goes down`, async (t) => {
    const db = await open(t);
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

  test(`${name}: blocking again changes nothing`, async (t) => {
    const db = await open(t);
    await meet(db);
    for (const blockedAt of [5, 6]) await block(db, "a", "b", blockedAt);
    assert.equal(
      await count(db, "blocks b JOIN contacts c ON c.blocked_at = b.created_at WHERE created_at = 5"),
      1,
    );
  });
}

inboxContract("sqlite", openOnSqlite);
inboxContract("postgres", openOnPostgres);
changesContract("sqlite", openOnSqlite);
changesContract("postgres", openOnPostgres);
