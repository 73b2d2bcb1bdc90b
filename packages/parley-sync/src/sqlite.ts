import { DatabaseSync } from "node:sqlite";
import type { Store } from "./store.ts";

interface Row {
  key: string;
  json: string | null;
  bytes: Uint8Array<ArrayBuffer> | null;
  type: string | null;
}

/**
 * Keeps entries in an SQLite database at this path, by Node's own module. Throws an error with the `errcode` 5 (SQLITE_BUSY) as long
 * as another store has the file open, in any process.
 */
export function sqliteStore(path: string): Store {
  const database = new DatabaseSync(path);
  try {
    // The lock is taken by the first access, and released by the system when the process ends.
    database.exec(`PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = EXTRA;
      PRAGMA secure_delete = ON;
      CREATE TABLE IF NOT EXISTS entries (key TEXT PRIMARY KEY, json TEXT, bytes BLOB, type TEXT) WITHOUT ROWID`);
  } catch (error) {
    database.close();
    throw error;
  }
  const get = database.prepare("SELECT * FROM entries WHERE key = ?");
  const scan = database.prepare("SELECT * FROM entries WHERE key >= ? AND key < ?");
  const put = database.prepare("INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?)");
  const remove = database.prepare("DELETE FROM entries WHERE key = ?");
  return {
    async get(key) {
      const row = get.get(key) as unknown as Row | undefined;
      return row && toValue(row);
    },
    scan: async (prefix) =>
      (scan.all(prefix, `${prefix}\u{10ffff}`) as unknown as Row[]).map(
        (row) => [row.key, toValue(row)] as const,
      ),
    async write(batch) {
      const rows = await Promise.all(
        [...batch].map(async ([key, value]) => {
          if (!(value instanceof Blob))
            return { key, json: value && JSON.stringify(value), bytes: null, type: null };
          return { key, json: null, bytes: new Uint8Array(await value.arrayBuffer()), type: value.type };
        }),
      );
      database.exec("BEGIN IMMEDIATE");
      try {
        for (const { key, json, bytes, type } of rows) {
          if (json === null && bytes === null) remove.run(key);
          else put.run(key, json, bytes, type);
        }
        database.exec("COMMIT");
      } catch (error) {
        database.exec("ROLLBACK");
        throw error;
      }
    },
    async erase() {
      database.exec("DELETE FROM entries; PRAGMA wal_checkpoint(TRUNCATE)");
    },
    close: async () => database.close(),
  };
}

/** Returns undefined for JSON that does not parse. */
function toValue({ json, bytes, type }: Row): unknown {
  if (bytes !== null) return new Blob([bytes], { type: type ?? "" });
  try {
    return JSON.parse(json ?? "");
  } catch {
    return undefined;
  }
}
