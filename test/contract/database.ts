import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Database } from "../../src/db/database.ts";
import { NEWEST } from "../../src/db/page.ts";
import { listContacts } from "../../src/db/queries/people/contact-lists.ts";
import { findContact } from "../../src/db/queries/people/contacts.ts";
import { allTokens, findToken } from "../../src/db/queries/people/tokens.ts";
import { allUsers, findUserByName } from "../../src/db/queries/people/users.ts";
import { listTombstones } from "../../src/db/queries/storage/tombstones.ts";
import { findSeat } from "../../src/db/queries/visibility/seats.ts";
import { raw, sql } from "../../src/db/sql.ts";
import { addUser, anEntry, aToken, attachment, aUser, contact, walk } from "../support/rows.ts";
import { attachmentContract, changeContract, leavingContract } from "./files/database-attachments.ts";

type Open = (t: TestContext) => Promise<Database>;

/** The rules that every database keeps. */
export function databaseContract(name: string, open: Open): void {
  contactContract(name, open);
  concurrencyContract(name, open);
  userContract(name, open);
  attachmentContract(name, open);
  changeContract(name, open);
  leavingContract(name, open);
  holdContract(name, open);
}

async function withUsers(db: Database): Promise<Database> {
  await addUser(db, "a");
  await addUser(db, "b");
  return db;
}

function contactContract(name: string, open: Open): void {
  test(`${name}: a contact is found by its owner alone, with every column as it was given`, async (t) => {
    const db = await withUsers(await open(t));
    const input = contact("a", 1);
    await db.write("createContact", input);
    assert.deepEqual(await findContact(db, "a", input.id), [input.body, null, null, 1]);
    assert.equal(await findContact(db, "b", input.id), undefined);
    assert.ok(await findSeat(db, "cnv_a_1", "a"));
    assert.ok(!(await findSeat(db, "cnv_a_1", "b")));
  });

  test(`${name}: pages walk both ways from any place, with one row more where there is one`, async (t) => {
    const db = await withUsers(await open(t));
    for (let i = 1; i <= 5; i++) await db.write("createContact", contact("a", i));
    await db.write("createContact", contact("b", 3));
    const numbers = async (...page: Parameters<typeof walk>) =>
      (await listContacts(db, "a", {}, walk(...page))).map(([body]) => Number(JSON.parse(body).id.slice(-4)));
    assert.deepEqual(await numbers(NEWEST, 2), [5, 4, 3]);
    assert.deepEqual(await numbers("con_a_0003", 2), [2, 1]);
    assert.deepEqual(await numbers("con_a_0002", 2, true), [3, 4, 5]);
    assert.deepEqual(await numbers("con_a_0005", 2, true), []);
    await db.write("deleteContact", {
      ownerId: "a",
      id: "con_a_0003",
      deletedAt: 1,
      limit: 250,
      expected: null,
      entry: anEntry(),
    });
    assert.deepEqual(await numbers("con_a_0003", 9), [2, 1], "a cursor outlives its item");
  });

  test(`${name}: a second contact of the same username is contact_exists, and leaves nothing`, async (t) => {
    const db = await withUsers(await open(t));
    await db.write("createContact", contact("a", 1));
    const again = { ...contact("a", 2), usernameKey: "name 1" };
    await assert.rejects(db.write("createContact", again), {
      code: "contact_exists",
      members: { existing_id: "con_a_0001" },
    });
    assert.ok(!(await findSeat(db, again.conversationId, "a")));
    await db.write("createContact", { ...contact("b", 1), usernameKey: "name 1" });
  });

  test(`${name}: an update changes the display name alone, and only its owner's`, async (t) => {
    const db = await withUsers(await open(t));
    await db.write("createContact", contact("a", 1));
    const update = { ownerId: "b", id: "con_a_0001", displayName: "x", expected: null, entry: anEntry() };
    await assert.rejects(db.write("updateContact", update), { code: "contact_not_found" });
    const row = await db.write("updateContact", { ...update, ownerId: "a", displayName: null });
    assert.deepEqual(row, await findContact(db, "a", "con_a_0001"));
    assert.equal(row[3], 2);
    assert.deepEqual(JSON.parse(row[0]), { id: "con_a_0001", username: "Name 1", display_name: null });
  });
}

function concurrencyContract(name: string, open: Open): void {
  test(`${name}: of writes at the same time each succeeds or fails alone`, async (t) => {
    const db = await withUsers(await open(t));
    const results = await Promise.allSettled(
      Array.from({ length: 40 }, (_, i) =>
        db.write("createContact", { ...contact("a", i), usernameKey: `${i % 20}` }),
      ),
    );
    assert.equal(results.filter((result) => result.status === "fulfilled").length, 20);
    assert.equal((await listContacts(db, "a", {}, walk(NEWEST, 100))).length, 20);
  });

  test(`${name}: a user who is erased amid own writes leaves no row`, async (t) => {
    const db = await open(t);
    let erasings = 0;
    for (let round = 0; round < 15; round++) {
      const user = `v${round}`;
      await addUser(db, user);
      const writes = Array.from({ length: 3 }, (_, i) => db.write("createContact", contact(user, i)));
      const erased = db.write("deleteUser", {
        id: user,
        deletedAt: 1,
        limit: 250,
        messageId: "m",
        entry: anEntry(),
      });
      const [result] = await Promise.allSettled([erased, ...writes]);
      // Crossed too often, it is refused whole.
      if (result!.status === "rejected") continue;
      erasings++;
      for (const table of ["members WHERE user_id", "contacts WHERE owner_id"]) {
        assert.deepEqual(
          await db.all(sql`SELECT 1 AS one FROM ${raw(table)} = ${user}`),
          [],
          `${table} of ${user}`,
        );
      }
    }
    assert.ok(erasings > 0);
  });

  test(`${name}: a write that fails after it has changed something leaves nothing of it, and others are kept`, async (t) => {
    const db = await withUsers(await open(t));
    const entry = anEntry();
    await db.write("createUser", aUser("c", { entry }));
    const results = await Promise.allSettled([
      db.write("createContact", contact("a", 1)),
      // The user and the conversation are made before the id of the entry turns out to be taken.
      db.write("createUser", aUser("d", { entry })),
      db.write("createContact", contact("a", 2)),
    ]);
    assert.deepEqual(
      results.map((result) => result.status),
      ["fulfilled", "rejected", "fulfilled"],
    );
    assert.equal(await findUserByName(db, "d"), undefined);
    assert.ok(!(await findSeat(db, "cnv_d_notes", "d")));
    assert.equal((await listContacts(db, "a", {}, walk(NEWEST, 9))).length, 2);
  });
}

function userContract(name: string, open: Open): void {
  test(`${name}: users are unique by key; the first is made only once`, async (t) => {
    const db = await open(t);
    const user = aUser("u1");
    const token = aToken("u1", 1);
    assert.equal(await db.write("createFirstUser", { user, token }), true);
    assert.equal(await db.write("createFirstUser", { user: aUser("u2"), token }), false);
    await assert.rejects(db.write("createUser", aUser("u2", { usernameKey: "u1" })), {
      code: "username_taken",
      members: { existing_id: "u1" },
    });
    assert.equal((await allUsers(db)).length, 1);
    assert.equal((await findToken(db, token.hash))?.user_id, "u1");
    assert.equal(await findToken(db, new Uint8Array(32)), undefined);
    assert.equal((await allTokens(db))[0]?.username, "U1");
    await assert.rejects(db.write("createToken", aToken("u9", 2)), { code: "user_not_found" });
    const revoked = { tokens: [{ id: token.id, entry: anEntry() }] };
    assert.equal(await db.write("deleteTokens", revoked), 1);
    assert.equal(await db.write("deleteTokens", revoked), 0);
  });
}

/** Of "blob-1", by the user "a". */
async function leaveTombstone(db: Database): Promise<void> {
  await db.write("createAttachment", attachment("a", 1));
  const gone = { userId: "a", id: "att_0001", deletedAt: 1, limit: 250, expected: null, entry: anEntry() };
  await db.write("deleteAttachment", gone);
}

function holdContract(name: string, open: Open): void {
  test(`${name}: while any hold is in force no tombstone is listed`, async (t) => {
    const db = await open(t);
    await addUser(db, "a");
    await leaveTombstone(db);
    await db.write("placeHold", { name: "one", now: 1000, until: 2000 });
    await db.write("placeHold", { name: "two", now: 1000, until: 3000 });
    assert.deepEqual(await listTombstones(db, 1500, 10), []);
    assert.equal(await db.write("dropHold", { name: "two", now: 1500 }), true);
    assert.deepEqual(await listTombstones(db, 1999, 10), []);
    await db.write("renewHold", { name: "one", now: 1999, until: 4000 });
    assert.deepEqual(await listTombstones(db, 3999, 10), []);
    assert.equal(await db.write("dropHold", { name: "one", now: 3999 }), true);
    assert.deepEqual(await listTombstones(db, 3999, 10), ["blob-1"]);
  });

  test(`${name}: a hold that has lapsed holds nothing, stays lapsed, and its owner is told`, async (t) => {
    const db = await open(t);
    await addUser(db, "a");
    await leaveTombstone(db);
    await db.write("placeHold", { name: "one", now: 1000, until: 2000 });
    assert.deepEqual(await listTombstones(db, 2000, 10), ["blob-1"]);
    await db.write("renewHold", { name: "one", now: 2000, until: 9000 });
    assert.deepEqual(await listTombstones(db, 2000, 10), ["blob-1"]);
    assert.equal(await db.write("dropHold", { name: "one", now: 2000 }), false);
    await db.write("placeHold", { name: "two", now: 1000, until: 2000 });
    await db.write("placeHold", { name: "three", now: 2000, until: 3000 });
    assert.equal(await db.write("dropHold", { name: "two", now: 2000 }), false, "it was cleared away");
  });
}
