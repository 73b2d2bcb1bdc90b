import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { openPostgres } from "../../../src/db/engines/postgres/postgres.ts";
import { openSqlite } from "../../../src/db/engines/sqlite/sqlite.ts";
import { OF_THE_STORE, TABLES } from "../../../src/db/queries/upkeep/tables.ts";
import { type Reader, type Statement, sql } from "../../../src/db/sql.ts";
import { createFuse } from "../../../src/util/fuse.ts";
import { testDatabase } from "../../support/engines/postgres.ts";

/** Tables that only have a meaning within their engine. */
const NOT_MOVED = [
  "event_positions",
  "outbox",
  "sqlite_sequence",
  "carried_secrets",
  "holds",
  "indexed_words",
  "message_index",
  "message_index_config",
  "message_index_data",
  "message_index_idx",
  "moves",
  "name_rule",
  "reindexing",
  "reservations",
  "revocations",
  "schema_version",
  "unindexed",
  "word_rule",
];

interface Column {
  table_name: string;
  column_name: string;
}

async function sqliteColumns(t: TestContext): Promise<[Reader, Statement<Column>]> {
  const folder = await mkdtemp(join(tmpdir(), "parley-tables-"));
  const db = openSqlite(join(folder, "parley.db"), createFuse(assert.ifError));
  t.after(async () => {
    await db.close();
    await rm(folder, { recursive: true, force: true });
  });
  return [
    db,
    sql`SELECT m.name AS table_name, c.name AS column_name FROM sqlite_schema m, pragma_table_info(m.name) c
     WHERE m.type = 'table'`,
  ];
}

async function postgresColumns(t: TestContext): Promise<[Reader, Statement<Column>]> {
  const db = await openPostgres(await testDatabase(t));
  t.after(() => db.close());
  return [
    db,
    sql`SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'`,
  ];
}

for (const [name, open] of Object.entries({ sqlite: sqliteColumns, postgres: postgresColumns })) {
  test(`${name}: a move copies every column of every table, except those that it names`, async (t) => {
    const [db, columns] = await open(t);
    const found = await db.all(columns);
    const there = found
      .filter(({ table_name }) => !NOT_MOVED.includes(table_name) && !table_name.startsWith("incarnation_"))
      .map((column) => `${column.table_name}.${column.column_name}`);
    const moved = [...TABLES, ...OF_THE_STORE].flatMap((table) =>
      table.columns.map((column) => `${table.name}.${column}`),
    );
    assert.deepEqual(moved.sort(), there.sort());
  });
}
