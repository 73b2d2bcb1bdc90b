import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openSqlite } from "../../src/db/engines/sqlite/sqlite.ts";
import { sql } from "../../src/db/sql.ts";
import { createFuse } from "../../src/util/fuse.ts";
import { aUser } from "../support/rows.ts";
import { databaseContract } from "./database.ts";
import { openOnPostgres, openOnSqlite } from "./databases.ts";

databaseContract("sqlite", openOnSqlite);
databaseContract("postgres", openOnPostgres);

test("sqlite: a write that waits when the fuse blows is not acknowledged", async (t) => {
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
