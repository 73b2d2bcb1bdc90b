import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { openSqlite } from "../../../src/db/engines/sqlite/sqlite.ts";
import { raw, sql } from "../../../src/db/sql.ts";
import { createFuse } from "../../../src/util/fuse.ts";

const FOLDER = new URL("../../../src/db/engines/sqlite/migrations/", import.meta.url);
const files = (await readdir(FOLDER)).sort();

/** What a user had in the first released schema; it must be there, with these values, in every later one. */
const FIRST: Record<string, Record<string, string | number | Uint8Array | null>> = {
  users: {
    id: "usr_1",
    username: "Zoë",
    username_key: "zoë",
    phone_number: "+1 555",
    display_name: null,
    avatar_url: null,
    conversation_id: "cnv_1",
    created_at: 1,
  },
  tokens: {
    hash: new Uint8Array(32),
    id: "tok_1",
    user_id: "usr_1",
    name: null,
    scopes: "admin",
    expires_at: 9,
    created_at: 1,
  },
  conversations: { id: "cnv_1", created_at: 1 },
  members: { conversation_id: "cnv_1", user_id: "usr_1", joined_at: 1 },
  contacts: {
    owner_id: "usr_1",
    id: "con_1",
    username: 'A"d\\a é😀\u2028',
    username_key: "ada",
    phone_number: "555",
    phone_digits: "555",
    avatar_url: null,
    display_name: "A",
    search_key: " ada a",
    conversation_id: "cnv_2",
    blocked_at: null,
    created_at: 1_800_000_000_999,
    version: 3,
  },
  messages: { id: "msg_1", conversation_id: "cnv_1", sender_id: "usr_1", created_at: 1 },
  attachments: {
    id: "att_1",
    conversation_id: "cnv_1",
    message_id: "msg_1",
    uploader_id: "usr_1",
    filename: "ä",
    file_type: "text/plain",
    file_size: 5,
    sha256: new Uint8Array(32),
    blob_key: "key",
    created_at: 1,
    version: 2,
  },
  grants: { user_id: "usr_1", attachment_id: "att_1", conversation_id: "cnv_1" },
  tombstones: { blob_key: "gone", created_at: 1 },
};

const { conversations: _, ...others } = FIRST;
/** The same in the newest schema: contacts became JSON, and conversations are known by their members. */
const kept: typeof FIRST = {
  ...others,
  contacts: {
    owner_id: "usr_1",
    id: "con_1",
    username_key: "ada",
    phone_digits: "555",
    search_key: " ada a",
    conversation_id: "cnv_2",
    blocked_at: null,
    version: 3,
    body: JSON.stringify({
      id: "con_1",
      username: 'A"d\\a é😀\u2028',
      phone_number: "555",
      avatar_url: null,
      display_name: "A",
      conversation_id: "cnv_2",
      last_active_at: null,
      created_at: 1_800_000_000,
    }),
  },
};

for (const [i, file] of files.entries()) {
  test(`a database of the schema ${file} is brought forward with all that was in it`, async (t) => {
    const folder = await mkdtemp(join(tmpdir(), "parley-migrations-"));
    t.after(() => rm(folder, { recursive: true, force: true }));
    const path = join(folder, "parley.db");
    const old = new DatabaseSync(path);
    old.exec(await readFile(new URL(files[0]!, FOLDER), "utf8"));
    for (const [table, row] of Object.entries(FIRST)) {
      const columns = Object.keys(row);
      old
        .prepare(`INSERT INTO ${table} (${columns}) VALUES (${columns.map(() => "?")})`)
        .run(...Object.values(row));
    }
    for (const later of files.slice(1, i + 1)) old.exec(await readFile(new URL(later, FOLDER), "utf8"));
    old.exec(`PRAGMA user_version = ${i + 1}`);
    old.close();
    const db = openSqlite(path, createFuse(assert.ifError));
    for (const [table, row] of Object.entries(kept)) {
      const [now] = await db.all<Record<string, unknown>>(
        sql`SELECT ${raw(Object.keys(row).join(", "))} FROM ${raw(table)}`,
      );
      assert.deepEqual({ ...now }, row, table);
    }
    const { user_version } = (await db.get<{ user_version: number }>(sql`PRAGMA user_version`))!;
    assert.equal(user_version, files.length);
    await db.close();
  });
}

test("the first schema has the tables that this test fills, and no others", async () => {
  const text = await readFile(new URL(files[0]!, FOLDER), "utf8");
  const tables = [...text.matchAll(/CREATE TABLE (\w+)/g)].map((match) => match[1]!);
  assert.deepEqual(tables.sort(), Object.keys(FIRST).sort());
});

test("a migration that fails leaves the database as it was", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "parley-migrations-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, "parley.db");
  const db = new DatabaseSync(path);
  db.exec("CREATE TABLE grants (mine TEXT); INSERT INTO grants VALUES ('kept')");
  db.close();
  assert.throws(() => openSqlite(path, createFuse(assert.ifError)), /grants already exists/);
  const again = new DatabaseSync(path);
  const tables = again
    .prepare("SELECT name FROM sqlite_schema")
    .all()
    .map((row) => row.name);
  assert.deepEqual(tables, ["grants"]);
  assert.deepEqual({ ...again.prepare("SELECT mine FROM grants").get() }, { mine: "kept" });
  again.close();
});
