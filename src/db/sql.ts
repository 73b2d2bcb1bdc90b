export type Value = string | number | null | Uint8Array;

/**
 * SQL that both engines understand, with `?` for each parameter; `R` is the type of its rows. A class, so that no object of
 * a client's can pass for one.
 */
export class Statement<R = unknown> {
  // Declared, because a field would first be set to undefined.
  declare readonly sql: string;
  declare readonly params: Value[];
  /** Never set: it carries the type. */
  declare readonly row?: R;

  constructor(sql: string, params: Value[]) {
    this.sql = sql;
    this.params = params;
  }
}

/** The text of a template with certain statements in certain places, and its texts with one more of them. */
class Text {
  sql: string | undefined;
  /** By place and text of the further statement. */
  readonly longer: Map<string, Text>[] = [];
}

const texts = new WeakMap<TemplateStringsArray, Text>();

/**
 * Creates a statement or a part of one: sql`SELECT id FROM users WHERE username = ${name}`. A value becomes a
 * parameter, a statement becomes part of the text. The text of a template is built once for the same parts, so that most requests create no strings.
 */
export function sql<R = unknown>(
  strings: TemplateStringsArray,
  ...values: (Value | Statement)[]
): Statement<R> {
  let text = texts.get(strings);
  if (!text) {
    text = new Text();
    texts.set(strings, text);
  }
  const params: Value[] = [];
  for (let place = 0; place < values.length; place++) {
    const value = values[place]!;
    if (value instanceof Statement) {
      for (const param of value.params) params.push(param);
      text.longer[place] ??= new Map();
      const parts: Map<string, Text> = text.longer[place]!;
      let longer = parts.get(value.sql);
      if (!longer) {
        longer = new Text();
        parts.set(value.sql, longer);
      }
      text = longer;
    } else params.push(value);
  }
  text.sql ??= String.raw({ raw: strings }, ...values.map((it) => (it instanceof Statement ? it.sql : "?")));
  return new Statement(text.sql, params);
}

/**
 * Creates a part of a statement from text that is not in a template, such as a table's name. Never from a client's
 * text.
 */
export function raw(text: string): Statement {
  return new Statement(text, []);
}

export const EMPTY = raw("");

function join(parts: readonly Statement[], separator: string): Statement {
  return new Statement(
    parts.map((part) => part.sql).join(separator),
    parts.flatMap((part) => part.params),
  );
}

/** Creates the parameters of `IN (…)` or `VALUES (…)`. */
export function list(values: readonly Value[]): Statement {
  return new Statement(values.map(() => "?").join(", "), [...values]);
}

/** Creates the parameters of `VALUES …`, row by row. */
export function rows(values: readonly (readonly Value[])[]): Statement {
  return join(
    values.map((row) => sql`(${list(row)})`),
    ", ",
  );
}

/** Repeats the last value up to a power of two: each length is a statement of its own, which stays prepared. */
export function padded<V>(values: readonly V[]): V[] {
  const missing = 2 ** Math.ceil(Math.log2(values.length)) - values.length;
  return [...values, ...new Array<V>(missing).fill(values.at(-1)!)];
}

/** What reads need of an engine: rows of the last committed state. */
export interface Reader {
  all<R>(statement: Statement<R>): Promise<R[]>;
  get<R>(statement: Statement<R>): Promise<R | undefined>;
}

export interface ValuesReader {
  /** Returns rows as arrays of their columns, which are cheaper than objects. */
  allValues<R extends unknown[]>(statement: Statement<R>): Promise<R[]>;
}

/** What the most frequent requests need besides. */
export interface QuickReader extends Reader, ValuesReader {
  getValues<R extends unknown[]>(statement: Statement<R>): Promise<R | undefined>;
}

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

/** What an engine has to know about a write, beside what it does. `Input` is its input. */
export interface Declaration<Input> {
  /** It publishes events, gives them numbers, or changes who receives them. */
  publishesEvents?: true;
  /** Processes that keep verified tokens in memory forget them. */
  revokesTokens?: true;
  /** Returns whose rows the write counts: two writes with the same answer conflict, so a node runs them one by one. */
  serializeBy?: (input: Input) => string | undefined;
}

/** Declares a write that engines have to know something about. Others are generator functions alone. */
export function write<F extends (input: never) => Write<unknown>>(
  declaration: Declaration<Parameters<F>[0]>,
  run: F,
): F & Declaration<Parameters<F>[0]> {
  return Object.assign(run, declaration);
}
