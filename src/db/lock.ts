import { DatabaseSync } from "node:sqlite";
import { OperatorError } from "../errors.ts";

// https://sqlite.org/rescode.html
const SQLITE_BUSY = 5;

/**
 * Takes the lock of a data folder, or throws. It is SQLite's own file lock, so the kernel drops it with the
 * process, however that ends.
 */
export function lockFolder(path: string): { release(): void } {
  const db = new DatabaseSync(path);
  try {
    db.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    db.close();
    if (((error as { errcode?: number }).errcode ?? 0) !== SQLITE_BUSY) {
      throw new OperatorError(`${path} cannot be locked: ${(error as Error).message}.`, { cause: error });
    }
    throw new OperatorError(
      `Another Parley serves this data folder: ${path} is locked. Stop it, or set PARLEY_DATA.`,
      {
        cause: error,
      },
    );
  }
  return { release: () => db.close() };
}
