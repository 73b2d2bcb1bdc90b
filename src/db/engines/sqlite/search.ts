import type { Lookup } from "../../../util/words.ts";
import { type Statement, sql } from "../../sql.ts";

/** Finds bodies by an entry behind any of the keys, see `Database.findBodies`. */
export function bodiesQuery(
  keys: readonly string[],
  { entry, isPrefix }: Lookup,
  limit: number,
): Statement<[bodyId: number]> {
  // Keys and entries have letters, digits and symbols, so there is nothing to escape.
  const any = keys.map((key) => `"${key}${entry}"${isPrefix ? "*" : ""}`).join(" OR ");
  return sql`SELECT rowid FROM message_index WHERE message_index MATCH ${any} LIMIT ${limit} + 0`;
}
