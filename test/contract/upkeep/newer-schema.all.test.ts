// PostgreSQL nodes while a newer release migrates their database. The newer release is this one with one more
// migration.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import pg from "pg";
import { type Database, NO_CALLBACKS } from "../../../src/db/database.ts";
import {
  migratePostgres,
  requireCurrentPostgres,
  VERSION,
} from "../../../src/db/engines/postgres/migrate.ts";
import { openPostgres } from "../../../src/db/engines/postgres/postgres.ts";
import { readMigrations } from "../../../src/db/migrations.ts";
import { sql } from "../../../src/db/sql.ts";
import { ParleyError } from "../../../src/errors.ts";
import { administer, emptyDatabase, LOCKS, testDatabase } from "../../support/engines/postgres.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { makeOldPostgres, UNGUARDED } from "../../support/old-databases.ts";
import { addUser, aUser, contact } from "../../support/rows.ts";

const MIGRATIONS = readMigrations("src/db/engines/postgres/migrations/");

const BREAKING = "ALTER TABLE contacts RENAME COLUMN body TO json";
const ADDITIVE = `-- Oldest version beside it: ${VERSION}\nCREATE TABLE more (id TEXT)`;

async function connect(t: TestContext, url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  // The database is dropped before this client ends.
  client.on("error", () => {});
  await client.connect();
  t.after(() => client.end());
  return client;
}

/** Starts the newer release. Resolves once its schema is committed. */
async function upgrade(t: TestContext, url: string, migration: string): Promise<void> {
  return migratePostgres(await connect(t, url), [...MIGRATIONS, migration]);
}

async function openNode(t: TestContext, url: string): Promise<Database> {
  const db = await openPostgres(url);
  t.after(() => db.close());
  await addUser(db, "a");
  return db;
}

const isUnavailable = (error: unknown) => error instanceof ParleyError && error.code === "unavailable";

/** Returns the process ids that wait for the first client's lock. */
const waitingFor = (url: string, table: string) =>
  administer(url, `SELECT pid FROM pg_locks WHERE NOT granted AND relation = '${table}'::regclass`);

/** A single write and a bulk write. */
const WRITES = {
  single: (db: Database) => db.write("createUser", aUser("b")),
  bulk: (db: Database) => db.write("createContact", contact("a", 1)),
};

test("a node serves nothing after an incompatible migration, and reports it once", async (t) => {
  const url = await testDatabase(t);
  const told: number[] = [];
  const callbacks = { ...NO_CALLBACKS, onOutdated: (version: number) => void told.push(version) };
  const db = await openPostgres(url, undefined, false, callbacks);
  t.after(() => db.close());
  await addUser(db, "a");
  assert.ok(await db.claim("eraser"));
  await upgrade(t, url, BREAKING);
  assert.ok(await eventually(async () => told.length > 0));
  for (const asked of [WRITES.single(db), WRITES.bulk(db), db.all(sql`SELECT id FROM users`)])
    await assert.rejects(asked, /A newer release has migrated the database/);
  assert.equal(db.revocations(), null, "it trusts no token from memory");
  assert.equal(await db.claim("eraser"), false);
  const held = `SELECT pid ${LOCKS} AND mode = 'ExclusiveLock'`;
  assert.ok(await eventually(async () => (await administer(url, held)).length === 0), "it leaves its work");
  assert.ok(await eventually(async () => (await administer(url, `SELECT pid ${LOCKS}`)).length > 0));
  assert.deepEqual(told, [VERSION + 1]);
  for (const migrate of [undefined, requireCurrentPostgres]) {
    // If opening succeeds, the database must be closed, or the test would not end.
    const opened = openPostgres(url, migrate).then((each) => each.close());
    await assert.rejects(opened, new RegExp(`schema version ${VERSION + 1}`));
  }
});

for (const [kind, write] of Object.entries(WRITES)) {
  test(`a ${kind} write that waits for the migration is refused afterwards, and may be retried`, async (t) => {
    const url = await testDatabase(t);
    const db = await openNode(t, url);
    // Writes on every connection, so that each one is prepared before the migration.
    await Promise.all(Array.from({ length: 9 }, (_, i) => db.write("createUser", aUser(`user ${i}`))));
    const gate = await connect(t, url);
    await gate.query("SELECT pg_advisory_lock(1)");
    const slow =
      "SET LOCAL lock_timeout = 0; SELECT pg_advisory_lock(1); ALTER TABLE contacts ADD COLUMN more TEXT";
    const upgraded = upgrade(t, url, slow);
    const isAtGate = async () => (await administer(url, `SELECT 1 ${NOT_GRANTED}`)).length === 1;
    assert.ok(await eventually(isAtGate));
    const refused = assert.rejects(write(db), isUnavailable);
    assert.ok(await eventually(async () => (await waitingFor(url, `incarnation_${VERSION}`)).length > 0));
    await gate.query("SELECT pg_advisory_unlock(1)");
    await upgraded;
    await refused;
    assert.deepEqual(await administer(url, "SELECT id FROM users WHERE id = 'b'"), []);
    assert.deepEqual(await administer(url, "SELECT id FROM contacts"), []);
  });
}

test("a migration waits for a running write, and sees its rows", async (t) => {
  const url = await testDatabase(t);
  const db = await openNode(t, url);
  const blocker = await connect(t, url);
  await blocker.query("BEGIN; LOCK TABLE users IN SHARE MODE");
  const written = WRITES.single(db);
  assert.ok(await eventually(async () => (await waitingFor(url, "users")).length > 0));
  const upgraded = upgrade(t, url, "CREATE TABLE seen AS SELECT id FROM users");
  assert.ok(await eventually(async () => (await waitingFor(url, `incarnation_${VERSION}`)).length > 0));
  await blocker.query("COMMIT");
  await written;
  await upgraded;
  assert.deepEqual((await administer(url, "SELECT id FROM seen")).sort(), ["a", "b"]);
});

const NOT_GRANTED = `FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;

test("after a compatible migration an old node keeps working, and other nodes and commands of its release start", async (t) => {
  const url = await testDatabase(t);
  const db = await openNode(t, url);
  await upgrade(t, url, ADDITIVE);
  await WRITES.single(db);
  await WRITES.bulk(db);
  const other = await openPostgres(url);
  t.after(() => other.close());
  await other.write("createUser", aUser("c"));
  await (await openPostgres(url, requireCurrentPostgres)).close();
  assert.deepEqual(await administer(url, "SELECT version FROM schema_version"), [VERSION + 1]);
  assert.deepEqual(await administer(url, "SELECT oldest FROM schema_version"), [VERSION]);
  // Every release since then has its own table.
  await administer(url, `SELECT id FROM incarnation_${VERSION + 1}`);
});

test("a migration yields to a long transaction, and is retried", async (t) => {
  const url = await testDatabase(t);
  const db = await openNode(t, url);
  const reader = await connect(t, url);
  await reader.query(`BEGIN; SELECT id FROM incarnation_${VERSION}`);
  const upgraded = upgrade(t, url, ADDITIVE);
  const waiting = () => waitingFor(url, `incarnation_${VERSION}`);
  assert.ok(await eventually(async () => (await waiting()).length > 0));
  await WRITES.bulk(db);
  await reader.query("COMMIT");
  await upgraded;
});

/** Creates a database of this version, with a session of a node that does not detect newer schemas. */
async function openUnguarded(t: TestContext, version: number): Promise<{ url: string; session: pg.Client }> {
  const url = await emptyDatabase(t);
  await makeOldPostgres(url, version, []);
  const session = await connect(t, url);
  await session.query("SELECT pg_advisory_lock_shared(hashtext('parley'))");
  await session.query("INSERT INTO incarnation VALUES (true, 'x')");
  return { url, session };
}

// The release with version UNGUARDED + 1 runs beside such nodes, but this release does not.
for (const version of [UNGUARDED, UNGUARDED + 1]) {
  test(`nodes that do not detect newer schemas must stop before schema version ${version} is migrated`, async (t) => {
    const { url, session } = await openUnguarded(t, version);
    const migrate = async () => migratePostgres(await connect(t, url));
    await assert.rejects(
      migrate(),
      /older Parley use this database.*127\.0\.0\.1 \(process \d+ of PostgreSQL\)\. Stop them all/,
    );
    assert.deepEqual(await administer(url, "SELECT version FROM schema_version"), [version]);
    await session.query("SELECT pg_advisory_unlock_all()");
    await migrate();
    // A node that reconnects cannot write, because each of its writes reads this table.
    await assert.rejects(session.query("SELECT id FROM incarnation"), /does not exist/);
  });
}
