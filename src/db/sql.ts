export type Value = string | number | null | Uint8Array;

/** SQL that every engine understands, with `?` for each parameter. */
export interface Statement {
  sql: string;
  params: Value[];
}

/** What reads need of an engine: rows of the last committed state. */
export interface Reader {
  all<R>(sql: string, ...params: Value[]): Promise<R[]>;
  get<R>(sql: string, ...params: Value[]): Promise<R | undefined>;
}

/** What the requests that come most often need besides. */
export interface QuickReader extends Reader {
  /** Rows as arrays of their columns, which cost less to make than objects. */
  allValues<R extends unknown[]>(sql: string, ...params: Value[]): Promise<R[]>;
  getValues<R extends unknown[]>(sql: string, ...params: Value[]): Promise<R | undefined>;
}

/**
 * A write: it yields statements and is sent the rows of each. An engine runs it whole in one transaction, may run it
 * again from its start after a conflict, and rolls it back when it throws. Being a generator, the same code
 * runs synchronously inside SQLite's group commit and asynchronously on a database across the network, where
 * statements that are yielded together cost one round trip.
 */
export type Write<T> = Generator<readonly Statement[], T, unknown[][]>;

export function* all<R>(sql: string, ...params: Value[]): Write<R[]> {
  return (yield [{ sql, params }])[0] as R[];
}

export function* get<R>(sql: string, ...params: Value[]): Write<R | undefined> {
  return (yield [{ sql, params }])[0]![0] as R | undefined;
}

export function* run(sql: string, ...params: Value[]): Write<void> {
  yield [{ sql, params }];
}

/** One of several statements that are yielded together. */
export function statement(sql: string, ...params: Value[]): Statement {
  return { sql, params };
}
