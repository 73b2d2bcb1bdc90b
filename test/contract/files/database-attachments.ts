import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Database } from "../../../src/db/database.ts";
import { NEWEST } from "../../../src/db/page.ts";
import {
  findAttachment,
  findVisibleAttachment,
  listAttachments,
} from "../../../src/db/queries/files/attachments.ts";
import { isOwnMessage } from "../../../src/db/queries/messages/message-read.ts";
import { listContacts } from "../../../src/db/queries/people/contact-lists.ts";
import { findUserByName } from "../../../src/db/queries/people/users.ts";
import { listTombstones } from "../../../src/db/queries/storage/tombstones.ts";
import { isBlobLive } from "../../../src/db/queries/upkeep/integrity.ts";
import { raw, sql } from "../../../src/db/sql.ts";
import { addUser, anEntry, attachment, contact, messageId, walk } from "../../support/rows.ts";

type Open = (t: TestContext) => Promise<Database>;

export function attachmentContract(name: string, open: Open): void {
  test(`${name}: an upload goes to the notes, a conversation or an own message, seen by members alone`, async (t) => {
    const db = await open(t);
    await addUser(db, "a");
    await addUser(db, "b");
    await db.write("createContact", contact("a", 1));
    const first = await db.write("createAttachment", attachment("a", 1));
    const kept = await findAttachment(db, "a", first.id);
    assert.equal(kept!.file_size, 5_000_000_000);
    assert.deepEqual(Buffer.from(kept!.sha256), Buffer.alloc(32, 1));
    await db.write("createAttachment", attachment("a", 2, { conversationId: "cnv_a_1" }));
    const third = await db.write("createAttachment", attachment("a", 3, { messageId: messageId(2) }));
    assert.equal(third.message_id, messageId(2));
    assert.equal((await findAttachment(db, "a", third.id))?.message_id, messageId(2));
    const ids = async (user: string, conversation?: string) =>
      (await listAttachments(db, user, conversation, walk(NEWEST, 9))).map((row) => row.id);
    assert.deepEqual(await ids("a"), ["att_0003", "att_0002", "att_0001"]);
    assert.deepEqual(await ids("a", "cnv_a_1"), ["att_0003", "att_0002"]);
    assert.deepEqual(await ids("b"), []);
    assert.deepEqual(
      { ...(await findAttachment(db, "a", "att_0001")) },
      { ...(await findVisibleAttachment(db, "att_0001")) },
    );
    assert.equal(await findAttachment(db, "b", "att_0001"), undefined);
    assert.ok(await isOwnMessage(db, messageId(2), "a"));
    assert.ok(!(await isOwnMessage(db, messageId(2), "b")));
  });

  test(`${name}: an upload to what is not the user's is refused and leaves nothing`, async (t) => {
    const db = await open(t);
    await addUser(db, "a");
    await addUser(db, "b");
    await db.write("createAttachment", attachment("a", 1));
    for (const target of [{ conversationId: "cnv_a_notes" }, { conversationId: "cnv_none" }]) {
      await assert.rejects(db.write("createAttachment", attachment("b", 2, target)), {
        code: "conversation_not_found",
      });
    }
    for (const target of [{ messageId: messageId(1) }, { messageId: "msg_none" }]) {
      await assert.rejects(db.write("createAttachment", attachment("b", 2, target)), {
        code: "message_not_found",
      });
    }
    assert.ok(!(await isBlobLive(db, "blob-2")));
  });

  test(`${name}: a message has 100 files at most, also with room made by a delete`, async (t) => {
    const db = await open(t);
    await addUser(db, "a");
    const target = { messageId: messageId(1) };
    const add = (number: number) => db.write("createAttachment", attachment("a", number, target));
    await db.write("createAttachment", attachment("a", 1));
    for (let number = 2; number <= 100; number++) await add(number);
    await assert.rejects(add(101), { code: "count_limit_reached" });
    await db.write("deleteAttachment", {
      ...{ userId: "a", id: "att_0050", deletedAt: 1, expected: null, entry: anEntry() },
    });
    await add(102);
    await assert.rejects(add(103), { code: "count_limit_reached" });
    await db.write("createAttachment", attachment("a", 104));
  });
}

export function changeContract(name: string, open: Open): void {
  test(`${name}: renaming and deleting are for those who see it; a delete leaves a tombstone`, async (t) => {
    const db = await open(t);
    await addUser(db, "a");
    await addUser(db, "b");
    await db.write("createAttachment", attachment("a", 1));
    const id = "att_0001";
    await assert.rejects(
      db.write("renameAttachment", { userId: "b", id, filename: "x", expected: null, entry: anEntry() }),
      {
        code: "attachment_not_found",
      },
    );
    await assert.rejects(
      db.write("deleteAttachment", { userId: "b", id, deletedAt: 1, expected: null, entry: anEntry() }),
      {
        code: "attachment_not_found",
      },
    );
    assert.equal(
      (
        await db.write("renameAttachment", {
          userId: "a",
          id,
          filename: "x",
          expected: null,
          entry: anEntry(),
        })
      ).filename,
      "x",
    );
    assert.equal((await findAttachment(db, "a", id))?.filename, "x");
    await db.write("deleteAttachment", { userId: "a", id, deletedAt: 1, expected: null, entry: anEntry() });
    assert.equal(await findAttachment(db, "a", id), undefined);
    assert.equal(await findVisibleAttachment(db, id), undefined);
    assert.deepEqual(await listTombstones(db, 1, 10), ["blob-1"]);
    await db.write("dropTombstones", { blobKeys: ["blob-1"] });
    assert.deepEqual(await listTombstones(db, 1, 10), []);
  });
}

export function leavingContract(name: string, open: Open): void {
  test(`${name}: with its last member gone a conversation goes, and each file leaves a tombstone`, async (t) => {
    const db = await open(t);
    await addUser(db, "a");
    await db.write("createContact", contact("a", 1));
    await db.write("createAttachment", attachment("a", 1));
    for (const i of [2, 3])
      await db.write("createAttachment", attachment("a", i, { conversationId: "cnv_a_1" }));
    await assert.rejects(
      db.write("deleteContact", {
        ownerId: "b",
        id: "con_a_0001",
        deletedAt: 1,
        limit: 250,
        expected: null,
        entry: anEntry(),
      }),
      { code: "contact_not_found" },
    );
    await db.write("deleteContact", {
      ownerId: "a",
      id: "con_a_0001",
      deletedAt: 1,
      limit: 250,
      expected: null,
      entry: anEntry(),
    });
    await assert.rejects(
      db.write("deleteContact", {
        ownerId: "a",
        id: "con_a_0001",
        deletedAt: 1,
        limit: 250,
        expected: null,
        entry: anEntry(),
      }),
      { code: "contact_not_found" },
    );
    assert.deepEqual((await listTombstones(db, 1, 10)).sort(), ["blob-2", "blob-3"]);
    assert.equal((await listAttachments(db, "a", undefined, walk(NEWEST, 9))).length, 1);
    for (const table of ["attachments", "grants", "messages"]) {
      assert.equal((await db.all(sql`SELECT 1 AS one FROM ${raw(table)}`)).length, 1, table);
    }
  });

  test(`${name}: erasing a user leaves nothing of theirs and all of others`, async (t) => {
    const db = await open(t);
    for (const [i, user] of ["a", "b"].entries()) {
      await addUser(db, user);
      await db.write("createContact", contact(user, 1));
      await db.write("createAttachment", attachment(user, 2 * i, { conversationId: `cnv_${user}_1` }));
      await db.write("createAttachment", attachment(user, 2 * i + 1));
    }
    await db.write("deleteUser", { id: "a", deletedAt: 1, limit: 250, messageId: "m", entry: anEntry() });
    assert.equal(await findUserByName(db, "a"), undefined);
    await assert.rejects(db.write("createContact", contact("a", 2)), { code: "invalid_token" });
    await assert.rejects(db.write("createAttachment", attachment("a", 9)), { code: "invalid_token" });
    assert.equal((await listContacts(db, "a", {}, walk(NEWEST, 9))).length, 0);
    assert.equal((await listContacts(db, "b", {}, walk(NEWEST, 9))).length, 1);
    assert.equal((await listAttachments(db, "b", undefined, walk(NEWEST, 9))).length, 2);
    assert.deepEqual((await listTombstones(db, 1, 10)).sort(), ["blob-0", "blob-1"]);
    for (const table of ["members", "messages", "grants"]) {
      assert.equal((await db.all(sql`SELECT 1 AS one FROM ${raw(table)}`)).length, 2, table);
    }
  });
}
