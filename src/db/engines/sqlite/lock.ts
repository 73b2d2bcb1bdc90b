import { DatabaseSync } from "node:sqlite";
import { OperatorError } from "../../../errors.ts";

// https://sqlite.org/rescode.html
const SQLITE_BUSY = 5;
/** How long to wait for a running command. */
const HOLD_TIMEOUT_MS = 5000;

/**
 * Keeps other processes from writing to a SQLite database until it is released. They may read. Throws if another process is
 * writing.
 */
export function holdWrites(path: string): { release(): void } {
  const db = new DatabaseSync(path, { timeout: HOLD_TIMEOUT_MS });
  try {
    db.exec("BEGIN IMMEDIATE");
  } catch (error) {
    db.close();
    throw new OperatorError(`${path} is written to by another command. Let it end first.`, { cause: error });
  }
  return { release: () => db.close() };
}

/** Locks a data folder, or throws. It is SQLite's file lock, so the kernel releases it however the process ends. */
export function lockFolder(path: string): { release(): void } {
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(path);
    db.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    db?.close();
    const reason =
      (error as { errcode?: number }).errcode === SQLITE_BUSY
        ? `Another Parley serves this data folder: ${path} is locked. Stop it, or set PARLEY_DATA.`
        : `${path} cannot be locked: ${(error as Error).message}.`;
    throw new OperatorError(reason, { cause: error });
  }
  const lock = db;
  return { release: () => lock.close() };
}
