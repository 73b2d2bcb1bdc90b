// Read positions and settings of conversations, on both engines.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Database } from "../../../src/db/database.ts";
import { findConversations } from "../../../src/db/queries/messages/inbox.ts";
import { listMuted } from "../../../src/db/queries/messages/marks.ts";
import { sql } from "../../../src/db/sql.ts";
import { addUser, anEntry, messageId } from "../../support/rows.ts";
import { openOnPostgres, openOnSqlite } from "../databases.ts";
import { add, block, count, eventsOf, leave, meet, SHARED, send } from "./talk.ts";

type Open = (t: TestContext) => Promise<Database>;

const read = (db: Database, userId: string, number: number, isPrivate = false) =>
  db.write("markRead", {
    ...{ userId, conversationId: SHARED, messageId: messageId(number), isPrivate, now: 5 },
  });

/** How far the user has read, and has let the contact know. */
async function readBy(db: Database, userId: string): Promise<(string | null)[]> {
  const row = await db.get<{ last_read_id: string; disclosed_read_id: string | null }>(
    sql`SELECT last_read_id, disclosed_read_id FROM marks WHERE user_id = ${userId} AND conversation_id = ${SHARED}`,
  );
  return row ? [row.last_read_id, row.disclosed_read_id || null] : [];
}

const UPDATED = `conversation.updated ${SHARED}`;

async function updatesOf(db: Database, userId: string): Promise<number> {
  return (await eventsOf(db, userId)).filter((event) => event === UPDATED).length;
}

interface Settings {
  isPinned?: boolean;
  isArchived?: boolean;
  mutedUntil?: number | null;
}

const change = (
  db: Database,
  { isPinned, isArchived, mutedUntil }: Settings,
  expected: number[] | null = null,
) =>
  db.write("updateConversation", {
    ...{ userId: "a", conversationId: SHARED, isPinned, isArchived, mutedUntil, expected, now: 5 },
  });

function readContract(name: string, open: Open): void {
  test(`${name}: reading moves forward alone; one's own position and the disclosed one apart`, async (t) => {
    const db = await open(t);
    await meet(db);
    for (const number of [1, 3, 5, 7]) await send(db, "b", number);
    const steps: [number, boolean, read: number, disclosed: number | null, own: number, theirs: number][] = [
      [3, true, 3, null, 1, 0],
      [3, true, 3, null, 1, 0],
      [1, false, 3, 1, 1, 1],
      [5, false, 5, 5, 2, 2],
      [3, false, 5, 5, 2, 2],
      [7, true, 7, 5, 3, 2],
      // Between two messages, where none ever was: ids are places in the order.
      [6, false, 7, 6, 3, 3],
      [7, false, 7, 7, 3, 4],
    ];
    for (const [number, isPrivate, wasRead, disclosed, own, theirs] of steps) {
      await read(db, "a", number, isPrivate);
      const wanted = [messageId(wasRead), disclosed === null ? null : messageId(disclosed)];
      assert.deepEqual(await readBy(db, "a"), wanted, `after ${number}`);
      assert.deepEqual(
        [await updatesOf(db, "a"), await updatesOf(db, "b")],
        [own, theirs],
        `after ${number}`,
      );
    }
    assert.deepEqual(await readBy(db, "b"), [messageId(7), null], "by sending, undisclosed");
  });

  test(`${name}: reading goes from what the member may see up to the last message, also a deleted one`, async (t) => {
    const db = await open(t);
    await meet(db);
    const refused = { code: "message_not_found" };
    await assert.rejects(read(db, "a", 1), refused, "of an empty conversation");
    for (const number of [1, 2, 3]) await send(db, "b", number);
    await assert.rejects(read(db, "a", 4), refused);
    await assert.rejects(
      db.write("markRead", {
        ...{ userId: "c", conversationId: SHARED, messageId: messageId(1), isPrivate: false, now: 5 },
      }),
      { code: "conversation_not_found" },
    );
    await leave(db, "a");
    const again = await add(db, "a", "b");
    for (const number of [1, 3]) await assert.rejects(read(db, "a", number), refused, "before joining again");
    assert.equal(await count(db, "marks WHERE user_id = 'a' AND last_read_id <> ''"), 0);
    await send(db, "b", 4);
    await db.write("deleteMessage", {
      ...{ userId: "b", id: messageId(4), expected: null, now: 5 },
      entry: { id: "aud_1", at: 1, actorId: null, tokenId: null },
    });
    await read(db, "a", 4);
    assert.deepEqual(await readBy(db, "a"), [messageId(4), messageId(4)]);
    await leave(db, "a", again);
    assert.deepEqual(await readBy(db, "a"), [], "nothing of it outlives the membership");
  });
}

function disclosureContract(name: string, open: Open): void {
  test(`${name}: a contact is told of a read only while each has the other and the reader has not blocked`, async (t) => {
    const db = await open(t);
    await meet(db);
    for (let number = 1; number <= 6; number++) await send(db, "b", number);
    const contactRead = async () => (await findConversations(db, "b", [SHARED]))[0]!.contact_read_id || null;
    await block(db, "a", "b");
    await read(db, "a", 1);
    assert.deepEqual([await updatesOf(db, "b"), await contactRead()], [0, null]);
    await block(db, "a", "b", null);
    assert.equal(await contactRead(), messageId(1));
    await block(db, "b", "a");
    await read(db, "a", 2);
    assert.deepEqual([await updatesOf(db, "b"), await contactRead()], [1, messageId(2)], "b blocks, not a");
    await leave(db, "b");
    await read(db, "a", 3);
    assert.equal(await updatesOf(db, "b"), 1);
    assert.equal(await updatesOf(db, "a"), 3);
  });

  test(`${name}: how far a contact has read is not shown while the contact is being erased`, async (t) => {
    const db = await open(t);
    await meet(db);
    for (let number = 1; number <= 4; number++) await send(db, "b", number);
    await read(db, "a", 1);
    const contactRead = async () => (await findConversations(db, "b", [SHARED]))[0]!.contact_read_id || null;
    assert.equal(await contactRead(), messageId(1));
    // They are erased first.
    assert.ok((await eventsOf(db, "a")).length > 0);
    await db.write("deleteUser", { id: "a", deletedAt: 9, limit: 1, messageId: "m", entry: anEntry() });
    assert.equal(await count(db, "marks WHERE user_id = 'a' AND disclosed_read_id <> ''"), 1);
    assert.equal(await contactRead(), null);
  });
}

function settingsContract(name: string, open: Open): void {
  test(`${name}: settings are the member's own; what is left out stays, and no change is none`, async (t) => {
    const db = await open(t);
    await meet(db);
    const settings = async (user: string) => {
      const [row] = await findConversations(db, user, [SHARED]);
      const { is_pinned, is_archived, muted_until, version } = row!;
      return [is_pinned ?? 0, is_archived ?? 0, muted_until, version ?? 1];
    };
    const steps: [Settings, wanted: unknown[]][] = [
      [{ isPinned: false, mutedUntil: null }, [0, 0, null, 1]],
      [{ isPinned: true }, [1, 0, null, 2]],
      [{ isPinned: true }, [1, 0, null, 2]],
      [{ isArchived: true }, [1, 1, null, 3]],
      [{ mutedUntil: 100 }, [1, 1, 100, 4]],
      [{ isPinned: false, isArchived: false }, [0, 0, 100, 5]],
      [{ mutedUntil: null }, [0, 0, null, 6]],
    ];
    for (const [wanted, row] of steps) {
      await change(db, wanted);
      assert.deepEqual(await settings("a"), row, JSON.stringify(wanted));
      assert.equal(await updatesOf(db, "a"), (row[3] as number) - 1);
    }
    await assert.rejects(change(db, { isPinned: true }, [5]), { code: "precondition_failed" });
    await change(db, { isPinned: true }, [5, 6]);
    assert.deepEqual(await settings("b"), [0, 0, null, 1]);
    assert.equal(await updatesOf(db, "b"), 0);
    await send(db, "b", 1);
    assert.deepEqual(await settings("a"), [1, 0, null, 7], "a message changes none");
    await addUser(db, "c");
    await assert.rejects(
      db.write("updateConversation", {
        ...{ userId: "c", conversationId: SHARED, isPinned: true, isArchived: undefined },
        ...{ mutedUntil: undefined, expected: null, now: 5 },
      }),
      { code: "conversation_not_found" },
    );
    assert.equal(await count(db, "places WHERE user_id = 'c' AND is_pinned = 1"), 0);
  });

  test(`${name}: who has muted what, until its second`, async (t) => {
    const db = await open(t);
    await meet(db);
    await change(db, { mutedUntil: 100 });
    const muted = async (users: string[], conversations: string[], now: number) =>
      (await listMuted(db, users, conversations, now)).map((row) => row.user_id);
    assert.deepEqual(await muted(["a", "b"], [SHARED, "cnv_x"], 99), ["a"]);
    assert.deepEqual(await muted(["a", "b"], [SHARED], 100), []);
    assert.deepEqual(await muted(["b"], [SHARED], 99), []);
    assert.deepEqual(await muted(["a"], ["cnv_a_notes"], 99), []);
  });
}

for (const [name, open] of Object.entries({ sqlite: openOnSqlite, postgres: openOnPostgres })) {
  readContract(name, open);
  disclosureContract(name, open);
  settingsContract(name, open);
}
