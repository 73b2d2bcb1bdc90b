import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Config } from "../../src/config/settings.ts";
import { indexKey } from "../../src/db/queries/search/search.ts";
import { toEntries } from "../../src/util/words.ts";
import { administer } from "./engines/postgres.ts";
import { eventually } from "./files-on-disk.ts";

/** Runs a query on a database of either engine and returns the first column. */
export type Column = (sql: string) => Promise<unknown[]>;

/** Makes SQLite list the indexed words by the same query as PostgreSQL. */
const INDEXED_WORDS = `CREATE VIRTUAL TABLE temp.entries USING fts5vocab(main, message_index, instance);
  CREATE TEMP VIEW indexed_words AS SELECT term AS word, doc AS body_id FROM temp.entries`;

export function openIndexed(folder: string): DatabaseSync {
  const db = new DatabaseSync(join(folder, "parley.db"), { readOnly: true });
  db.exec(INDEXED_WORDS);
  return db;
}

export function columnOf({ databaseUrl, dataFolder }: Pick<Config, "databaseUrl" | "dataFolder">): Column {
  if (databaseUrl !== null) return (sql) => administer(databaseUrl, sql);
  return async (sql) => {
    const db = openIndexed(dataFolder);
    try {
      return db
        .prepare(sql)
        .all()
        .map((row) => Object.values(row)[0]);
    } finally {
      db.close();
    }
  };
}

/** The only problem that `findIndexProblems` returns if the index does not catch up. */
export const WAITING = "texts wait for the index";

/** Waits until no text waits for the index. Returns the differences between the words of the index and of the texts. */
export async function findIndexProblems(column: Column): Promise<string[]> {
  const isWaiting = "SELECT body_id FROM unindexed UNION ALL SELECT after_id FROM reindexing";
  if (!(await eventually(async () => (await column(isWaiting)).length === 0))) return [WAITING];
  const wanted = new Set<string>();
  for (const row of await column(
    `SELECT b.id || ' ' || m.conversation_id || ' ' || b.text FROM message_bodies b
      JOIN messages m ON m.body_id = b.id WHERE b.text IS NOT NULL`,
  )) {
    const [, id, conversation, text] = /^(\d+) (\S+) (.*)$/s.exec(String(row))!;
    for (const entry of toEntries(text!)) wanted.add(`${id} ${indexKey(conversation!)}${entry}`);
  }
  const found = await column("SELECT body_id || ' ' || word FROM indexed_words");
  const problems = found.filter((entry) => !wanted.delete(String(entry))).map((entry) => `surplus: ${entry}`);
  return [...problems, ...[...wanted].map((entry) => `missing: ${entry}`)];
}
