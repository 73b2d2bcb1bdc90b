import type { Lookup } from "../../../util/words.ts";
import { type Statement, sql } from "../../sql.ts";

const IS_WORD = sql`w.word = k.word COLLATE "C"`;
const BEGINS_SO = sql`w.word >= k.word COLLATE "C" AND w.word < (k.word || chr(1114111)) COLLATE "C"`;

/** Finds bodies by an entry behind any of the keys, see `Database.findBodies`. */
export function bodiesQuery(
  keys: readonly string[],
  { entry, isPrefix }: Lookup,
  limit: number,
): Statement<[bodyId: number]> {
  const words = keys.map((key) => key + entry).join(" ");
  return sql`SELECT w.body_id FROM unnest(string_to_array(${words}, ' ')) AS k (word)
    JOIN indexed_words w ON ${isPrefix ? BEGINS_SO : IS_WORD} LIMIT ${limit} + 0`;
}
