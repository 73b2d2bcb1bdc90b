import { backup, DatabaseSync } from "node:sqlite";
import { OperatorError } from "../../../errors.ts";
import type { Reader, Statement } from "../../sql.ts";
import { requireKnownSchema } from "./migrate.ts";

/** How long a statement waits while a server opens or closes the database. */
const BUSY_TIMEOUT_MS = 5000;
/** More pages than a database can have: copies all in one step, so that concurrent writes do not restart the copy. */
const ALL_PAGES = 0x7fff_ffff;

/**
 * Runs work on a read-only database, even with an older schema, on a read-only disk, or while a server runs. Throws
 * `OperatorError` if the database is not Parley's, or is newer than this code.
 */
export async function withReadOnly<T>(path: string, work: (db: Reader) => Promise<T>): Promise<T> {
  const db = connect(path);
  try {
    requireKnownSchema(db);
    addNewTables(db);
    return await work({
      all: async <R>({ sql, params }: Statement<R>) => db.prepare(sql).all(...params) as R[],
      get: async <R>({ sql, params }: Statement<R>) => db.prepare(sql).get(...params) as R | undefined,
    });
  } catch (error) {
    throw isEngineError(error) ? unusable(path, error) : error;
  } finally {
    db.close();
  }
}

/** Adds an empty temporary table for one that older schemas lack, so that reads of the stored files work on all versions. */
function addNewTables(db: DatabaseSync): void {
  if (db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'avatars'").get()) return;
  db.exec("CREATE TEMP TABLE avatars (user_id TEXT, id TEXT, file_size INTEGER, sha256 BLOB, blob_key TEXT)");
}

/** Copies the last committed state to a separate file without a log, even while a server runs. The copy is not synced. */
export async function copyDatabase(from: string, to: string): Promise<void> {
  const source = connect(from);
  try {
    await backup(source, to, { rate: ALL_PAGES });
  } catch (error) {
    throw new OperatorError(`${from} cannot be copied to ${to}: ${(error as Error).message}.`, {
      cause: error,
    });
  } finally {
    source.close();
  }
  // A database in WAL mode cannot be opened on a read-only disk.
  withDatabase(to, "PRAGMA journal_mode = DELETE");
}

/** Deletes rows that refer to the store of the original. */
export function dropPassing(path: string): void {
  withDatabase(
    path,
    "DELETE FROM holds; DELETE FROM tombstones; DELETE FROM uploads; DELETE FROM reservations",
  );
}

function withDatabase(path: string, sql: string): void {
  const db = new DatabaseSync(path);
  try {
    db.exec(sql);
  } catch (error) {
    throw unusable(path, error);
  } finally {
    db.close();
  }
}

function connect(path: string): DatabaseSync {
  try {
    return new DatabaseSync(path, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
  } catch (error) {
    throw unusable(path, error);
  }
}

function isEngineError(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "ERR_SQLITE_ERROR";
}

function unusable(path: string, error: unknown): OperatorError {
  return new OperatorError(`${path} cannot be used as a database: ${(error as Error).message}.`, {
    cause: error,
  });
}
