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

/** The text of a template with certain statements in certain positions, and its texts with one more of them. */
class Text {
  sql: string | undefined;
  /** By index and text of the further statement. */
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

/**
 * What the most frequent requests need besides. On PostgreSQL these statements share a connection: each must be short, because it
 * delays those behind it.
 */
export interface QuickReader extends Reader, ValuesReader {
  getValues<R extends unknown[]>(statement: Statement<R>): Promise<R | undefined>;
}
