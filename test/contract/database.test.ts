// The rules for every database.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Database } from "../../src/db/database.ts";
import { openSqlite } from "../../src/db/engines/sqlite/sqlite.ts";
import { NEWEST } from "../../src/db/page.ts";
import { listContacts } from "../../src/db/queries/people/contact-lists.ts";
import { allTokens, findToken } from "../../src/db/queries/people/tokens.ts";
import { allUsers, findUserByName } from "../../src/db/queries/people/users.ts";
import { listTombstones } from "../../src/db/queries/storage/tombstones.ts";
import { findSeat } from "../../src/db/queries/visibility/seats.ts";
import { raw, sql } from "../../src/db/sql.ts";
import { createFuse } from "../../src/util/fuse.ts";
import { aDeletion, addUser, anEntry, aToken, attachment, aUser, contact, walk } from "../support/rows.ts";
import { onEachDatabase } from "./databases.ts";

async function withUsers(db: Database): Promise<Database> {
  await addUser(db, "a");
  await addUser(db, "b");
  return db;
}

onEachDatabase("concurrent writes succeed or fail separately", async (db) => {
  await withUsers(db);
  const results = await Promise.allSettled(
    Array.from({ length: 40 }, (_, i) =>
      db.write("createContact", { ...contact("a", i), usernameKey: `${i % 20}` }),
    ),
  );
  assert.equal(results.filter((result) => result.status === "fulfilled").length, 20);
  assert.equal((await listContacts(db, "a", {}, walk(NEWEST, 100))).length, 20);
});

onEachDatabase("erasing a user during their own writes leaves no row", async (db) => {
  let erasings = 0;
  for (let round = 0; round < 15; round++) {
    const user = `v${round}`;
    await addUser(db, user);
    const writes = Array.from({ length: 3 }, (_, i) => db.write("createContact", contact(user, i)));
    const erased = db.write("deleteUser", aDeletion(user));
    const [result] = await Promise.allSettled([erased, ...writes]);
    // After too many conflicts the whole erasure is refused.
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

onEachDatabase(
  "a write that fails halfway is rolled back, and others in its transaction are kept",
  async (db) => {
    await withUsers(db);
    const entry = anEntry();
    await db.write("createUser", aUser("c", { entry }));
    const results = await Promise.allSettled([
      db.write("createContact", contact("a", 1)),
      // The user and the conversation are inserted before the id of the audit entry conflicts.
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
  },
);

onEachDatabase("usernames are unique by key, and the first user is created only once", async (db) => {
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

/** Adds a tombstone of "blob-1", by user "a". */
async function leaveTombstone(db: Database): Promise<void> {
  await db.write("createAttachment", attachment("a", 1));
  const gone = { userId: "a", id: "att_0001", deletedAt: 1, limit: 250, expected: null, entry: anEntry() };
  await db.write("deleteAttachment", gone);
}

onEachDatabase("no tombstone is listed while a hold is active", async (db) => {
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

onEachDatabase("an expired hold protects nothing, and renewing it fails", async (db) => {
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

test("sqlite: a write still queued when a sync fails is refused", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "parley-database-"));
  const fuse = createFuse(() => {});
  const db = openSqlite(join(folder, "parley.db"), fuse);
  t.after(async () => {
    await db.close();
    await rm(folder, { recursive: true, force: true });
  });
  const user = aUser("u1");
  const waiting = db.write("createUser", user);
  fuse.blow(new Error("EIO"));
  await assert.rejects(waiting, { code: "unavailable" });
  await assert.rejects(db.write("createUser", user), { code: "unavailable" });
  assert.equal((await db.all(sql`SELECT 1 AS one FROM users`)).length, 0);
});
