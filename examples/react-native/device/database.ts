// A database like those of expo-sqlite. The server of the page runs the statements.
import type { Database } from "../store.ts";

const user = new URLSearchParams(location.hash.slice(1)).get("user");

async function request<T>(statement: { sql: string; values?: string[] }): Promise<T> {
  const response = await fetch(`/sqlite?${user}`, {
    method: "POST",
    body: JSON.stringify(statement),
  });
  if (!response.ok) throw new Error(await response.text());
  return response.json();
}

export const database: Database = {
  execAsync: (sql) => request({ sql }),
  runAsync: (sql, ...values) => request({ sql, values }),
  getAllAsync: (sql, ...values) => request({ sql, values }),
  async getFirstAsync<T>(sql: string, ...values: string[]) {
    return (await request<T[]>({ sql, values }))[0] ?? null;
  },
  async withExclusiveTransactionAsync(task) {
    await request({ sql: "BEGIN" });
    try {
      await task(database);
      await request({ sql: "COMMIT" });
    } catch (error) {
      await request({ sql: "ROLLBACK" });
      throw error;
    }
  },
  closeAsync: async () => {},
};
