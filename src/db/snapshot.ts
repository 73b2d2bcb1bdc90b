import { backup, DatabaseSync } from "node:sqlite";
import { OperatorError } from "../errors.ts";
import { requireKnownSchema } from "./migrate.ts";
import type { Reader, Value } from "./sql.ts";

/** How long a statement waits for a server that opens or closes the database. */
const BUSY_TIMEOUT_MS = 5000;
/** More than a database can have: all of it in one step, so that writes beside it do not make the copy start anew. */
const ALL_PAGES = 0x7fff_ffff;

/**
 * Runs work on a database that is read as it is: also one of an older schema, on a disk that cannot be written, or
 * beside a running server. Throws `OperatorError` where it is no database of Parley's, or one of a newer Parley.
 */
export async function withReadOnly<T>(path: string, work: (db: Reader) => Promise<T>): Promise<T> {
  const db = connect(path);
  try {
    requireKnownSchema(db);
    return await work({
      all: async <R>(sql: string, ...params: Value[]) => db.prepare(sql).all(...params) as R[],
      get: async <R>(sql: string, ...params: Value[]) => db.prepare(sql).get(...params) as R | undefined,
    });
  } catch (error) {
    throw isEngineError(error) ? unusable(path, error) : error;
  } finally {
    db.close();
  }
}

/** Copies the last committed state, also beside a server, to a file of its own without a log. It is not synced. */
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
  // With a log a database cannot be opened where nothing may be written.
  withDatabase(to, "PRAGMA journal_mode = DELETE");
}

/** Drops what only has a meaning beside the store that it was copied from. */
export function dropPassing(path: string): void {
  withDatabase(path, "DELETE FROM holds; DELETE FROM tombstones");
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
