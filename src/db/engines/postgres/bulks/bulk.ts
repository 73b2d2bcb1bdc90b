import type { IdempotentRequest } from "../../../queries/record/idempotency.ts";
import { type Statement, sql } from "../../../sql.ts";

type Json = string | number | null;

/** A frequent write that is done together with others of its kind in one statement. */
export interface BulkRow {
  /**
   * Returns the statement for rows in a JSON array, each with its index as `n`. For each row that the statement finds, it does the
   * work and returns a row with its `n`. For the others it changes nothing: then the steps of the write do the work, or find the
   * reason to refuse it.
   */
  toStatement(rows: string): Statement<{ n: number }>;
  values: Record<string, Json>;
  /** Rows that share one of these cannot be in the same statement, such as a user whose storage changes. */
  places: readonly string[];
  /** Rows of one kind that share this can be in one statement, but rows of another kind cannot, such as a conversation. */
  commonPlace?: string;
  /** Returns the result of the write. `found` is its row in the statement's result. */
  toResult(found: never): unknown;
  /** Set if the result is stored for a retry. */
  request?: IdempotentRequest;
}

/** Columns of every input, for json_to_recordset. They have the collations of the tables, so that indexes are used. */
export const KEY_INPUT = sql`n INTEGER, key_user TEXT COLLATE "C", key_hash BYTEA`;

/** Holds for an input whose Idempotency-Key was never used, and for one without a key. */
export const IS_UNUSED = none(
  sql`SELECT k.until FROM idempotency k WHERE k.user_id = input.key_user AND k.key_hash = input.key_hash`,
);

/**
 * Holds if the statement has no row. It is a scalar with a limit: for `NOT EXISTS` PostgreSQL might look up the rows of all inputs
 * together, and read a whole table. The selected column should be in the index that finds it.
 */
export function none(statement: Statement): Statement {
  return sql`(${statement} LIMIT 1) IS NULL`;
}

/** Holds if the statement has a row. It is a scalar for the same reason. */
export function some(statement: Statement): Statement {
  return sql`(${statement} LIMIT 1) IS NOT NULL`;
}

/** Returns bytes as JSON text that PostgreSQL reads as BYTEA. */
export function toBytea(bytes: Uint8Array): string {
  return `\\x${Buffer.from(bytes).toString("hex")}`;
}
