import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, type TestContext, test } from "node:test";
import pg from "pg";
import type { Database } from "../../src/db/database.ts";
import { openPostgres, PLANNER } from "../../src/db/engines/postgres/postgres.ts";
import { openSqlite } from "../../src/db/engines/sqlite/sqlite.ts";
import { createFuse } from "../../src/util/fuse.ts";
import {
  emptyDatabase,
  type PostgresServer,
  type PostgresSource,
  startPostgres,
  testDatabase,
} from "../support/engines/postgres.ts";

/** Opens an empty database in a folder that is removed after the test. */
export async function openOnSqlite(t: TestContext): Promise<Database> {
  const folder = await mkdtemp(join(tmpdir(), "parley-database-"));
  const db = openSqlite(join(folder, "parley.db"), createFuse(assert.ifError));
  t.after(async () => {
    await db.close();
    await rm(folder, { recursive: true, force: true });
  });
  return db;
}

/** Opens the same without Parley's layer, for questions to the engine itself. */
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

const INT8 = 20;
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: "text" | "binary") =>
    oid === INT8 ? Number : pg.types.getTypeParser(oid, format as "text"),
};

let debian: Promise<PostgresServer> | undefined;
after(async () => (await debian)?.remove());

/** Creates a database on the server of this run, or on Debian's PostgreSQL, which starts once per test file. */
async function databaseOf(t: TestContext, source: PostgresSource): Promise<string> {
  if (source === "bundled") return testDatabase(t);
  debian ??= startPostgres({ source });
  return emptyDatabase(t, (await debian).url);
}

/** Opens the same without Parley's layer, with the service's planner settings. */
export async function openPlainPostgres(
  t: TestContext,
  source: PostgresSource = "bundled",
): Promise<pg.Client> {
  const url = await databaseOf(t, source);
  await (await openPostgres(url)).close();
  const client = new pg.Client({ connectionString: url, types });
  // The database is dropped before this client ends.
  client.on("error", () => {});
  await client.connect();
  t.after(() => client.end());
  await client.query(PLANNER);
  return client;
}

async function openTwiceOnSqlite(t: TestContext): Promise<[Database, Database]> {
  const db = await openOnSqlite(t);
  return [db, db];
}

/** Opens one database as two nodes. */
export async function openTwiceOnPostgres(t: TestContext): Promise<[Database, Database]> {
  const url = await testDatabase(t);
  const nodes: [Database, Database] = [await openPostgres(url), await openPostgres(url)];
  t.after(() => Promise.all(nodes.map((node) => node.close())));
  return nodes;
}

/** Runs a test on an empty database of each engine, without a server. */
export function onEachDatabase(title: string, run: (db: Database, t: TestContext) => Promise<void>): void {
  test(`sqlite: ${title}`, async (t) => run(await openOnSqlite(t), t));
  test(`postgres: ${title}`, async (t) => run(await openOnPostgres(t), t));
}

/** Runs a test on two nodes of each engine. SQLite has one node, which is both. */
export function onTwoNodes(
  title: string,
  run: (nodes: [Database, Database], t: TestContext) => Promise<void>,
): void {
  test(`sqlite: ${title}`, async (t) => run(await openTwiceOnSqlite(t), t));
  test(`postgres: ${title}`, async (t) => run(await openTwiceOnPostgres(t), t));
}
