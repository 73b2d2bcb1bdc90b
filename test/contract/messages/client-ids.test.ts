// How long the ids that clients give messages stay taken, on both engines.
import assert from "node:assert/strict";
import type { Database } from "../../../src/db/database.ts";
import { findSentBefore, hasLapsedClientIds } from "../../../src/db/queries/record/client-ids.ts";
import { sql } from "../../../src/db/sql.ts";
import { aDeletion, anEntry, attachment, messageId } from "../../support/rows.ts";
import { onEachDatabase } from "../databases.ts";
import { add, block, count, eraseAll, leave, meet, SHARED, send } from "./talk.ts";

const DAYS_90 = 90 * 24 * 3600 * 1000;
const named = (id: string, content = 1) => ({
  clientId: { id, fingerprint: new Uint8Array(32).fill(content) },
});

const change = (userId: string, number: number, now = 10) => ({
  ...{ userId, id: messageId(number), expected: null, now, entry: anEntry() },
});

/** Returns until when each id is taken, ordered by id; null if its sender sees the message. */
async function takenUntil(db: Database, user = "a"): Promise<Record<string, number | null>> {
  const rows = await db.all<{ client_id: string; until: number | null }>(
    sql`SELECT client_id, until FROM client_ids WHERE user_id = ${user} ORDER BY client_id`,
  );
  return Object.fromEntries(rows.map(({ client_id, until }) => [client_id, until]));
}

onEachDatabase("a client id is taken once per sender, and the message has it", async (db) => {
  await meet(db);
  await send(db, "a", 1, named("x"));
  await assert.rejects(send(db, "a", 2, named("x")), { code: "client_id_conflict", param: "client_id" });
  await send(db, "b", 3, named("x"));
  await send(db, "a", 4);
  const ids = await db.all<{ client_id: string | null }>(sql`SELECT client_id FROM messages ORDER BY id`);
  assert.deepEqual(
    ids.map(({ client_id }) => client_id),
    ["x", "x", null],
  );
  assert.equal((await findSentBefore(db, "a", "x", 1))!.message_id, messageId(1));
  assert.equal((await findSentBefore(db, "b", "x", 1))!.message_id, messageId(3));
  assert.equal(await findSentBefore(db, "a", "y", 1), undefined);
  assert.equal(await count(db, "message_bodies"), 3, "the refused message leaves no text");
});

onEachDatabase("a client id stays taken for 90 days after its sender lost the message", async (db) => {
  await meet(db);
  for (const [i, id] of ["deleted", "hidden", "hidden by b", "by an admin", "kept"].entries())
    await send(db, "a", i + 1, named(id));
  await send(db, "a", 6, { text: null, files: [attachment("a", 6).file], ...named("its file") });
  await db.write("deleteMessage", change("a", 1));
  await db.write("hideMessage", change("a", 2));
  await db.write("hideMessage", change("b", 3));
  await db.write("deleteMessage", { ...change("b", 4), asAdmin: true });
  const file = { id: "att_0006", userId: "a", deletedAt: 10, expected: null, entry: anEntry() };
  await db.write("deleteAttachment", file);
  const until = 10 + DAYS_90;
  assert.deepEqual(await takenUntil(db), {
    ...{ "by an admin": until, deleted: until, hidden: until, "hidden by b": null },
    ...{ "its file": until, kept: null },
  });
  // Whether others still see the message does not matter.
  await db.write("hideMessage", change("b", 2, 20));
  assert.equal((await takenUntil(db)).hidden, until);
  assert.equal(await count(db, `messages WHERE id = '${messageId(2)}'`), 0);
  await assert.rejects(send(db, "a", 7, { ...named("deleted"), now: until - 1 }));
  assert.ok(await findSentBefore(db, "a", "deleted", until - 1));
  assert.equal(await findSentBefore(db, "a", "deleted", until), undefined);
  await send(db, "a", 7, { ...named("deleted", 2), now: until });
  assert.equal((await takenUntil(db)).deleted, null);
  assert.equal((await findSentBefore(db, "a", "deleted", until))!.message_id, messageId(7));
});

onEachDatabase("an earlier message with the same client id does not free it", async (db) => {
  await meet(db);
  await send(db, "a", 1, named("x"));
  await db.write("hideMessage", change("a", 1));
  await send(db, "a", 2, { ...named("x"), now: 10 + DAYS_90 });
  await db.write("deleteMessage", { ...change("b", 1), asAdmin: true });
  assert.deepEqual(await takenUntil(db), { x: null });
});

onEachDatabase("expired client ids are erased a few at a time", async (db) => {
  await meet(db);
  for (let i = 1; i <= 5; i++) {
    await send(db, "a", i, named(`x${i}`));
    if (i < 5) await db.write("deleteMessage", change("a", i, i));
  }
  const now = 3 + DAYS_90;
  assert.equal(await hasLapsedClientIds(db, DAYS_90), false);
  for (const left of [
    ["x3", "x4", "x5"],
    ["x4", "x5"],
  ]) {
    assert.equal(await hasLapsedClientIds(db, now), true);
    await db.write("forgetClientIds", { now, limit: 2 });
    assert.deepEqual(Object.keys(await takenUntil(db)), left);
  }
  assert.equal(await hasLapsedClientIds(db, now), false);
});

onEachDatabase("leaving a conversation starts the 90 days of the client ids there, in steps", async (db) => {
  await meet(db);
  for (let i = 1; i <= 7; i++) await send(db, "a", i, named(`x${i}`));
  await send(db, "a", 8, { ...named("notes"), conversationId: "cnv_a_notes" });
  await send(db, "b", 9, named("b"));
  await leave(db, "a", undefined, 2);
  const freed = async () => Object.values(await takenUntil(db)).filter((until) => until !== null);
  assert.deepEqual(await freed(), Array(2).fill(1 + DAYS_90));
  await add(db, "a", "b");
  await send(db, "a", 10, named("y"));
  await eraseAll(db, 2);
  assert.equal((await freed()).length, 7);
  const { y, notes, x7 } = await takenUntil(db);
  assert.deepEqual([y, notes, x7], [null, null, 1 + DAYS_90]);
  assert.deepEqual(await takenUntil(db, "b"), { b: null });
  assert.equal(await count(db, "messages"), 10, "b keeps them");
});

onEachDatabase("a block changes nothing about the client ids of the blocked sender", async (db) => {
  await meet(db);
  await block(db, "b", "a");
  await send(db, "a", 1, named("x"));
  await leave(db, "b");
  await eraseAll(db);
  assert.deepEqual(await takenUntil(db), { x: null });
});

onEachDatabase("erasing a user erases their client ids at once, in steps", async (db) => {
  await meet(db);
  for (let i = 1; i <= 7; i++) await send(db, "a", i, named(`x${i}`));
  await send(db, "b", 8, named("b"));
  await db.write("deleteUser", aDeletion("a", { limit: 2 }));
  await eraseAll(db, 2);
  assert.deepEqual([await takenUntil(db), await takenUntil(db, "b")], [{}, { b: null }]);
  assert.equal(await count(db, `messages WHERE conversation_id = '${SHARED}' AND client_id IS NOT NULL`), 8);
});
