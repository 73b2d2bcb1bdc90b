import { readdirSync, readFileSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { OperatorError } from "../errors.ts";

const FOLDER = new URL("./migrations/sqlite/", import.meta.url);

/**
 * Runs the migrations (files `NNNN-name.sql`, in order) that the database has not had, all in one transaction with
 * the version that they bring, kept as `user_version`. Throws where the database is newer than this code.
 */
export function migrate(db: DatabaseSync): void {
  const files = migrations();
  const newest = files.length;
  if (version(db) === newest) return;
  // Two processes may open a new database at once: the version is read again under the lock.
  db.exec("BEGIN EXCLUSIVE");
  try {
    const current = version(db);
    refuseNewer(current, newest);
    for (const file of files.slice(current)) db.exec(readFileSync(new URL(file, FOLDER), "utf8"));
    db.exec(`PRAGMA user_version = ${newest}; COMMIT`);
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}

/** For commands beside a server, which may be of an older version: only a start brings a schema forward. */
export function requireCurrentSchema(db: DatabaseSync): void {
  const newest = migrations().length;
  const current = version(db);
  refuseNewer(current, newest);
  if (current === newest) return;
  throw new OperatorError(
    `The database has schema version ${current}, and this command needs ${newest}. Stop the server, copy its data ` +
      "folder (cp -a), and start this Parley on it once: that brings it forward. Or use the Parley that it is of.",
  );
}

/** Throws where the database is not Parley's, or newer than this code. An older one may be read. */
export function requireKnownSchema(db: DatabaseSync): void {
  const current = version(db);
  if (current === 0) throw new OperatorError(`${db.location()} is no database of Parley's.`);
  refuseNewer(current, migrations().length);
}

function migrations(): string[] {
  return readdirSync(FOLDER)
    .filter((name) => name.endsWith(".sql"))
    .sort();
}

function refuseNewer(current: number, newest: number): void {
  if (current <= newest) return;
  throw new OperatorError(
    `The database has schema version ${current}, and this Parley knows versions up to ${newest}. ` +
      "Start the newer Parley that last ran on it.",
  );
}

function version(db: DatabaseSync): number {
  return (db.prepare("PRAGMA user_version").get() as { user_version: number }).user_version;
}
