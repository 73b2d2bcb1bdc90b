import type { ClientBase } from "pg";
import { OperatorError } from "../../../errors.ts";
import { readMigrations, refuseNewer, requireCurrent } from "../../migrations.ts";

const FOLDER = new URL("./migrations/", import.meta.url);
/** The advisory lock for migrations; any number that nothing else uses. */
const LOCK = 7_270_535_921;

/**
 * Runs the pending migrations in one transaction, one process at a time. Throws if the database is newer than this
 * code.
 */
export async function migratePostgres(client: ClientBase): Promise<void> {
  const migrations = readMigrations(FOLDER);
  // Overrides the database's default: commits of another node during the wait must be visible.
  await client.query("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE");
  try {
    await client.query("SELECT pg_advisory_xact_lock($1)", [LOCK]);
    await client.query("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)");
    const current = await version(client);
    refuseNewer(current, migrations.length);
    for (const migration of migrations.slice(current)) await client.query(migration);
    await client.query("DELETE FROM schema_version");
    await client.query("INSERT INTO schema_version (version) VALUES ($1)", [migrations.length]);
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK").catch(() => {});
    throw error;
  }
}

/** For commands beside a server that may be older: only a server start migrates a schema. */
export async function requireCurrentPostgres(client: ClientBase): Promise<void> {
  const { rows } = await client.query("SELECT to_regclass('schema_version') AS found");
  const current = rows[0].found === null ? 0 : await version(client);
  if (current === 0) {
    throw new OperatorError("There is no Parley in this database. Start the server on it once.");
  }
  requireCurrent(current, readMigrations(FOLDER).length, "Back the database up");
}

async function version(client: ClientBase): Promise<number> {
  const { rows } = await client.query("SELECT version FROM schema_version");
  return rows[0]?.version ?? 0;
}
