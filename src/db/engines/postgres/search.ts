import type { Lookup } from "../../../util/words.ts";
import type { IndexReader } from "../../database.ts";
import { list, type Statement, sql } from "../../sql.ts";

/** Rows of the index to read at a time. */
const PAGE = 5000;

const IS_WORD = sql`w.word = k.word COLLATE "C"`;
const BEGINS_SO = sql`w.word >= k.word COLLATE "C" AND w.word < (k.word || chr(1114111)) COLLATE "C"`;

/** Selects bodies that have the entry with any of the keys as its prefix, see `Database.findBodies`. */
export function bodiesQuery(
  keys: readonly string[],
  { entry, isPrefix }: Lookup,
  limit: number,
): Statement<[bodyId: number]> {
  const words = keys.map((key) => key + entry).join(" ");
  return sql`SELECT w.body_id FROM unnest(string_to_array(${words}, ' ')) AS k (word)
    JOIN indexed_words w ON ${isPrefix ? BEGINS_SO : IS_WORD} LIMIT ${limit} + 0`;
}

export const postgresIndex: IndexReader = {
  find(words, from, to) {
    return sql`SELECT w.body_id FROM unnest(string_to_array(${words.join(" ")}, ' ')) AS k (word)
      JOIN indexed_words w ON w.word = k.word COLLATE "C" AND w.body_id BETWEEN ${from} AND ${to}`;
  },
  async *bodiesWithoutText(db) {
    const seen = new Set<number>();
    for (let after = ["", 0] as [word: string, bodyId: number]; ; ) {
      const page = await db.all<{ word: string; body_id: number; has_text: number }>(
        sql`SELECT word, body_id, CASE WHEN EXISTS (SELECT 1 FROM message_bodies b
            WHERE b.id = body_id AND b.text IS NOT NULL) THEN 1 ELSE 0 END AS has_text
          FROM indexed_words WHERE (word, body_id) > (${list(after)}) ORDER BY word, body_id LIMIT ${PAGE} + 0`,
      );
      for (const { body_id, has_text } of page) {
        if (has_text === 1 || seen.has(body_id)) continue;
        seen.add(body_id);
        yield body_id;
      }
      if (page.length < PAGE) return;
      const { word, body_id } = page.at(-1)!;
      after = [word, body_id];
    }
  },
};
