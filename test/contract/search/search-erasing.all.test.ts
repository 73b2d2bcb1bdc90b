// Texts are erased in steps, each of which removes few words from the search index, on both engines.
import assert from "node:assert/strict";
import type { Database } from "../../../src/db/database.ts";
import { sql } from "../../../src/db/sql.ts";
import { aDeletion, addUser, contact, message } from "../../support/rows.ts";
import { onEachDatabase } from "../databases.ts";
import { block, eraseAll, leave, meet, send } from "../messages/talk.ts";

/** Length of a message. */
const LONG = 8000;
/** How many characters one write may erase: those of 250 rows, and one more message. */
const MOST = 50_000 + LONG;
const MESSAGES = 24;

async function characters(db: Database): Promise<number> {
  const row = await db.get<{ sum: number }>(
    sql`SELECT COALESCE(SUM(LENGTH(text)), 0) AS sum FROM message_bodies`,
  );
  return row!.sum;
}

/** Neighboring characters differ, so each one is an entry of the index. */
const textOf = (number: number) =>
  Array.from({ length: LONG }, (_, i) => String.fromCharCode(0x4e00 + ((i * 7 + number) % 20_000))).join("");

/** Runs writes until nothing is left. Returns how many characters the largest of them erased. */
async function mostErased(db: Database, first: () => Promise<unknown>): Promise<number> {
  let before = await characters(db);
  let most = 0;
  const look = async () => {
    const now = await characters(db);
    most = Math.max(most, before - now);
    before = now;
  };
  await first();
  await look();
  while (await db.write("eraseStep", { limit: 250, now: 1, messageId: "m" })) await look();
  return most;
}

const CONTACTS = 6;

onEachDatabase(`no erasing step of a conversation erases more than ${MOST} characters`, async (db) => {
  await meet(db);
  for (let i = 0; i < MESSAGES; i++) await send(db, "a", i, { text: textOf(i) });
  while (await db.write("indexMessages", { limit: 200, characters: 100_000 }));
  assert.equal(await characters(db), MESSAGES * LONG);
  await leave(db, "b");
  await eraseAll(db);
  const most = await mostErased(db, () => leave(db, "a"));
  assert.equal(await characters(db), 0);
  assert.ok(most > LONG && most <= MOST, `${most} characters`);
});

onEachDatabase("no erasing step of scattered withheld texts exceeds that", async (db) => {
  await meet(db);
  for (let i = 0; i < MESSAGES; i += 6) {
    await block(db, "b", "a");
    for (let n = 0; n < 5; n++) await send(db, "a", i + n, { text: textOf(i + n) });
    await block(db, "b", "a", null);
    await send(db, "a", i + 5, { text: "seen" });
  }
  while (await db.write("indexMessages", { limit: 200, characters: 100_000 }));
  const most = await mostErased(db, () => leave(db, "a"));
  assert.equal(await characters(db), (MESSAGES / 6) * "seen".length);
  assert.ok(most > LONG && most <= MOST, `${most} characters`);
});

onEachDatabase("no erasing step of a user with many conversations exceeds that", async (db) => {
  await addUser(db, "a");
  for (let i = 0; i < CONTACTS; i++) {
    const one = contact("a", i);
    await db.write("createContact", one);
    for (let n = 0; n < 4; n++) {
      const number = i * 4 + n;
      await db.write("createMessage", message("a", number, one.conversationId, { text: textOf(number) }));
    }
  }
  while (await db.write("indexMessages", { limit: 200, characters: 100_000 }));
  const most = await mostErased(db, () => db.write("deleteUser", aDeletion("a")));
  assert.equal(await characters(db), 0);
  assert.ok(most > LONG && most <= MOST, `${most} characters`);
});
