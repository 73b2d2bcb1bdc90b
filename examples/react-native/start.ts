// Runs the app in a browser, which stands in for a device.
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { text } from "node:stream/consumers";
import { type Connect, createServer } from "vite";
import { printLinks, startDemo } from "../demo.ts";

const databases = new Map<string, DatabaseSync>();

interface Statement {
  sql: string;
  values?: string[];
}

function run(database: DatabaseSync, { sql, values }: Statement): unknown {
  return values ? database.prepare(sql).all(...values) : database.exec(sql);
}

function runAll(database: DatabaseSync, statements: Statement[]): void {
  database.exec("BEGIN");
  try {
    for (const statement of statements) run(database, statement);
    database.exec("COMMIT");
  } catch (error) {
    database.exec("ROLLBACK");
    throw error;
  }
}

/** Runs a statement, or several in one transaction, on the database of a user. */
const sqlite: Connect.NextHandleFunction = async (request, response) => {
  const user = request.url ?? "";
  const database = databases.get(user) ?? new DatabaseSync(":memory:");
  databases.set(user, database);
  try {
    const statement = JSON.parse(await text(request));
    const rows = Array.isArray(statement) ? runAll(database, statement) : run(database, statement);
    response.end(JSON.stringify(rows ?? null));
  } catch (error) {
    response.writeHead(500).end(String(error));
  }
};

const pages = await createServer({
  root: join(import.meta.dirname, "device"),
  configFile: join(import.meta.dirname, "../react/vite.config.ts"),
  plugins: [
    { name: "sqlite", configureServer: ({ middlewares }) => void middlewares.use("/sqlite", sqlite) },
  ],
});
await pages.listen();
printLinks(await startDemo(), pages.resolvedUrls!.local[0]!);
