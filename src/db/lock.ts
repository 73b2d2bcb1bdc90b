import { DatabaseSync } from "node:sqlite";
import { OperatorError } from "../errors.ts";

// https://sqlite.org/rescode.html
const SQLITE_BUSY = 5;

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
