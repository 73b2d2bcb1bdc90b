import type { IdempotentRequest } from "../../../queries/record/idempotency.ts";
import { type Statement, sql } from "../../../sql.ts";

type Json = string | number | null;

/** A frequent write that is done together with others of its kind, in one statement. */
export interface BulkRow {
  /**
   * Returns the statement for rows that come as a JSON array, each with its index in it as `n`. It changes what it finds, and
   * returns what it has found for each row, with its `n`. A row that it does not find changes nothing: then the steps of the
   * write do its work, or find the reason to refuse it.
   */
  toStatement(rows: string): Statement<{ n: number }>;
  values: Record<string, Json>;
  /** What only one row of a statement may change, such as a user whose storage it counts. */
  places: readonly string[];
  /** What rows of one kind change together in one statement, but not beside those of another, such as a conversation. */
  commonPlace?: string;
  /** Returns the result of the write; `found` is its row of the statement. */
  toResult(found: never): unknown;
  /** Set if the result is stored for a retry. */
  request?: IdempotentRequest;
}

/** The columns of every input, for json_to_recordset. Collations are those of the tables, so that indexes are used. */
export const KEY_INPUT = sql`n INTEGER, key_user TEXT COLLATE "C", key_hash BYTEA`;

/** Holds for an input without an Idempotency-Key, and for one whose key was never used. */
export const IS_UNUSED = none(
  sql`SELECT k.until FROM idempotency k WHERE k.user_id = input.key_user AND k.key_hash = input.key_hash`,
);

/**
 * Holds if the statement has no row. A scalar with a limit: PostgreSQL would look for all rows of `NOT EXISTS` together, and then
 * may read a whole table. What is selected is best in the index that finds it.
 */
export function none(statement: Statement): Statement {
  return sql`(${statement} LIMIT 1) IS NULL`;
}

/** Holds if the statement has a row, likewise. */
export function some(statement: Statement): Statement {
  return sql`(${statement} LIMIT 1) IS NOT NULL`;
}

/** Returns bytes as JSON has them for PostgreSQL. */
export function toBytea(bytes: Uint8Array): string {
  return `\\x${Buffer.from(bytes).toString("hex")}`;
}
