import type pg from "pg";
import { ParleyError } from "../../../errors.ts";
import type { QuickReader, Statement } from "../../sql.ts";

/** All statements of such a transaction see the state at its first one. */
const BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
const END = "COMMIT";

/** Runs reads that all see the same state, in one transaction on a connection of the pool. */
export async function readSnapshot<T>(
  pool: pg.Pool,
  toQuery: (statement: Statement) => pg.QueryConfig,
  work: (db: QuickReader) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  const reader = new TransactionReader(client, toQuery);
  let broken: Error | undefined;
  try {
    // The reads are sent after BEGIN without waiting for it. If it fails, they are not of one state.
    const [begun, done] = await Promise.allSettled([client.query(BEGIN), work(reader)]);
    if (begun.status === "rejected") throw begun.reason;
    if (done.status === "rejected") throw done.reason;
    return done.value;
  } finally {
    reader.end();
    await client.query(END).catch((error) => (broken = error));
    client.release(broken);
  }
}

class TransactionReader implements QuickReader {
  readonly #client: pg.PoolClient;
  readonly #toQuery: (statement: Statement) => pg.QueryConfig;
  #isOver = false;

  constructor(client: pg.PoolClient, toQuery: (statement: Statement) => pg.QueryConfig) {
    this.#client = client;
    this.#toQuery = toQuery;
  }

  async all<R>(statement: Statement<R>): Promise<R[]> {
    return (await this.#query(this.#toQuery(statement))).rows;
  }

  async get<R>(statement: Statement<R>): Promise<R | undefined> {
    return (await this.all(statement))[0];
  }

  async allValues<R extends unknown[]>(statement: Statement<R>): Promise<R[]> {
    const query: pg.QueryArrayConfig = { ...this.#toQuery(statement), rowMode: "array" };
    return (await this.#query(query)).rows as unknown as R[];
  }

  async getValues<R extends unknown[]>(statement: Statement<R>): Promise<R | undefined> {
    return (await this.allValues(statement))[0];
  }

  /** Refuses later reads: if one of several at once fails, the others may still send some, and the connection has another user then. */
  end(): void {
    this.#isOver = true;
  }

  async #query(query: pg.QueryConfig): Promise<pg.QueryResult> {
    if (this.#isOver) throw new ParleyError("unavailable");
    return this.#client.query(query);
  }
}
