// Which messages a joining user sees at once, and which rows later steps write, on both engines.
import assert from "node:assert/strict";
import type { Database } from "../../../src/db/database.ts";
import { NEWEST } from "../../../src/db/page.ts";
import { findAttachment, listAttachments } from "../../../src/db/queries/files/attachments.ts";
import { listMessageRows } from "../../../src/db/queries/messages/messages.ts";
import { hasRemains } from "../../../src/db/queries/upkeep/erasing.ts";
import { findSeat } from "../../../src/db/queries/visibility/seats.ts";
import { checkOrphans } from "../../support/orphans.ts";
import {
  aDeletion,
  addUser,
  anEntry,
  attachment,
  aUser,
  contact,
  message,
  messageId,
  walk,
} from "../../support/rows.ts";
import { onEachDatabase } from "../databases.ts";
import { add, block, count, leave, seenBy } from "./talk.ts";

/** The conversation of b, who has added a; a has not added b yet. */
const WAITING = "cnv_b_1";

const file = (number: number) => attachment("b", number, {}, { fileSize: 7 }).file;
const idOf = (number: number) => `att_${String(number).padStart(4, "0")}`;

const send = (db: Database, number: number, files = [file(number)]) =>
  db.write("createMessage", message("b", number, WAITING, { files }));

/** Adds a and b. b has added a and sends these messages with a file each; a has not added b yet. */
async function wait(db: Database, numbers: readonly number[]): Promise<void> {
  for (const name of ["a", "b"]) await addUser(db, name);
  await db.write("createContact", { ...contact("b", 1), usernameKey: "a" });
  for (const number of numbers) await send(db, number);
}

async function listed(db: Database): Promise<number[]> {
  const rows = await listAttachments(db, "a", WAITING, walk(NEWEST, 100));
  return rows.map(({ id }) => Number(id.slice(4))).sort((x, y) => x - y);
}

async function isWhole(db: Database): Promise<void> {
  assert.equal(await hasRemains(db), false);
  await checkOrphans(db);
}

/** Runs the steps of joining, each of which writes at most two grants. Visibility does not depend on them. */
async function follow(db: Database, look: () => Promise<void> = async () => {}): Promise<number> {
  for (let steps = 0; ; steps++) {
    await look();
    const before = await count(db, "grants");
    if (!(await db.write("eraseStep", { limit: 2, now: 1, messageId: "m" }))) return steps;
    assert.ok((await count(db, "grants")) - before <= 2);
  }
}

onEachDatabase(
  "joining shows waiting messages at once, and lists their files in steps, newest first",
  async (db) => {
    await wait(db, [1, 2, 3, 4, 5]);
    await add(db, "a", "b");
    assert.equal(await count(db, "joining"), 1);
    assert.deepEqual(await listed(db), [4, 5]);
    // A file sent during the steps is listed with its message, and a deleted one is never listed.
    await send(db, 6);
    const gone = { userId: "b", id: messageId(2), expected: null, now: 1, entry: anEntry() };
    await db.write("deleteMessage", gone);
    await db.write("createAttachment", attachment("b", 9, { messageId: messageId(1) }, { fileSize: 7 }));
    const steps = await follow(db, async () => {
      assert.deepEqual(await seenBy(db, "a", WAITING), [1, 3, 4, 5, 6]);
      for (const number of [1, 3, 4, 5, 6, 9]) assert.ok(await findAttachment(db, "a", idOf(number)));
      assert.equal(await findAttachment(db, "a", idOf(2)), undefined);
      await checkOrphans(db);
    });
    assert.ok(steps >= 2, `${steps} steps`);
    assert.deepEqual(await listed(db), [1, 3, 4, 5, 6, 9]);
    await isWhole(db);
  },
);

onEachDatabase("many files of one message are listed in steps", async (db) => {
  await wait(db, []);
  await send(db, 1, [1, 2, 3, 4, 5].map(file));
  await add(db, "a", "b");
  assert.deepEqual(await listed(db), [4, 5]);
  await follow(db);
  assert.deepEqual(await listed(db), [1, 2, 3, 4, 5]);
  await isWhole(db);
});

onEachDatabase("leaving while joining keeps no file, and joining again works", async (db) => {
  await wait(db, [1, 2, 3, 4, 5]);
  const first = await add(db, "a", "b");
  await leave(db, "a", first, 1);
  assert.equal(await count(db, "joining"), 0);
  assert.deepEqual([await listed(db), await seenBy(db, "a", WAITING)], [[], []]);
  await add(db, "a", "b");
  await send(db, 6);
  await follow(db, async () => {
    assert.deepEqual(await seenBy(db, "a", WAITING), [6]);
    assert.deepEqual(await listed(db), [6]);
  });
  assert.equal(await count(db, "grants WHERE user_id = 'a'"), 1);
  await isWhole(db);
});

onEachDatabase("a later step of joining lists no withheld or withdrawn file", async (db) => {
  await wait(db, [1, 2, 3]);
  // The last three messages are sent after a blocked b by name.
  await block(db, "a", "b", 1_800_000_000_004);
  for (const number of [4, 5, 6]) await send(db, number);
  await add(db, "a", "b");
  assert.deepEqual(await seenBy(db, "a", WAITING), [1, 2, 3]);
  await block(db, "a", "b", 1_800_000_000_009);
  const edit = { userId: "b", id: messageId(2), expected: null, now: 5, text: "new", data: undefined };
  await db.write("updateMessage", edit);
  await follow(db);
  assert.deepEqual(await seenBy(db, "a", WAITING), [1, 3]);
  assert.deepEqual(await listed(db), [1, 3]);
  await isWhole(db);
});
const ERASED_AT = 1_800_000_000_000;

onEachDatabase(
  "a new user of an erased name sees only messages sent more than 60 seconds after the erasure",
  async (db) => {
    await wait(db, [1]);
    await db.write("deleteUser", aDeletion("a", { deletedAt: ERASED_AT }));
    // The numbers are milliseconds after the erasure.
    for (const number of [2, 59_999, 60_000, 60_001, 60_002]) await send(db, number, []);
    await db.write("createUser", aUser("a2", { usernameKey: "a", createdAt: ERASED_AT + 70_000 }));
    await db.write("createContact", { ...contact("a2", 1), usernameKey: "b" });
    const seat = await findSeat(db, WAITING, "a2");
    const seen = await listMessageRows(db, seat!, { cursor: NEWEST, newer: false, limit: 100 });
    assert.deepEqual(
      seen.map(({ id }) => id),
      [messageId(60_002), messageId(60_001)],
    );
    const read = (number: number) =>
      db.write("markRead", {
        ...{ userId: "a2", conversationId: WAITING, messageId: messageId(number), isPrivate: false, now: 5 },
      });
    await assert.rejects(read(60_000), { code: "message_not_found" });
    await read(60_001);
  },
);
