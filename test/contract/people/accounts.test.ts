// The rules of users, tokens and the audit trail, on both engines.
import assert from "node:assert/strict";
import type { Database } from "../../../src/db/database.ts";
import { NEWEST } from "../../../src/db/page.ts";
import { hasTokensExpiredBefore, listTokenRows } from "../../../src/db/queries/people/tokens.ts";
import { hasEntriesBefore, listEntries } from "../../../src/db/queries/record/audit-trail.ts";
import { anEntry, aToken, aUser, walk } from "../../support/rows.ts";
import { onEachDatabase } from "../databases.ts";

const ids = async (rows: Promise<{ id: string }[]>) => (await rows).map(({ id }) => id);

/** Returns the audit trail without ids and times, oldest first. */
async function trail(db: Database): Promise<unknown[][]> {
  const rows = await listEntries(db, walk("", 1000, true));
  return rows.map((row) => [row.action, row.actor_id, row.object_id, JSON.parse(row.details!)]);
}

onEachDatabase("expired tokens and old audit entries are erased in steps, oldest first", async (db) => {
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

onEachDatabase("downloads recorded again after a lost reply are counted once", async (db) => {
  const one = { entry: anEntry(), attachmentId: "att_1", details: { address: "::1", count: 3 } };
  const other = { entry: anEntry(), attachmentId: "att_2", details: { address: "192.0.2.1", count: 1 } };
  await db.write("recordDownloads", { downloads: [one] });
  await db.write("recordDownloads", { downloads: [one, other] });
  assert.deepEqual(await trail(db), [
    ["attachment.downloaded", null, "att_1", { address: "::1", count: 3 }],
    ["attachment.downloaded", null, "att_2", { address: "192.0.2.1", count: 1 }],
  ]);
});
