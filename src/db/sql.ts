export type Value = string | number | null | Uint8Array;

/**
 * SQL that both engines understand, with `?` for each parameter; `R` is the type of its rows. It is a class, so that no
 * object sent by a client can be taken for a statement.
 */
export class Statement<R = unknown> {
  // Only declared: a class field would first be set to undefined.
  declare readonly sql: string;
  declare readonly params: Value[];
  /** Carries the type. It is never set. */
  declare readonly row?: R;

  constructor(sql: string, params: Value[]) {
    this.sql = sql;
    this.params = params;
  }
}

/** The text of a template with certain statements inserted. It links to the texts with one more statement. */
class Text {
  sql: string | undefined;
  /** Keyed by index and text of the additional statement. */
  readonly longer: Map<string, Text>[] = [];
}

const texts = new WeakMap<TemplateStringsArray, Text>();

/**
 * Creates a statement or a part of one: sql`SELECT id FROM users WHERE username = ${name}`. A value becomes a
 * parameter, a statement becomes part of the text. The text is built once for each template and combination of parts, so that
 * most requests create no strings.
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
  for (let index = 0; index < values.length; index++) {
    const value = values[index]!;
    if (value instanceof Statement) {
      for (const param of value.params) params.push(param);
      text.longer[index] ??= new Map();
      const parts: Map<string, Text> = text.longer[index]!;
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

export function join(parts: readonly Statement[], separator: string): Statement {
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

/** Repeats the last value up to a power of two, because each length needs a separate prepared statement. */
export function padded<V>(values: readonly V[]): V[] {
  const missing = 2 ** Math.ceil(Math.log2(values.length)) - values.length;
  return [...values, ...new Array<V>(missing).fill(values.at(-1)!)];
}

/** Reads rows of the last committed state. */
export interface Reader {
  all<R>(statement: Statement<R>): Promise<R[]>;
  get<R>(statement: Statement<R>): Promise<R | undefined>;
}

export interface ValuesReader {
  /** Returns rows as arrays of their columns, which are cheaper than objects. */
  allValues<R extends unknown[]>(statement: Statement<R>): Promise<R[]>;
}

/**
 * Reads for the most frequent requests. On PostgreSQL these statements share a connection. Each must be short, because it delays
 * the ones queued after it.
 */
export interface QuickReader extends Reader, ValuesReader {
  getValues<R extends unknown[]>(statement: Statement<R>): Promise<R | undefined>;
}
