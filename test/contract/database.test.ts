import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqlite } from "../../src/db/sqlite.ts";
import { createFuse } from "../../src/util/fuse.ts";
import { databaseContract } from "./database.ts";

databaseContract("sqlite", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "parley-database-"));
  const db = openSqlite(join(folder, "parley.db"), createFuse(assert.ifError));
  t.after(async () => {
    await db.close();
    await rm(folder, { recursive: true, force: true });
  });
  return db;
});
