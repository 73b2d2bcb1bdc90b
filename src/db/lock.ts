import { DatabaseSync } from "node:sqlite";
import { OperatorError } from "../errors.ts";

// https://sqlite.org/rescode.html
const SQLITE_BUSY = 5;
/** How long a command that is at work is waited for. */
const HOLD_TIMEOUT_MS = 5000;

/** Keeps everybody from writing to a SQLite database until it is released; they may read. Throws where one is at it. */
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

/**
 * Takes the lock of a data folder, or throws. It is SQLite's own file lock, so the kernel drops it with the
 * process, however that ends.
 */
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
