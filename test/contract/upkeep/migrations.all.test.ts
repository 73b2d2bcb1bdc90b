// Databases of every earlier schema, with data in each table, are migrated and keep the users' data.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import type { Database } from "../../../src/db/database.ts";
import { requireCurrentPostgres, VERSION } from "../../../src/db/engines/postgres/migrate.ts";
import { openPostgres } from "../../../src/db/engines/postgres/postgres.ts";
import { openSqlite } from "../../../src/db/engines/sqlite/sqlite.ts";
import { raw, sql } from "../../../src/db/sql.ts";
import { createFuse } from "../../../src/util/fuse.ts";
import { administer, emptyDatabase } from "../../support/engines/postgres.ts";
import { type Engine, makeOldPostgres, openOld, type Row, versionsOf } from "../../support/old-databases.ts";
import { openOnPostgres, openOnSqlite } from "../databases.ts";

const ENGINES = { sqlite: openOnSqlite, postgres: openOnPostgres };

interface Data {
  /** The versions that have these rows: the first one of each engine, and the version after the last. */
  since: Record<Engine, number>;
  until?: Record<Engine, number>;
  /** One row for each table. */
  rows: Record<string, Row>;
  /** The same rows in the newest schema, if they differ. */
  now?: Record<string, Row>;
}

const NEVER = Number.POSITIVE_INFINITY;
const bytes = (...values: number[]) => new Uint8Array(values);

const CONTACT = {
  ...{ owner_id: "usr_1", id: "con_1", username_key: "ada", phone_digits: "555", search_key: " ada a" },
  ...{ conversation_id: "cnv_2", blocked_at: null, version: 3 },
};
const NAMES = { username: 'A"d\\a é😀\u2028', phone_number: "555", avatar_url: null, display_name: "A" };
const BODY = JSON.stringify({
  ...{ id: "con_1", ...NAMES, conversation_id: "cnv_2", last_active_at: null, created_at: 1_800_000_000 },
});
const MESSAGE = { id: "msg_1", conversation_id: "cnv_1", sender_id: "usr_1", created_at: 1 };
const FILE = {
  ...{ id: "att_1", conversation_id: "cnv_1", message_id: "msg_1", uploader_id: "usr_1", filename: "ä" },
  ...{
    file_type: "a/b",
    file_size: 5_000_000_000,
    sha256: bytes(1),
    blob_key: "key",
    created_at: 1,
    version: 2,
  },
};
const EVENT = {
  ...{ recipient_id: "usr_1", type: "contact.created", conversation_id: "cnv_2", payload: '{"id":"con_1"}' },
};
/** No other row has this conversation or user. */
const SEAT = { conversation_id: "cnv_9", user_id: "usr_9" };

const DATA: Data[] = [
  {
    since: { sqlite: 1, postgres: 1 },
    rows: {
      users: {
        ...{ id: "usr_1", username: "Zoë", username_key: "zoë", phone_number: "+1 555", display_name: null },
        ...{ avatar_url: null, conversation_id: "cnv_1", created_at: 1 },
      },
      tokens: {
        ...{ hash: bytes(0), id: "tok_1", user_id: "usr_1", name: null, scopes: "admin", expires_at: 9 },
        created_at: 1,
      },
      members: { conversation_id: "cnv_1", user_id: "usr_1", joined_at: 1 },
      attachments: FILE,
      grants: { user_id: "usr_1", attachment_id: "att_1", conversation_id: "cnv_1" },
      tombstones: { blob_key: "gone", created_at: 1 },
    },
  },
  {
    since: { sqlite: 1, postgres: NEVER },
    until: { sqlite: 3, postgres: NEVER },
    rows: {
      conversations: { id: "cnv_1", created_at: 1 },
      contacts: { ...CONTACT, ...NAMES, created_at: 1_800_000_000_999 },
    },
    now: { conversations: { id: "cnv_1", last_id: "msg_1" }, contacts: { ...CONTACT, body: BODY } },
  },
  {
    since: { sqlite: 1, postgres: 1 },
    until: { sqlite: 11, postgres: 7 },
    rows: { messages: MESSAGE },
  },
  { since: { sqlite: 2, postgres: 1 }, rows: { holds: { name: "hold", until: 7 } } },
  { since: { sqlite: 3, postgres: 1 }, rows: { contacts: { ...CONTACT, body: BODY } } },
  {
    since: { sqlite: 4, postgres: 1 },
    rows: { small_files: { attachment_id: "att_1", bytes: bytes(0, 255) } },
  },
  {
    since: { sqlite: 5, postgres: 1 },
    rows: { intents: { blob_key: "key", until: 8 }, carried_secrets: { secret: "a secret", until: 9 } },
  },
  {
    since: { sqlite: 6, postgres: 2 },
    rows: {
      departures: SEAT,
      erased_names: { name_hash: bytes(2), at: 1 },
      activity: { user_id: "usr_1", seen_at: 2 },
      storage: { user_id: "usr_1", used: FILE.file_size },
      reservations: { user_id: "usr_1", id: "res_1", bytes: 5, until: 6 },
      idempotency: {
        ...{
          user_id: "usr_1",
          key_hash: bytes(3),
          fingerprint: bytes(4),
          result: '{"id":"tok_1"}',
          until: 5,
        },
      },
      identities: { issuer: "https://id", subject: "zoë", user_id: "usr_1" },
      audit: {
        ...{ id: "aud_1", at: 1, actor_id: null, token_id: "tok_1", action: "user.created" },
        ...{ object_id: "usr_1", details: '{"username":"Zoë"}' },
      },
    },
  },
  {
    since: { sqlite: 7, postgres: 3 },
    rows: {
      events: { ...EVENT, position: 5, number: 2, created_at: 1 },
      webhooks: {
        ...{ id: "whk_1", user_id: "usr_1", url: "https://a", types: "contact.created", all_users: 1 },
        ...{ secret: "s", old_secret: "o", old_until: 2, disabled_at: null, failing_since: 3 },
        ...{ since_position: 4, created_at: 1, version: 2 },
      },
      deliveries: {
        ...{ ...EVENT, webhook_id: "whk_1", id: "dlv_1", event_id: "evt_1", position: 5, told_at: 1 },
        ...{ state: "pending", attempts: 2, next_at: 3, last_status: 500, last_error: "e", created_at: 1 },
        updated_at: 2,
      },
      webhook_cursor: { id: 1, position: 5 },
    },
  },
  { since: { sqlite: NEVER, postgres: 3 }, rows: { outbox: { ...EVENT, created_at: 2 } } },
  {
    since: { sqlite: 9, postgres: 5 },
    rows: { erasing: { user_id: "usr_9", username_key: "eve", conversation_id: "cnv_8" } },
  },
  {
    since: { sqlite: 9, postgres: 5 },
    until: { sqlite: 11, postgres: 7 },
    rows: { departing: { ...SEAT, until_id: "att_0" } },
    now: { departing: { ...SEAT, until_id: "", after_id: "" } },
  },
  { since: { sqlite: 10, postgres: 6 }, rows: { deleted_webhooks: { id: "whk_0" } } },
  {
    since: { sqlite: 11, postgres: 7 },
    rows: {
      conversations: { id: "cnv_1", last_id: "msg_1" },
      messages: { ...MESSAGE, type: "text", body_id: 1, has_files: 1, mentions: "usr_1", version: 4 },
      message_bodies: { id: 1, text: "é", data: "{}" },
      withheld: { ...SEAT, from_id: "msg_2", to_id: "msg_3" },
      places: { ...SEAT, position: "1", maybe_unread: 1, is_pinned: 1, is_archived: 1 },
      marks: { ...SEAT, last_read_id: "msg_1", disclosed_read_id: "msg_0", muted_until: 5, version: 2 },
      blocks: { owner_id: "usr_1", username_key: "eve", username: "Eve", created_at: 3 },
      departing: { ...SEAT, until_id: "msg_0", after_id: "msg" },
      joining: { ...SEAT, before_message_id: "msg_3", before_id: "att_3" },
    },
  },
  {
    since: { sqlite: 12, postgres: 8 },
    rows: {
      groups: {
        ...{ id: "grp_1", conversation_id: "cnv_7", name: "N", description: null, avatar_url: null },
        ...{ history: "all", created_at: 1, version: 2 },
      },
      invitations: {
        ...{ group_id: "grp_1", member_id: "mem_1", inviter_id: "usr_1", username_key: "eve" },
        ...{ username: "Eve", created_at: 1, declined_at: 2 },
      },
      preparing: { ...SEAT, blocks: "b", after_id: "msg_1" },
    },
  },
  {
    since: { sqlite: 13, postgres: 9 },
    rows: { reactions: { message_id: "msg_1", place: 0, nth: 1, emoji: "👍", user_id: "usr_1" } },
  },
  {
    since: { sqlite: 14, postgres: 10 },
    rows: { unindexed: { body_id: 1 }, reindexing: { after_id: 1 }, word_rule: { rule: "r" } },
  },
  { since: { sqlite: NEVER, postgres: 10 }, rows: { indexed_words: { word: "w", body_id: 1 } } },
  { since: { sqlite: 15, postgres: 11 }, rows: { push_keys: { id: 1, private_key: "k" } } },
  {
    since: { sqlite: 18, postgres: 14 },
    rows: {
      uploads: {
        ...{ id: "upl_1", user_id: "usr_1", filename: "ä", declared_type: null, conversation_id: null },
        ...{ message_id: null, length: 9, received: 4, blob_key: "upload", parts: "[]", tail_key: "tail" },
        ...{ holder: "h", attachment_id: null, created_at: 1, expires_at: 2 },
      },
    },
  },
  { since: { sqlite: 20, postgres: 18 }, rows: { name_rule: { rule: "r" } } },
  {
    since: { sqlite: 22, postgres: 20 },
    rows: {
      avatars: {
        ...{ user_id: "usr_1", id: "key", file_type: "image/png", file_size: 5, sha256: bytes(1) },
        ...{ crc32: 7, blob_key: "avatar", width: 2, height: 3, created_at: 1 },
      },
      profile_changes: { user_id: "usr_1", after_id: "usr_0" },
    },
  },
  {
    since: { sqlite: 23, postgres: 21 },
    rows: {
      client_ids: {
        ...{ user_id: "usr_1", client_id: "a", fingerprint: bytes(4), conversation_id: "cnv_1" },
        ...{ message_id: "msg_1", until: null },
      },
    },
  },
];

/** Tables that migrations or the engine fill, and `moves`, which marks an incomplete database. */
const WITHOUT_DATA =
  /^(moves|revocations|event_positions|message_index\w*|sqlite_sequence|schema_version|incarnation_\d+)$/;

/** Tables that have the one row, and no other that a migration may have added. */
const ONCE = /^(users|tokens|contacts|members|attachments|grants|small_files|tombstones)$/;

const TABLES = {
  sqlite: sql<{ name: string }>`SELECT name FROM sqlite_schema WHERE type = 'table'`,
  postgres: sql<{ name: string }>`SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'`,
};
const SCHEMA_VERSION = {
  sqlite: sql`SELECT user_version AS version FROM pragma_user_version`,
  postgres: sql`SELECT version FROM schema_version`,
};

for (const [engine, openNew] of Object.entries(ENGINES) as [Engine, typeof openOnSqlite][]) {
  for (const version of versionsOf(engine)) {
    test(`${engine}: a database of schema version ${version} is migrated with all its data`, async (t) => {
      const data = DATA.filter(
        ({ since, until }) => since[engine] <= version && version < (until?.[engine] ?? NEVER),
      );
      const db = await openOld(
        t,
        engine,
        version,
        data.flatMap(({ rows }) => Object.entries(rows)),
      );
      for (const [table, row] of data.flatMap(({ rows, now }) => Object.entries(now ?? rows))) {
        const found = await db.all(sql`SELECT ${raw(Object.keys(row).join(", "))} FROM ${raw(table)}`);
        const isKept = found.some((each) => isDeepStrictEqual({ ...plain(each as Row) }, row));
        assert.ok(isKept, `${table}: ${JSON.stringify(found)}`);
        if (ONCE.test(table)) assert.equal(found.length, 1, table);
      }
      const current = await db.get<{ version: number }>(SCHEMA_VERSION[engine] as never);
      assert.deepEqual({ ...current }, { version: versionsOf(engine).length });
    });
  }

  test(`${engine}: migration tests have data for every table`, async (t) => {
    const db = await openNew(t);
    const tables = (await db.all(TABLES[engine])).map(({ name }) => name);
    const filled = new Set(DATA.flatMap(({ rows }) => Object.keys(rows)));
    assert.deepEqual(
      tables.filter((name) => !filled.has(name) && !WITHOUT_DATA.test(name)),
      [],
    );
  });

  test(`${engine}: a new database and one from the first schema have the same schema`, async (t) => {
    const [upgraded, fresh] = [await openOld(t, engine, 1, []), await openNew(t)];
    assert.deepEqual(await upgraded.get(SCHEMA_VERSION[engine]), await fresh.get(SCHEMA_VERSION[engine]));
    assert.deepEqual(await describeSchema[engine](upgraded), await describeSchema[engine](fresh));
    for (const { name } of await fresh.all(TABLES[engine])) {
      const rows = sql`SELECT * FROM ${raw(name)}`;
      if (!/^(message_index(_data|_idx)?|incarnation_\d+)$/.test(name))
        assert.deepEqual(await upgraded.all(rows), await fresh.all(rows), name);
    }
  });
}

/** PostgreSQL returns bytes as buffers. */
const plain = (row: Row): Row =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      value instanceof Uint8Array ? new Uint8Array(value) : value,
    ]),
  );

/** Returns tables, columns, indexes, constraints, triggers and views. Those of one table are in order of creation. */
const describeSchema: Record<Engine, (db: Database) => Promise<string[]>> = {
  async sqlite(db) {
    const rows = await db.all<{ name: string; sql: string | null }>(
      sql`SELECT name, sql FROM sqlite_schema ORDER BY tbl_name, rowid`,
    );
    // Removes comments, line breaks and the quotes of renamed tables, so that equal schemas have equal text.
    const tidy = (text: string) =>
      text
        .replaceAll(/--.*$/gm, "")
        .replaceAll(/\s+/g, " ")
        .replaceAll(/ ?([(),]) ?/g, "$1")
        .replace(/^CREATE TABLE "(\w+)"/, "CREATE TABLE $1");
    return rows.map(({ name, sql }) => `${name}: ${tidy(sql ?? "")}`);
  },
  async postgres(db) {
    const rows = await db.all<{ line: string }>(sql`SELECT line FROM (
      SELECT concat_ws(' ', 'relation', relname, relkind, relpersistence) FROM pg_class
        WHERE relnamespace = 'public'::regnamespace
      UNION ALL
      SELECT concat_ws(' ', 'column', c.relname, row_number() OVER (PARTITION BY c.oid ORDER BY a.attnum), a.attname,
          format_type(a.atttypid, a.atttypmod), o.collname, a.attnotnull, a.attidentity, pg_get_expr(d.adbin, d.adrelid))
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        LEFT JOIN pg_collation o ON o.oid = a.attcollation
        LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
        WHERE c.relnamespace = 'public'::regnamespace
      UNION ALL
      SELECT concat_ws(' ', 'index', row_number() OVER (PARTITION BY i.indrelid ORDER BY c.oid), pg_get_indexdef(c.oid))
        FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE c.relnamespace = 'public'::regnamespace
      UNION ALL
      -- Columns say which of them are NOT NULL. The names of those constraints have the name that their table once had.
      SELECT concat_ws(' ', 'constraint', conrelid::regclass, conname, pg_get_constraintdef(oid)) FROM pg_constraint
        WHERE connamespace = 'public'::regnamespace AND contype <> 'n'
      UNION ALL SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
      UNION ALL SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
      UNION ALL SELECT concat_ws(' ', 'view', viewname, definition) FROM pg_views WHERE schemaname = 'public'
      UNION ALL SELECT concat_ws(' ', 'sequence', sequencename, data_type, start_value, increment_by, cycle)
        FROM pg_sequences WHERE schemaname = 'public'
    ) AS found (line) ORDER BY line`);
    return rows.map(({ line }) => line);
  },
};

test("sqlite: a migration that fails leaves the database unchanged", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "parley-migrations-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, "parley.db");
  const db = new DatabaseSync(path);
  db.exec("CREATE TABLE grants (mine TEXT); INSERT INTO grants VALUES ('kept')");
  db.close();
  assert.throws(() => openSqlite(path, createFuse(assert.ifError)), /grants already exists/);
  const again = new DatabaseSync(path);
  const tables = again.prepare("SELECT name FROM sqlite_schema").all();
  assert.deepEqual(
    tables.map(({ name }) => name),
    ["grants"],
  );
  assert.equal(again.prepare("SELECT mine FROM grants").get()!.mine, "kept");
  again.close();
});

test("postgres: a migration that fails leaves the database unchanged", async (t) => {
  const url = await emptyDatabase(t);
  await administer(url, "CREATE TABLE grants AS SELECT 'kept' AS mine");
  await assert.rejects(openPostgres(url), /PARLEY_DATABASE_URL.*"grants" already exists/);
  assert.deepEqual(await administer(url, "SELECT relname FROM pg_stat_user_tables"), ["grants"]);
  assert.deepEqual(await administer(url, "SELECT mine FROM grants"), ["kept"]);
});

test("postgres: nodes that start at once create the schema once, at any default isolation level", async (t) => {
  const url = await emptyDatabase(t);
  const name = new URL(url).pathname.slice(1);
  await administer(url, `ALTER DATABASE ${name} SET default_transaction_isolation = 'repeatable read'`);
  for (const db of await Promise.all(Array.from({ length: 6 }, () => openPostgres(url)))) await db.close();
  assert.deepEqual(await administer(url, "SELECT version FROM schema_version"), [VERSION]);
  assert.deepEqual(await administer(url, "SELECT count FROM revocations"), ["0"]);
});

test("postgres: a command never migrates an older schema, and says what to do", async (t) => {
  const url = await emptyDatabase(t);
  await assert.rejects(openPostgres(url, requireCurrentPostgres), /There is no Parley in this database/);
  assert.deepEqual(await administer(url, "SELECT relname FROM pg_stat_user_tables"), []);
  const old = await emptyDatabase(t);
  await makeOldPostgres(old, 1, []);
  await assert.rejects(openPostgres(old, requireCurrentPostgres), /schema version 1\b/);
  assert.deepEqual(await administer(old, "SELECT version FROM schema_version"), [1]);
  await (await openPostgres(url)).close();
  await (await openPostgres(url, requireCurrentPostgres)).close();
  await administer(url, "UPDATE schema_version SET version = 9999, oldest = 9999");
  await assert.rejects(openPostgres(url, requireCurrentPostgres), /schema version 9999/);
});
