import type pg from "pg";

/** Reads that the connection may have under way; one more takes a connection of the pool. */
const MAX_UNDER_WAY = 100;
/** A slower statement delays all behind it, so it is cancelled and takes a connection of the pool. */
const STATEMENT_TIMEOUT_MS = 1000;
/** How long a read waits here for its answer, which is behind those of earlier ones. */
const ANSWER_TIMEOUT_MS = 3000;
/** How soon after an attempt the connection is opened again. */
const REOPEN_MS = 400;

/** Settings of the connection beside those of the pool. */
export const READER_CONFIG: pg.ClientConfig = { pipeline: true, query_timeout: ANSWER_TIMEOUT_MS };
export const READER_SET_UP = `SET statement_timeout = ${STATEMENT_TIMEOUT_MS}`;

/** Sends the queries of one turn of the event loop in one write: each write would wake the process of PostgreSQL again. */
function sendTogether({ connection: { stream } }: pg.Client): void {
  if (stream.writableCorked > 0) return;
  stream.cork();
  setImmediate(() => stream.uncork());
}

/**
 * Sends short reads on one connection, without waiting for the answers of earlier ones: waking a process of PostgreSQL for each
 * costs more than the read. The pool reads what this connection does not answer, also while it is not open.
 */
export class SharedReader {
  readonly #connect: () => Promise<pg.Client>;
  readonly #pool: pg.Pool;
  readonly #answerTimeout: number;
  #client: pg.Client | undefined;
  #opening: Promise<void> | undefined;
  #triedAt = Number.NEGATIVE_INFINITY;
  #underWay = 0;

  /** `answerTimeout` is how long a read may wait, here and for the pool together. */
  constructor(connect: () => Promise<pg.Client>, pool: pg.Pool, answerTimeout: number) {
    this.#connect = connect;
    this.#pool = pool;
    this.#answerTimeout = answerTimeout;
  }

  /** Runs a statement that only reads, if need be twice. */
  async query(query: pg.QueryConfig): Promise<pg.QueryResult> {
    if (!this.#client) this.#open();
    const client = this.#client;
    if (!client || this.#underWay >= MAX_UNDER_WAY) return this.#pool.query(query);
    const asked = performance.now();
    this.#underWay++;
    sendTogether(client);
    try {
      return await client.query(query);
    } catch {
      // Whatever the reason: if preparing a statement fails, all reads under way that use it fail.
      const left = Math.max(1, this.#answerTimeout - (performance.now() - asked));
      const again: pg.QueryConfig & { query_timeout: number } = { ...query, query_timeout: left };
      return this.#pool.query(again);
    } finally {
      this.#underWay--;
    }
  }

  /** Resolves once reads under way are answered and the connection is closed. */
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
