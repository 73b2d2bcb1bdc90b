import { setTimeout as sleep } from "node:timers/promises";
import type { ClientBase } from "pg";
import { OperatorError } from "../../../errors.ts";
import { pendingMigrations, readMigrations, refuseNewer, requireCurrent } from "../../migrations.ts";
import { isConflict, isLockTimeout } from "./errors.ts";

const MIGRATIONS = readMigrations("src/db/engines/postgres/migrations/");
/** The version that the first migration creates, and the steps from earlier schemas to it. */
const BASE = { version: 19, steps: "src/db/engines/postgres/before-0.1.0.sql" };
const newestOf = (migrations: readonly string[]) => BASE.version + migrations.length - 1;
/** The schema version of this release. */
export const VERSION = newestOf(MIGRATIONS);
/** A migration without this line stops all nodes of earlier releases. */
const OLDEST = /^-- Oldest version beside it: (\d+)$/m;

/** Stands for releases up to version 16. Their table has no number, and they do not notice a newer schema while they run. */
const UNGUARDED = 0;

/** The advisory lock for migrations: a number that nothing else uses. */
const LOCK = 7_270_535_921;
/** How long to wait for a table. Requests of other nodes queue meanwhile, so it is shorter than their own timeouts. */
const LOCK_TIMEOUT_MS = 2000;
const MAX_TRIES = 20;
const RETRY_MS = 1000;
/** How often to check whether stopped processes have left the database. */
const LEAVE_TRIES = 30;
const LEAVE_POLL_MS = 100;

/** The first table that every write of a release reads (see `bringForward`). */
export const incarnationOf = (version: number) => `incarnation_${version}`;

/**
 * Runs the pending migrations in one transaction, one process at a time. Throws if the database is newer than this code
 * supports, or if older nodes use it that would not notice the new schema and must not run on it.
 */
export async function migratePostgres(client: ClientBase, migrations = MIGRATIONS): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await migrateOnce(client, migrations);
    } catch (error) {
      if (!isConflict(error) && !isLockTimeout(error)) throw error;
      if (tries === MAX_TRIES) {
        throw new OperatorError(
          `The database cannot be migrated while others lock its tables: ${(error as Error).message}. ` +
            "End long transactions, such as pg_dump, and start again.",
          { cause: error },
        );
      }
    }
    await sleep(RETRY_MS);
  }
}

async function migrateOnce(client: ClientBase, migrations: readonly string[]): Promise<void> {
  // Override the database's default: commits of another node during the wait must be visible.
  await client.query("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE");
  try {
    await client.query("SELECT pg_advisory_xact_lock($1)", [LOCK]);
    await client.query(
      "CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL, oldest INTEGER)",
    );
    const { version, oldest } = await storedSchema(client);
    const newest = newestOf(migrations);
    refuseNewer(version, newest, oldest);
    if (version < newest) await bringForward(client, migrations, version);
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK").catch(() => {});
    throw error;
  }
}

/**
 * Replaces the tables that writes of each release read. A write first reads the table of its release, `incarnation_N`, and so locks
 * it until its commit. The exclusive lock here waits for running writes and blocks new ones. If the table of a release is dropped,
 * that release can no longer write, so that no node can miss the migration.
 */
async function bringForward(
  client: ClientBase,
  migrations: readonly string[],
  version: number,
): Promise<void> {
  const newest = newestOf(migrations);
  const oldest = oldestBeside(migrations);
  const before = await incarnations(client);
  if (before.some(({ release }) => release === UNGUARDED)) await awaitUnguarded(client, newest);
  await client.query(`SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`);
  const tables = before.map(({ table }) => table).join(", ");
  if (tables !== "") await client.query(`LOCK TABLE ${tables} IN ACCESS EXCLUSIVE MODE`);
  for (const migration of pendingMigrations(version, migrations, BASE)) await client.query(migration);
  for (const { table, release } of before) if (release < oldest) await client.query(`DROP TABLE ${table}`);
  for (let release = Math.max(version + 1, oldest); release <= newest; release++) {
    // Unlogged, so that crash recovery empties it: PostgreSQL may then reuse the ids of transactions that were not durable.
    await client.query(
      `CREATE UNLOGGED TABLE ${incarnationOf(release)} (one BOOLEAN NOT NULL PRIMARY KEY CHECK (one),
        id TEXT COLLATE "C" NOT NULL)`,
    );
  }
  await client.query("DELETE FROM schema_version");
  await client.query("INSERT INTO schema_version (version, oldest) VALUES ($1, $2)", [newest, oldest]);
}

/** Returns the oldest schema version whose nodes may run beside the newest. */
function oldestBeside(migrations: readonly string[]): number {
  return Math.max(...migrations.map((text, i) => Number(OLDEST.exec(text)?.[1] ?? BASE.version + i)));
}

/** Finds the tables that `bringForward` locks, and the version of the release whose writes read each. */
async function incarnations(client: ClientBase): Promise<{ table: string; release: number }[]> {
  const { rows } = await client.query(
    `SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'
      AND relname ~ '^incarnation(_[0-9]+)?$' ORDER BY relname`,
  );
  return rows.map(({ relname }) => ({
    table: relname,
    release: Number(relname.split("_")[1] ?? UNGUARDED),
  }));
}

/** Selects processes that hold the lock of all users of a database, but not the one that states their release. */
const UNGUARDED_USERS = `SELECT COALESCE(host(a.client_addr), 'this machine') || ' (process ' || l.pid || ' of PostgreSQL)' AS who
  FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid
  WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.objid = hashtext('parley')::oid AND l.granted
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND NOT EXISTS (SELECT 1 FROM pg_locks r WHERE r.pid = l.pid AND r.locktype = 'advisory' AND r.objsubid = 2
      AND r.classid = hashtext('parley')::oid)`;

/** Waits for the end of nodes that would keep running after the migration. Throws if they stay. */
async function awaitUnguarded(client: ClientBase, newest: number): Promise<void> {
  for (let tries = 1; ; tries++) {
    const { rows } = await client.query<{ who: string }>(UNGUARDED_USERS);
    if (rows.length === 0) return;
    if (tries === LEAVE_TRIES) {
      throw new OperatorError(
        `Servers or commands of an older Parley use this database and cannot run on schema version ${newest}: ` +
          `${rows.map(({ who }) => who).join(", ")}. Stop them all, then start this one again.`,
      );
    }
    await sleep(LEAVE_POLL_MS);
  }
}

/** Throws if the schema is not current. For commands, which may run beside an older server: only a server start migrates. */
export async function requireCurrentPostgres(client: ClientBase): Promise<void> {
  const { rows } = await client.query("SELECT to_regclass('schema_version') AS found");
  const { version, oldest } = rows[0].found === null ? NO_SCHEMA : await storedSchema(client);
  if (version === 0) {
    throw new OperatorError("There is no Parley in this database. Start the server on it once.");
  }
  requireCurrent(version, VERSION, "Back the database up", oldest);
}

interface StoredSchema {
  version: number;
  /** The oldest version whose nodes may run on it. */
  oldest: number;
}

const NO_SCHEMA: StoredSchema = { version: 0, oldest: 0 };

async function storedSchema(client: ClientBase): Promise<StoredSchema> {
  // Select all columns, because earlier versions have no `oldest`.
  const { rows } = await client.query("SELECT * FROM schema_version");
  const [row] = rows;
  return row ? { version: row.version, oldest: row.oldest ?? row.version } : NO_SCHEMA;
}
