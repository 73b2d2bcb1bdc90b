import { type Statement, sql, type Value } from "./sql.ts";

type ColumnType = "TEXT" | "BIGINT" | "BYTEA";
type Columns = Record<string, ColumnType>;
type Input<C extends Columns> = {
  [K in keyof C]: (C[K] extends "TEXT" ? string : C[K] extends "BIGINT" ? number : Uint8Array) | null;
};

/** The key of a request with an Idempotency-Key: a row of it is done only if the key was never used. */
export interface RequestKey {
  userId: string;
  /** SHA-256 of the key. */
  keyHash: Uint8Array;
}

const KEY_COLUMNS = { key_user: "TEXT", key_hash: "BYTEA" } as const satisfies Columns;
const IS_UNUSED = none(
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

/** A bulk in SQL without parameters. */
interface Definition<C extends Columns, F> {
  /** The columns of `input`, one row of which a write brings. */
  input: C;
  /** What is found for a row beside its input: expressions by their names. */
  found: { [K in keyof F]: Statement<F[K]> };
  /** What a row is looked for in; `EMPTY`: the input is all. */
  tables: Statement;
  /** The condition under which a row is found. */
  condition: Statement;
  /**
   * Statements that change rows, as `INSERT … SELECT … FROM found, members s WHERE …`. None sees what another of them has
   * done, and they are done in any order.
   */
  changes: readonly Statement[];
}

/**
 * The whole work of a frequent write, for any number of writes at once: PostgreSQL does many rows in one statement, SQLite one
 * after the other. A row that is not found changes nothing: then the write does its work, or finds the reason to refuse it, by
 * steps of its own. If it is found, the write is done.
 *
 *     const RENAMING = new Bulk({
 *       input: { id: "TEXT", name: "TEXT" },
 *       found: { was: sql`u.name` },
 *       tables: sql`users u`,
 *       condition: sql`u.id = input.id AND u.name <> input.name`,
 *       changes: [sql`UPDATE users SET name = found.name FROM found WHERE users.id = found.id`],
 *     });
 *
 * `next_id(table)` is the next number of its column `id`. `in_order(found.id)` ends a statement whose rows are inserted in this
 * order, and `SELECT first_of(found.a, found.b) …` has of those with the same `a` and `b` only the first in it. In
 * `FROM numbered_found(a)` the rows of `found` with the same `a` are numbered from 1 by their `id`, as `ordinal`.
 */
export class Bulk<C extends Columns = Columns, F = Record<string, Value>> {
  readonly columns: Columns;
  readonly found: readonly [name: string, expression: string][];
  readonly tables: string;
  readonly condition: string;
  readonly changes: readonly string[];

  constructor({ input, found, tables, condition, changes }: Definition<C, F>) {
    this.columns = { ...KEY_COLUMNS, ...input };
    this.found = Object.entries<Statement>(found).map(([name, { sql }]) => [name, sql]);
    this.tables = tables.sql;
    this.condition = `${condition.sql} AND ${IS_UNUSED.sql}`;
    this.changes = changes.map((change) => change.sql);
  }

  /**
   * A row of the bulk. Two rows that share a place, such as a user whose storage both change, are done in two statements. A
   * `commonPlace` is one that rows of this bulk change together in one statement, such as the conversation of messages.
   */
  row(input: Input<C>, places: readonly string[], commonPlace?: string): BulkRow<F> {
    return new BulkRow(this, { key_user: null, key_hash: null, ...input }, places, commonPlace);
  }
}

/** The part of a bulk that one write brings; `F` is what is found for it. */
export class BulkRow<F = unknown> {
  readonly bulk: Bulk;
  readonly input: Record<string, Value>;
  readonly places: readonly string[];
  readonly commonPlace: string | undefined;
  /** Never set: it carries the type. */
  declare readonly row?: F;

  constructor(
    bulk: Bulk<never, F>,
    input: Record<string, Value>,
    places: readonly string[],
    commonPlace?: string,
  ) {
    this.bulk = bulk as unknown as Bulk;
    this.input = input;
    this.places = places;
    this.commonPlace = commonPlace;
  }

  /** The same row, done only if the key was never used. */
  unlessUsed({ userId, keyHash }: RequestKey): BulkRow<F> {
    const place = `${userId} ${Buffer.from(keyHash).toString("latin1")}`;
    const input = { ...this.input, key_user: userId, key_hash: keyHash };
    const bulk = this.bulk as unknown as Bulk<never, F>;
    return new BulkRow<F>(bulk, input, [...this.places, place], this.commonPlace);
  }
}
