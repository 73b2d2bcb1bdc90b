import type { Store } from "parley-sync";

/** The part of a database of `expo-sqlite` that the store uses. */
export interface Database {
  execAsync(sql: string): Promise<void>;
  runAsync(sql: string, ...values: string[]): Promise<unknown>;
  getFirstAsync<T>(sql: string, ...values: string[]): Promise<T | null>;
  getAllAsync<T>(sql: string, ...values: string[]): Promise<T[]>;
  withExclusiveTransactionAsync(task: (transaction: Database) => Promise<void>): Promise<void>;
  closeAsync(): Promise<void>;
}

interface Row {
  key: string;
  json: string;
}

/** Keeps entries in a database of `expo-sqlite`. Files are not stored: the store refuses them. */
export async function openStore(database: Database): Promise<Store> {
  await database.execAsync(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON;
    CREATE TABLE IF NOT EXISTS entries (key TEXT PRIMARY KEY, json TEXT NOT NULL) WITHOUT ROWID`);
  return {
    async get(key) {
      const row = await database.getFirstAsync<Row>("SELECT * FROM entries WHERE key = ?", key);
      return row ? parse(row) : undefined;
    },
    async scan(prefix) {
      const sql = "SELECT * FROM entries WHERE key >= ? AND key < ?";
      const rows = await database.getAllAsync<Row>(sql, prefix, `${prefix}\u{10ffff}`);
      return rows.map((row) => [row.key, parse(row)] as const);
    },
    write: (batch) =>
      database.withExclusiveTransactionAsync(async (transaction) => {
        for (const [key, value] of batch) {
          if (value instanceof Blob) throw new TypeError("Files can't be stored.");
          if (value === null) await transaction.runAsync("DELETE FROM entries WHERE key = ?", key);
          else
            await transaction.runAsync(
              "INSERT OR REPLACE INTO entries VALUES (?, ?)",
              key,
              JSON.stringify(value),
            );
        }
      }),
    erase: () => database.execAsync("DELETE FROM entries; PRAGMA wal_checkpoint(TRUNCATE)"),
    close: () => database.closeAsync(),
  };
}

/** Returns undefined for JSON that does not parse: the copy reads it from the server again. */
function parse({ json }: Row): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
