import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { TestContext } from "node:test";
import type { Database } from "../../src/db/database.ts";
import { openPostgres } from "../../src/db/postgres.ts";
import { openSqlite } from "../../src/db/sqlite.ts";
import { createFuse } from "../../src/util/fuse.ts";
import { testDatabase } from "../engines/postgres.ts";

/** An empty database in a folder that goes with the test. */
export async function openOnSqlite(t: TestContext): Promise<Database> {
  const folder = await mkdtemp(join(tmpdir(), "parley-database-"));
  const db = openSqlite(join(folder, "parley.db"), createFuse(assert.ifError));
  t.after(async () => {
    await db.close();
    await rm(folder, { recursive: true, force: true });
  });
  return db;
}

/** The same, for what is asked of the engine itself. */
export async function openPlainSqlite(t: TestContext): Promise<DatabaseSync> {
  const folder = await mkdtemp(join(tmpdir(), "parley-plans-"));
  const path = join(folder, "parley.db");
  await openSqlite(path, createFuse(assert.ifError)).close();
  const db = new DatabaseSync(path);
  t.after(async () => {
    db.close();
    await rm(folder, { recursive: true, force: true });
  });
  return db;
}

export async function openOnPostgres(t: TestContext): Promise<Database> {
  const db = await openPostgres(await testDatabase(t));
  t.after(() => db.close());
  return db;
}
