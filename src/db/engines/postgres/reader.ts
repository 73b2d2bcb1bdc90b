import type pg from "pg";

/** The maximum number of running reads on the connection. More take a connection of the pool. */
const MAX_RUNNING = 100;
/** A slower statement would delay all later ones, so it is cancelled and takes a connection of the pool. */
const STATEMENT_TIMEOUT_MS = 1000;
/** How long a read waits here for its answer, which comes after those of earlier reads. */
const ANSWER_TIMEOUT_MS = 3000;
/** How long to wait between attempts to open the connection. */
const REOPEN_MS = 400;

/** Settings of the connection in addition to those of the pool. */
export const READER_CONFIG: pg.ClientConfig = { pipeline: true, query_timeout: ANSWER_TIMEOUT_MS };
export const READER_SET_UP = `SET statement_timeout = ${STATEMENT_TIMEOUT_MS}`;

/** Sends the queries of one turn of the event loop in one socket write, because each write wakes the PostgreSQL process. */
function sendTogether({ connection: { stream } }: pg.Client): void {
  if (stream.writableCorked > 0) return;
  stream.cork();
  setImmediate(() => stream.uncork());
}

/**
 * Sends short reads on one connection, without waiting for the answers of earlier ones: waking a PostgreSQL process for each
 * costs more than the read. Reads that this connection does not answer, or that come while it is closed, go to the pool.
 */
export class SharedReader {
  readonly #connect: () => Promise<pg.Client>;
  readonly #pool: pg.Pool;
  readonly #answerTimeout: number;
  #client: pg.Client | undefined;
  #opening: Promise<void> | undefined;
  #triedAt = Number.NEGATIVE_INFINITY;
  #running = 0;

  /** `answerTimeout` is how long a read may wait, here and for the pool together. */
  constructor(connect: () => Promise<pg.Client>, pool: pg.Pool, answerTimeout: number) {
    this.#connect = connect;
    this.#pool = pool;
    this.#answerTimeout = answerTimeout;
  }

  /** Runs a read-only statement, if need be a second time on the pool. */
  async query(query: pg.QueryConfig): Promise<pg.QueryResult> {
    if (!this.#client) this.#open();
    const client = this.#client;
    if (!client || this.#running >= MAX_RUNNING) return this.#pool.query(query);
    const startedAt = performance.now();
    this.#running++;
    sendTogether(client);
    try {
      return await client.query(query);
    } catch {
      // Retry after any error: if preparing a statement fails, all running reads that use it fail.
      const left = Math.max(1, this.#answerTimeout - (performance.now() - startedAt));
      const again: pg.QueryConfig & { query_timeout: number } = { ...query, query_timeout: left };
      return this.#pool.query(again);
    } finally {
      this.#running--;
    }
  }

  /** Resolves when running reads are answered and the connection is closed. */
  async close(): Promise<void> {
    await this.#opening;
    await this.#client?.end();
  }

  #open(): void {
    const now = performance.now();
    if (this.#opening || now - this.#triedAt < REOPEN_MS) return;
    this.#triedAt = now;
    this.#opening = this.#connect()
      .then(
        (client) => {
          this.#client = client;
          const lose = () => {
            if (this.#client !== client) return;
            this.#client = undefined;
            void client.end();
          };
          client.on("error", lose).on("end", lose);
        },
        () => {},
      )
      .finally(() => {
        this.#opening = undefined;
      });
  }
}
