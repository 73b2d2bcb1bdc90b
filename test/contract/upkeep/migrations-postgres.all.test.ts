import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { test } from "node:test";
import pg from "pg";
import { migratePostgres, requireCurrentPostgres } from "../../../src/db/engines/postgres/migrate.ts";
import { openPostgres } from "../../../src/db/engines/postgres/postgres.ts";
import { administer, emptyDatabase } from "../../support/engines/postgres.ts";

const FOLDER = new URL("../../../src/db/engines/postgres/migrations/", import.meta.url);
const files = (await readdir(FOLDER)).sort();

const read = (file: string) => readFile(new URL(file, FOLDER), "utf8");

/** What a user had in the first schema, which is there, with these values, in every later one. */
const FIRST: Record<string, string> = {
  users: "('usr_1', 'Zoë', 'zoë', '+1 555', NULL, NULL, 'cnv_1', 1)",
  tokens: "('\\x00', 'tok_1', 'usr_1', NULL, 'admin', 9, 1)",
  members: "('cnv_1', 'usr_1', 1)",
  contacts: `('usr_1', 'con_1', 'ada', '555', ' ada a', 'cnv_2', NULL, 3, '{"username":"A\\"d é😀"}')`,
  messages: "('msg_1', 'cnv_1', 'usr_1', 1)",
  attachments:
    "('att_1', 'cnv_1', 'msg_1', 'usr_1', 'ä', 'text/plain', 5000000000, '\\x01', 'att_1', 1, 2, 4294967295)",
  small_files: "('att_1', '\\x00ff')",
  grants: "('usr_1', 'att_1', 'cnv_1')",
  tombstones: "('gone', 1)",
  holds: "('hold', 7)",
  intents: "('key', 8)",
  carried_secrets: "('a secret', 9)",
};

const columnsOf = (url: string, table: string) =>
  administer(
    url,
    `SELECT string_agg(quote_ident(column_name), ', ' ORDER BY ordinal_position)
     FROM information_schema.columns WHERE table_name = '${table}'`,
  );
const rowOf = (url: string, table: string, columns: unknown) =>
  administer(url, `SELECT ROW(${columns})::text FROM ${table}`);

/** From the next one on, a release keeps more in the database than its migrations create. */
const UNGUARDED = 16;

async function bringTo(url: string, migrations: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await migratePostgres(client, migrations).finally(() => client.end());
}

for (const [i, file] of files.entries()) {
  test(`postgres: a database of the schema ${file} is brought forward with all that was in it`, async (t) => {
    const url = await emptyDatabase(t);
    await administer(url, await read(files[0]!));
    const before = new Map<string, [columns: unknown, rows: unknown[]]>();
    for (const [table, row] of Object.entries(FIRST)) {
      await administer(url, `INSERT INTO ${table} VALUES ${row}`);
      const [columns] = await columnsOf(url, table);
      before.set(table, [columns, await rowOf(url, table, columns)]);
    }
    const later = await Promise.all(files.slice(1, i + 1).map(read));
    const plain = later.slice(0, UNGUARDED - 1);
    for (const migration of plain) await administer(url, migration);
    await administer(url, `CREATE TABLE schema_version AS SELECT ${1 + plain.length} AS version`);
    if (later.length > plain.length) await bringTo(url, [await read(files[0]!), ...later]);
    await (await openPostgres(url)).close();
    for (const [table, [columns, rows]] of before) {
      assert.equal(rows.length, 1, table);
      assert.deepEqual(await rowOf(url, table, columns), rows, table);
    }
    assert.deepEqual(await administer(url, "SELECT version FROM schema_version"), [files.length]);
  });
}

test("postgres: this test fills every table of the first schema that holds what users have", async () => {
  const tables = [...(await read(files[0]!)).matchAll(/CREATE TABLE (\w+)/g)].map((match) => match[1]!);
  assert.deepEqual(tables.sort(), [...Object.keys(FIRST), "moves", "revocations"].sort());
});

test("postgres: nodes that start at once bring a schema forward once, whatever the database's isolation is", async (t) => {
  const url = await emptyDatabase(t);
  const name = new URL(url).pathname.slice(1);
  await administer(url, `ALTER DATABASE ${name} SET default_transaction_isolation = 'repeatable read'`);
  for (const db of await Promise.all(Array.from({ length: 6 }, () => openPostgres(url)))) await db.close();
  assert.deepEqual(await administer(url, "SELECT version FROM schema_version"), [files.length]);
  assert.deepEqual(await administer(url, "SELECT count FROM revocations"), ["0"]);
});

test("postgres: a migration that fails leaves the database as it was, and says so", async (t) => {
  const url = await emptyDatabase(t);
  await administer(url, "CREATE TABLE grants AS SELECT 'kept' AS mine");
  await assert.rejects(openPostgres(url), /PARLEY_DATABASE_URL.*"grants" already exists/);
  const tables = await administer(url, "SELECT relname FROM pg_stat_user_tables");
  assert.deepEqual(tables, ["grants"]);
  assert.deepEqual(await administer(url, "SELECT mine FROM grants"), ["kept"]);
});

test("postgres: a command beside servers changes no schema, and says what is to be done", async (t) => {
  const url = await emptyDatabase(t);
  await assert.rejects(openPostgres(url, requireCurrentPostgres), /There is no Parley in this database/);
  assert.deepEqual(await administer(url, "SELECT relname FROM pg_stat_user_tables"), []);
  await (await openPostgres(url)).close();
  await (await openPostgres(url, requireCurrentPostgres)).close();
  await administer(url, "UPDATE schema_version SET version = 9999, oldest = 9999");
  await assert.rejects(openPostgres(url, requireCurrentPostgres), /schema version 9999/);
});
