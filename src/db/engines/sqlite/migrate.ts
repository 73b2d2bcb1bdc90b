import type { DatabaseSync } from "node:sqlite";
import { OperatorError } from "../../../errors.ts";
import { readMigrations, refuseNewer, requireCurrent } from "../../migrations.ts";

const FOLDER = new URL("./migrations/", import.meta.url);

/**
 * Runs the pending migrations in one transaction with the new version, which is stored as `user_version`. Throws if the
 * database is newer than this code.
 */
export function migrate(db: DatabaseSync): void {
  // The log of a process that crashed contains deleted data.
  db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  const migrations = readMigrations(FOLDER);
  const newest = migrations.length;
  if (version(db) === newest) return;
  // Two processes may open a new database at once: the version is read again under the lock.
  db.exec("BEGIN EXCLUSIVE");
  try {
    const current = version(db);
    refuseNewer(current, newest);
    for (const migration of migrations.slice(current)) db.exec(migration);
    db.exec(`PRAGMA user_version = ${newest}; COMMIT`);
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}

/** For commands beside a server that may be older: only a server start migrates a schema. */
export function requireCurrentSchema(db: DatabaseSync): void {
  requireCurrent(version(db), readMigrations(FOLDER).length, "Stop the server, copy its data folder (cp -a)");
}

/** Throws if the database is not Parley's, or is newer than this code. An older one may be read. */
export function requireKnownSchema(db: DatabaseSync): void {
  const current = version(db);
  if (current === 0) throw new OperatorError(`${db.location()} is not a Parley database.`);
  refuseNewer(current, readMigrations(FOLDER).length);
}

function version(db: DatabaseSync): number {
  return (db.prepare("PRAGMA user_version").get() as { user_version: number }).user_version;
}
