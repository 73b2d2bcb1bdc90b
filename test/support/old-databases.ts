// Databases of earlier schema versions, with rows in them.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { TestContext } from "node:test";
import pg from "pg";
import type { Limits } from "../../src/config/limits.ts";
import type { Config } from "../../src/config/settings.ts";
import type { Database } from "../../src/db/database.ts";
import { readMigrations, readSteps } from "../../src/db/migrations.ts";
import type { Statement } from "../../src/db/sql.ts";
import { openDatabase } from "../../src/engines.ts";
import { databaseOf } from "../../src/util/data-folder.ts";
import { createFuse } from "../../src/util/fuse.ts";
import { testConfig } from "./app.ts";
import { emptyDatabase } from "./engines/postgres.ts";

export type Engine = "sqlite" | "postgres";
export type Row = Record<string, string | number | Uint8Array | null>;
export type Rows = (readonly [table: string, row: Row])[];

const SOURCES = "src/db/engines/";
/** Returns the SQL of the first schema, followed by each migration. */
const stepsOf = (engine: Engine): string[] => [
  readFileSync(new URL(`first-schemas/${engine}.sql`, import.meta.url), "utf8"),
  ...readSteps(`${SOURCES}${engine}/before-0.1.0.sql`),
  ...readMigrations(`${SOURCES}${engine}/migrations/`).slice(1),
];
const STEPS: Record<Engine, string[]> = { sqlite: stepsOf("sqlite"), postgres: stepsOf("postgres") };
/** The last schema version of PostgreSQL whose releases do not detect a newer schema while they run. */
export const UNGUARDED = 16;
/** Returns all schema versions, up to the current one. */
export const versionsOf = (engine: Engine) => STEPS[engine].map((_, i) => i + 1);

export function makeOldSqlite(path: string, version: number, rows: Rows): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const db = new DatabaseSync(path);
  db.exec(`BEGIN; ${STEPS.sqlite.slice(0, version).join("")}`);
  for (const [table, row] of rows) {
    const columns = Object.keys(row);
    const insert = `INSERT INTO ${table} (${columns}) VALUES (${columns.map(() => "?")})`;
    db.prepare(insert).run(...Object.values(row));
  }
  db.exec(`PRAGMA user_version = ${version}; COMMIT; PRAGMA journal_mode = WAL`);
  db.close();
}

export async function makeOldPostgres(url: string, version: number, rows: Rows): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query("BEGIN; CREATE TABLE schema_version (version INTEGER NOT NULL)");
  await client.query(STEPS.postgres.slice(0, version).join(""));
  for (const [table, row] of rows) {
    const columns = Object.keys(row);
    const insert = `INSERT INTO ${table} (${columns}) VALUES (${columns.map((_, i) => `$${i + 1}`)})`;
    await client.query(insert, Object.values(row));
  }
  await client.query(`INSERT INTO schema_version (version) VALUES (${version})`);
  if (version > UNGUARDED) {
    // Each of these releases has its own table. The first one runs beside releases that share a table.
    const isFirst = version === UNGUARDED + 1;
    if (!isFirst) await client.query("DROP TABLE incarnation");
    await client.query(`CREATE UNLOGGED TABLE incarnation_${version}
      (one BOOLEAN NOT NULL PRIMARY KEY CHECK (one), id TEXT COLLATE "C" NOT NULL)`);
    await client.query(`UPDATE schema_version SET oldest = ${isFirst ? UNGUARDED : version}`);
  }
  await client.query("COMMIT");
  await client.end();
}

/** Returns settings whose database has an earlier schema. */
export async function oldConfig(
  t: TestContext,
  engine: Engine,
  version: number,
  rows: Rows,
  limits: Partial<Limits> = {},
): Promise<Config> {
  const config = await testConfig(t, limits);
  if (engine === "sqlite") {
    makeOldSqlite(databaseOf(config.dataFolder), version, rows);
    return config;
  }
  const databaseUrl = await emptyDatabase(t);
  await makeOldPostgres(databaseUrl, version, rows);
  return { ...config, databaseUrl, secrets: ["s".repeat(32)] };
}

/** Opens a database of an earlier schema, which migrates it. */
export async function openOld(
  t: TestContext,
  engine: Engine,
  version: number,
  rows: Rows,
): Promise<Database> {
  const config = await oldConfig(t, engine, version, rows);
  const db = await openDatabase(config, createFuse(assert.ifError));
  t.after(() => db.close());
  return db;
}

/** Returns rows without column names. */
export const valuesOf = async (db: Database, statement: Statement) =>
  (await db.all(statement as Statement<object>)).map((row) => Object.values(row));
