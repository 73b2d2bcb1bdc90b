// What users, tokens and the audit trail keep to on both engines.
import assert from "node:assert/strict";
import type { Database } from "../../../src/db/database.ts";
import { NEWEST } from "../../../src/db/page.ts";
import { hasTokensExpiredBefore, listTokenRows } from "../../../src/db/queries/people/tokens.ts";
import { hasEntriesBefore, listEntries } from "../../../src/db/queries/record/audit-trail.ts";
import { anEntry, aToken, aUser, walk } from "../../support/rows.ts";
import { onEachEngine } from "../databases.ts";

const ids = async (rows: Promise<{ id: string }[]>) => (await rows).map(({ id }) => id);

/** The trail without ids and times, oldest first. */
async function trail(db: Database): Promise<unknown[][]> {
  const rows = await listEntries(db, walk("", 1000, true));
  return rows.map((row) => [row.action, row.actor_id, row.object_id, JSON.parse(row.details!)]);
}

onEachEngine(
  "each change of users and tokens leaves an audit entry, a refused one leaves none",
  async (db) => {
    const by = (actorId: string) => ({ ...anEntry(), actorId });
    const user = aUser("u1");
    const token = aToken("u1", 1, { scopes: "contacts:read admin" });
    await db.write("createFirstUser", { user, token });
    await db.write("createUser", aUser("u2", { entry: by("u1") }));
    await assert.rejects(db.write("createUser", aUser("u3", { usernameKey: "u2" })), {
      code: "username_taken",
      members: { existing_id: "u2" },
    });
    await assert.rejects(db.write("createToken", aToken("u9", 2)), { code: "user_not_found" });
    await db.write("createToken", aToken("u2", 2, { name: "phone", entry: by("u1") }));
    assert.equal(await db.write("deleteTokens", { tokens: [{ id: "tok_9999", entry: anEntry() }] }), 0);
    const both = ["tok_0001", "tok_0002"].map((id) => ({ id, entry: by("u2") }));
    assert.equal(await db.write("deleteTokens", { tokens: both }), 2);
    await db.write("deleteUser", { id: "u2", deletedAt: 1, limit: 250, messageId: "m", entry: by("u1") });
    await assert.rejects(
      db.write("deleteUser", { id: "u2", deletedAt: 1, limit: 250, messageId: "m", entry: anEntry() }),
      {
        code: "user_not_found",
      },
    );
    const first = { user_id: "u1", name: null, scopes: ["contacts:read", "admin"] };
    const second = { user_id: "u2", name: "phone", scopes: ["admin"] };
    assert.deepEqual(await trail(db), [
      ["user.created", null, "u1", { username: "U1" }],
      ["token.created", null, "tok_0001", first],
      ["user.created", "u1", "u2", { username: "U2" }],
      ["token.created", "u1", "tok_0002", second],
      ["token.revoked", "u2", "tok_0001", first],
      ["token.revoked", "u2", "tok_0002", second],
      ["user.deleted", "u1", "u2", { username: "U2" }],
    ]);
  },
);

onEachEngine(
  "concurrent creates never exceed the limit of tokens, and expired tokens do not count",
  async (db) => {
    for (const id of ["a", "b"]) await db.write("createUser", aUser(id));
    const past = { createdAt: 1000, expiresAt: 2000 };
    for (const number of [1, 2, 3]) await db.write("createToken", aToken("a", number, past));
    await db.write("createToken", aToken("b", 4));
    const results = await Promise.allSettled(
      Array.from({ length: 12 }, (_, i) => db.write("createToken", aToken("a", 10 + i, { limit: 4 }))),
    );
    const refused = results.flatMap((result) => (result.status === "rejected" ? [result.reason.code] : []));
    assert.equal(refused.length, 8);
    assert.ok(
      refused.every((code) => ["count_limit_reached", "unavailable"].includes(code)),
      refused.join(),
    );
    assert.equal((await listTokenRows(db, { userId: "a" }, walk(NEWEST, 50))).length, 7);
    await db.write("createToken", aToken("a", 40, { limit: 0 }));
  },
);

onEachEngine("expired tokens and old audit entries are erased in steps, oldest first", async (db) => {
  await db.write("createUser", aUser("a"));
  for (const [i, expiresAt] of [3000, 1000, null, 2000, 4000].entries())
    await db.write("createToken", aToken("a", i, { expiresAt }));
  const left = () => ids(listTokenRows(db, {}, walk("", 9, true)));
  assert.equal(await hasTokensExpiredBefore(db, 1000), false);
  assert.equal(await hasTokensExpiredBefore(db, 1001), true);
  await db.write("forgetExpiredTokens", { before: 3500, limit: 2 });
  assert.deepEqual(await left(), ["tok_0000", "tok_0002", "tok_0004"]);
  await db.write("forgetExpiredTokens", { before: 3500, limit: 2 });
  assert.deepEqual(await left(), ["tok_0002", "tok_0004"]);
  assert.equal(await hasTokensExpiredBefore(db, 3500), false);
  const acts = await ids(listEntries(db, walk("", 9, true)));
  assert.equal(acts.length, 6);
  assert.equal(await hasEntriesBefore(db, acts[0]!), false);
  await db.write("forgetEntries", { before: acts[4]!, limit: 3 });
  assert.deepEqual(await ids(listEntries(db, walk("", 9, true))), acts.slice(3));
  await db.write("forgetEntries", { before: acts[4]!, limit: 3 });
  assert.deepEqual(await ids(listEntries(db, walk(NEWEST, 1))), acts.slice(4).reverse());
  assert.equal(await hasEntriesBefore(db, acts[4]!), false);
});

onEachEngine("downloads recorded again after a lost answer are counted once", async (db) => {
  const one = { entry: anEntry(), attachmentId: "att_1", details: { address: "::1", count: 3 } };
  const other = { entry: anEntry(), attachmentId: "att_2", details: { address: "192.0.2.1", count: 1 } };
  await db.write("recordDownloads", { downloads: [one] });
  await db.write("recordDownloads", { downloads: [one, other] });
  assert.deepEqual(await trail(db), [
    ["attachment.downloaded", null, "att_1", { address: "::1", count: 3 }],
    ["attachment.downloaded", null, "att_2", { address: "192.0.2.1", count: 1 }],
  ]);
});
