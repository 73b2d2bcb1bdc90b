// Resumable uploads in the database, on both engines: no trace of one outlives its row or its user.
import assert from "node:assert/strict";
import { raw, sql } from "../../../src/db/sql.ts";
import { aDeletion, anUpload, aUser } from "../../support/rows.ts";
import { onEachDatabase } from "../databases.ts";

const UPLOAD = anUpload("usr_1");

onEachDatabase("a deleted upload reserves nothing, and an erased user cannot start one", async (db) => {
  await db.write("createUser", aUser("usr_1"));
  await db.write("createUpload", { row: UPLOAD, limit: 1, quota: 100 });
  const room = { row: UPLOAD, quota: 100, now: 2 };
  assert.equal(await db.write("reserveForUpload", { ...room, bytes: 60 }), null);
  assert.match((await db.write("reserveForUpload", { ...room, bytes: 101 }))!, /101 B/);
  assert.equal(await db.write("reserveForUpload", { ...room, bytes: 70 }), null);
  const other = { ...room, row: { ...UPLOAD, holder: "another" }, bytes: 1 };
  await assert.rejects(db.write("reserveForUpload", other), { code: "upload_not_found" });
  assert.equal((await db.get(sql<{ bytes: number }>`SELECT bytes FROM reservations`))?.bytes, 70);
  await db.write("deleteUpload", { userId: "usr_1", id: "upl_1", now: 3, until: null });
  const late = db.write("reserveForUpload", { ...room, bytes: 1 });
  await assert.rejects(late, { code: "upload_not_found" });
  await db.write("deleteUser", aDeletion("usr_1"));
  const begun = db.write("createUpload", { row: UPLOAD, limit: 1, quota: 100 });
  await assert.rejects(begun, { code: "invalid_token" });
  for (const table of ["uploads", "reservations"])
    assert.deepEqual(await db.all(sql`SELECT 1 AS one FROM ${raw(table)}`), [], table);
});
