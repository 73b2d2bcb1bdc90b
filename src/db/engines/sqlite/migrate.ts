import type { DatabaseSync } from "node:sqlite";
import { OperatorError } from "../../../errors.ts";
import { pendingMigrations, readMigrations, refuseNewer, requireCurrent } from "../../migrations.ts";

const MIGRATIONS = readMigrations("src/db/engines/sqlite/migrations/");
/** The version that the first migration creates, and the steps from earlier schemas to it. */
const BASE = { version: 21, steps: "src/db/engines/sqlite/before-0.1.0.sql" };
const VERSION = BASE.version + MIGRATIONS.length - 1;

/**
 * Runs the pending migrations in one transaction with the new version, which is stored as `user_version`. Throws if the
 * database is newer than this code.
 */
export function migrate(db: DatabaseSync): void {
  // The log of a process that crashed contains deleted data.
  db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  if (versionOf(db) === VERSION) return;
  // Two processes may open a new database at once, so read the version again under the lock.
  db.exec("BEGIN EXCLUSIVE");
  try {
    const current = versionOf(db);
    refuseNewer(current, VERSION);
    for (const migration of pendingMigrations(current, MIGRATIONS, BASE)) db.exec(migration);
    db.exec(`PRAGMA user_version = ${VERSION}; COMMIT`);
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}

/** Throws if the schema is not current. For commands, which may run beside an older server: only a server start migrates. */
export function requireCurrentSchema(db: DatabaseSync): void {
  requireCurrent(versionOf(db), VERSION, "Stop the server, copy its data folder (cp -a)");
}

/** Throws if the database is not Parley's, or is newer than this code. An older one may be read. */
export function requireKnownSchema(db: DatabaseSync): void {
  const current = versionOf(db);
  if (current === 0) throw new OperatorError(`${db.location()} is not a Parley database.`);
  refuseNewer(current, VERSION);
}

function versionOf(db: DatabaseSync): number {
  return (db.prepare("PRAGMA user_version").get() as { user_version: number }).user_version;
}
