// Databases of older versions, with their rows, brought forward.
import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { TestContext } from "node:test";
import pg from "pg";
import type { Database } from "../../../src/db/database.ts";
import { openPostgres } from "../../../src/db/engines/postgres/postgres.ts";
import { openSqlite } from "../../../src/db/engines/sqlite/sqlite.ts";
import type { Statement } from "../../../src/db/sql.ts";
import { createFuse } from "../../../src/util/fuse.ts";
import { emptyDatabase } from "../../support/engines/postgres.ts";

type Row = Record<string, string | number | Uint8Array | null>;
export type Rows = [table: string, row: Row][];

const ENGINES = new URL("../../../src/db/engines/", import.meta.url);

async function migrationsOf(engine: string, count: number): Promise<string[]> {
  const folder = new URL(`${engine}/migrations/`, ENGINES);
  const names = (await readdir(folder)).sort().slice(0, count);
  return Promise.all(names.map((name) => readFile(new URL(name, folder), "utf8")));
}

export async function onSqlite(t: TestContext, version: number, rows: Rows): Promise<Database> {
  const folder = await mkdtemp(join(tmpdir(), "parley-migrations-"));
  const path = join(folder, "parley.db");
  const old = new DatabaseSync(path);
  for (const text of await migrationsOf("sqlite", version)) old.exec(text);
  for (const [table, row] of rows) {
    const columns = Object.keys(row);
    const insert = `INSERT INTO ${table} (${columns}) VALUES (${columns.map(() => "?")})`;
    old.prepare(insert).run(...Object.values(row));
  }
  old.exec(`PRAGMA user_version = ${version}`);
  old.close();
  const db = openSqlite(path, createFuse(assert.ifError));
  t.after(async () => {
    await db.close();
    await rm(folder, { recursive: true, force: true });
  });
  return db;
}

export async function onPostgres(t: TestContext, version: number, rows: Rows): Promise<Database> {
  const url = await emptyDatabase(t);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`CREATE TABLE schema_version AS SELECT ${version} AS version`);
  for (const text of await migrationsOf("postgres", version)) await client.query(text);
  for (const [table, row] of rows) {
    const columns = Object.keys(row);
    const places = columns.map((_, i) => `$${i + 1}`);
    await client.query(`INSERT INTO ${table} (${columns}) VALUES (${places})`, Object.values(row));
  }
  await client.end();
  const db = await openPostgres(url);
  t.after(() => db.close());
  return db;
}

export const id = (kind: string, number: number) => `${kind}_${String(number).padStart(26, "0")}`;
export const CONVERSATION = id("cnv", 1);

export const AB = ["a", "b"];

/** A file and the users who have a grant of it. */
export interface OldFile {
  number: number;
  message: number;
  by: string;
  grants: readonly string[];
}

export function userRows(name: string): Rows {
  const conversation_id = id("cnv", 900 + name.charCodeAt(0));
  const user = { id: name, username: name, username_key: name, conversation_id, created_at: 1 };
  return [
    ["users", user],
    ["members", { conversation_id, user_id: name, joined_at: 1 }],
    ["storage", { user_id: name, used: 0 }],
  ];
}

export function fileRows({ number, message, by, grants }: OldFile): Rows {
  const of = { id: id("att", number), conversation_id: CONVERSATION, message_id: id("msg", message) };
  const bytes = { file_size: 1, sha256: new Uint8Array(32), blob_key: `blob-${number}`, crc32: 1 };
  const file = { uploader_id: by, filename: "a", file_type: "a/b", created_at: 6, version: 1 };
  const grant = { attachment_id: of.id, conversation_id: CONVERSATION };
  return [
    ["attachments", { ...of, ...file, ...bytes }],
    ...grants.map((user_id): Rows[number] => ["grants", { user_id, ...grant }]),
  ];
}

export const member = (user_id: string): Rows => [
  ["members", { conversation_id: CONVERSATION, user_id, joined_at: 1 }],
];

export const valuesOf = async (db: Database, statement: Statement) =>
  (await db.all(statement as Statement<object>)).map((row) => Object.values(row));
