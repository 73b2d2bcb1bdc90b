// A database like those of expo-sqlite. The server of the page runs the statements.
import type { Database } from "../store.ts";

const user = new URLSearchParams(location.hash.slice(1)).get("user");

interface Statement {
  sql: string;
  values?: string[];
}

/** Runs a statement, or several in one transaction. */
async function request<T>(statement: Statement | Statement[]): Promise<T> {
  const response = await fetch(`/sqlite?${user}`, { method: "POST", body: JSON.stringify(statement) });
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
    const statements: Statement[] = [];
    // In one request: a page that is closed leaves no transaction open.
    await task({ ...database, runAsync: async (sql, ...values) => statements.push({ sql, values }) });
    await request(statements);
  },
  closeAsync: async () => {},
};
