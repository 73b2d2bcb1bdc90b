import type { Lookup } from "../../../util/words.ts";
import type { IndexReader } from "../../database.ts";
import { type Statement, sql } from "../../sql.ts";

// https://sqlite.org/rescode.html#corrupt_vtab: of the database only the search index is a virtual table.
const SQLITE_CORRUPT_VTAB = 267;
/** Without an extended code: FTS5 wrote a row that is there, because its list of segments lacks one. Tables have extended codes. */
const SQLITE_CONSTRAINT = 19;

/** Finds bodies by an entry behind any of the keys, see `Database.findBodies`. */
export function bodiesQuery(
  keys: readonly string[],
  { entry, isPrefix }: Lookup,
  limit: number,
): Statement<[bodyId: number]> {
  // Keys and entries have letters, digits and symbols, so there is nothing to escape.
  const any = keys.map((key) => `"${key}${entry}"${isPrefix ? "*" : ""}`);
  // One after the other: FTS5 reads all that a prefix has, and would do so for each part of an OR before the first row.
  return sql`SELECT i.rowid FROM json_each(${JSON.stringify(any)}) k
    JOIN message_index i ON message_index MATCH k.value LIMIT ${limit} + 0`;
}

/** Reads the words of the index in their order, one row for each body that has it. */
const ENTRIES = sql`CREATE VIRTUAL TABLE IF NOT EXISTS temp.entries USING fts5vocab(main, message_index, instance)`;

export const sqliteIndex: IndexReader = {
  find(words, from, to) {
    // FTS5 would ignore a bound that is a float, as all numbers of Node are.
    return sql`SELECT i.rowid AS body_id FROM json_each(${JSON.stringify(words)}) k
      JOIN message_index i ON message_index MATCH '"' || k.value || '"'
        AND i.rowid BETWEEN CAST(${from} AS INTEGER) AND CAST(${to} AS INTEGER)`;
  },
  async *bodiesWithoutText(db) {
    await db.all(ENTRIES);
    const found = sql<{ body_id: number }>`SELECT DISTINCT doc AS body_id FROM temp.entries
      WHERE NOT EXISTS (SELECT 1 FROM message_bodies b WHERE b.id = doc AND b.text IS NOT NULL)`;
    for (const { body_id } of await db.all(found)) yield body_id;
  },
};

export function isDamagedIndex(error: unknown): boolean {
  const { errcode } = error as { errcode?: number };
  return errcode === SQLITE_CORRUPT_VTAB || errcode === SQLITE_CONSTRAINT;
}
