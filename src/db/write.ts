import { join, raw, type Statement, sql, type Value } from "./sql.ts";

/**
 * A write: a generator that yields statements and receives the rows of each. An engine runs it in one transaction, may
 * rerun it from its start after a conflict, and rolls it back if it throws. Being a generator, the same code runs
 * synchronously inside SQLite's group commit and asynchronously on PostgreSQL across the network.
 *
 * One `yield` is one round trip, and each function below yields once. A write calls them, and parts of other writes, by
 * `yield*`:
 *
 *     function* rename({ userId, name, entry }: Rename): Write<void> {
 *       const user = yield* get<{ name: string }>(sql`SELECT name FROM users WHERE id = ${userId}`); // one round trip
 *       if (!user) throw new ParleyError("user_not_found");
 *       yield* batch([
 *         sql`UPDATE users SET name = ${name} WHERE id = ${userId}`,
 *         recordEntry(entry, "user.renamed", userId, { from: user.name }),
 *       ]); // one more, for both statements
 *     }
 *
 * A call without `yield*` does nothing: `run(sql`DELETE …`);` only makes a generator and drops it. A test finds those.
 */
export type Write<T> = Generator<readonly Statement[], T, unknown[][]>;

/** Runs a statement and returns its rows. */
export function* all<R>(statement: Statement<R>): Write<R[]> {
  return (yield [statement])[0] as R[];
}

/** Runs a statement and returns its first row. */
export function* get<R>(statement: Statement<R>): Write<R | undefined> {
  return (yield [statement])[0]![0] as R | undefined;
}

export function* run(statement: Statement): Write<void> {
  yield [statement];
}

type RowsOf<S> = S extends Statement<infer R> ? R[] : never;

/** Runs statements in one round trip, in their order, and returns the rows of each. */
export function* batch<const S extends readonly Statement[]>(
  statements: S,
): Write<{ -readonly [K in keyof S]: RowsOf<S[K]> }> {
  return (yield statements) as { -readonly [K in keyof S]: RowsOf<S[K]> };
}

/**
 * Part of other writes: erases at most `limit` of the rows that meet the condition, and returns how many. Deletes each by
 * its key, because a planner may scan the table to delete by a condition.
 */
export function* eraseSome(
  table: string,
  key: readonly string[],
  condition: Statement,
  limit: number,
): Write<number> {
  const found = yield* all<Record<string, Value>>(
    sql`SELECT ${raw(key.join(", "))} FROM ${raw(table)} WHERE ${condition} LIMIT ${limit} + 0`,
  );
  yield* batch(
    found.map((row) => {
      const isRow = key.map((column) => sql`${raw(column)} = ${row[column]!}`);
      return sql`DELETE FROM ${raw(table)} WHERE ${join(isRow, " AND ")}`;
    }),
  );
  return found.length;
}

/** Declares facts about a write that an engine needs. `Input` is the write's input. */
export interface Declaration<Input> {
  /** The write publishes events, numbers them, or changes who receives them. */
  publishesEvents?: true;
  /** Processes drop the verified tokens that they keep in memory. */
  revokesTokens?: true;
  /**
   * Returns a key, such as a user whose rows are counted, or a conversation. Two writes with the same key conflict, so a node runs
   * them one by one.
   */
  serializeBy?: (input: Input) => string | undefined;
}

/** Attaches a declaration to a write. Writes without one are plain generator functions. */
export function write<F extends (input: never) => Write<unknown>>(
  declaration: Declaration<Parameters<F>[0]>,
  run: F,
): F & Declaration<Parameters<F>[0]> {
  return Object.assign(run, declaration);
}
