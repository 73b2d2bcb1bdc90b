import type { Lookup } from "../../../util/words.ts";
import type { IndexReader } from "../../database.ts";
import { type Statement, sql } from "../../sql.ts";

// https://sqlite.org/rescode.html#corrupt_vtab: only the search index is a virtual table.
const SQLITE_CORRUPT_VTAB = 267;
/**
 * Without an extended code, this comes from FTS5: it wrote a row that exists, because a segment is missing in its list. Errors of
 * tables have extended codes.
 */
const SQLITE_CONSTRAINT = 19;

/** Selects bodies that have the entry with any of the keys as its prefix, see `Database.findBodies`. */
export function bodiesQuery(
  keys: readonly string[],
  { entry, isPrefix }: Lookup,
  limit: number,
): Statement<[bodyId: number]> {
  // Keys and entries consist of letters, digits and symbols, so nothing needs escaping.
  const any = keys.map((key) => `"${key}${entry}"${isPrefix ? "*" : ""}`);
  // Look keys up one by one: for an OR, FTS5 would read everything with any of the prefixes before the first row.
  return sql`SELECT i.rowid FROM json_each(${JSON.stringify(any)}) k
    JOIN message_index i ON message_index MATCH k.value LIMIT ${limit} + 0`;
}

/** Creates a view of the words in the index, ordered, with one row for each body that has the word. */
const ENTRIES = sql`CREATE VIRTUAL TABLE IF NOT EXISTS temp.entries USING fts5vocab(main, message_index, instance)`;

export const sqliteIndex: IndexReader = {
  find(words, from, to) {
    // FTS5 would ignore a bound that is a float, and Node passes all numbers as floats.
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
