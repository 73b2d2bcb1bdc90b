import { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { OperatorError, ParleyError } from "../../../errors.ts";
import {
  type Callbacks,
  type ConnectionStats,
  type Database,
  NO_CALLBACKS,
  type WriteInput,
  type WriteName,
  type WriteResult,
} from "../../database.ts";
import type { QuickReader, Statement } from "../../sql.ts";
import { getWrite } from "../../writes.ts";
import { BackgroundReader } from "./background.ts";
import { doAlone, toBulkRow } from "./bulks/bulks.ts";
import { isConflict, postgresError } from "./errors.ts";
import { Lane } from "./lane.ts";
import { migratePostgres, VERSION } from "./migrate.ts";
import { KNOW_INCARNATION } from "./outcome.ts";
import { refuseTransactionPooler } from "./pooler.ts";
import { READER_CONFIG, READER_SET_UP, SharedReader } from "./reader.ts";
import { bodiesQuery } from "./search.ts";
import { PostgresSession } from "./session.ts";
import { readSnapshot } from "./snapshot.ts";
import { Transactions } from "./transactions.ts";

/** Connections per node, besides those of its session and its shared reader. */
const POOL_SIZE = 9;
/** How long a request waits for a connection. */
const CONNECT_TIMEOUT_MS = 5000;
const STATEMENT_TIMEOUT_MS = 10_000;
/** How long a request waits for an answer. A server that hangs or is cut off does not cancel its statements itself. */
const ANSWER_TIMEOUT_MS = 11_000;
/** How long the session waits for an answer. Its queries are small. */
const SESSION_TIMEOUT_MS = 5000;
/** How long a close waits for the server. */
const CLOSE_TIMEOUT_MS = 1000;
const LOCK_TIMEOUT_MS = 5000;
/** How long a transaction may wait for the next statement of its node. */
const IDLE_TIMEOUT_MS = 10_000;
/** The maximum number of requests that wait for a connection. More are answered `unavailable`. */
const MAX_QUEUED = 10_000;
/** How often a write is retried after a conflict. */
const MAX_TRIES = 20;
const RETRY_MS = 5;

const INT8 = 20;
const NUMERIC = 1700;

/** Parses 64-bit integers as numbers: times, sizes and versions are far below 2^53. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: "text" | "binary") =>
    oid === INT8 || oid === NUMERIC ? Number : pg.types.getTypeParser(oid, format as "text"),
};

/**
 * Connects. `bringSchema` migrates or checks the schema. With `alone` it throws if another process uses the database, and keeps
 * others out.
 */
export async function openPostgres(
  url: string,
  bringSchema: (client: pg.ClientBase) => Promise<void> = migratePostgres,
  alone = false,
  callbacks: Callbacks = NO_CALLBACKS,
): Promise<Database> {
  const sockets = new Set<Socket>();
  // A move counts and reads whole tables.
  const [statementTimeout, answerTimeout] = alone ? [0, 0] : [STATEMENT_TIMEOUT_MS, ANSWER_TIMEOUT_MS];
  const setUp = `${SET_UP}; SET statement_timeout = ${statementTimeout}`;
  const config: pg.ClientConfig = {
    connectionString: url,
    types,
    application_name: "parley",
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    stream: () => {
      const socket = new Socket();
      sockets.add(socket);
      return socket.once("close", () => sockets.delete(socket));
    },
  };
  const connect = async (special: pg.ClientConfig, more = "") => {
    const client = new pg.Client({ ...config, ...special });
    client.on("error", () => {});
    try {
      await client.connect();
      await client.query({ text: setUp + more, query_timeout: SESSION_TIMEOUT_MS } as pg.QueryConfig);
      return client;
    } catch (error) {
      void client.end().catch(() => {});
      throw error;
    }
  };
  const session = new PostgresSession(
    () => connect({ pipeline: true, query_timeout: SESSION_TIMEOUT_MS }),
    alone,
    callbacks,
  );
  try {
    const client = await connect({});
    const other = await connect({});
    await refuseTransactionPooler(client, other).finally(() => other.end());
    await session.enter();
    // No timeouts: migrating a lot of data takes time, and so does waiting for another node's migration.
    await client.query("SET statement_timeout = 0; SET lock_timeout = 0");
    await bringSchema(client).finally(() => client.end());
    await session.poll();
  } catch (error) {
    // Destroy sockets instead of ending connections: a server that hangs would not answer.
    for (const socket of sockets) socket.destroy();
    await session.close();
    if (error instanceof OperatorError) throw error;
    throw new OperatorError(
      `PARLEY_DATABASE_URL cannot be used as the database: ${(error as Error).message || "no connection"}.`,
      { cause: error },
    );
  }
  const reader = alone ? undefined : () => connect(READER_CONFIG, `; ${READ_ONLY}; ${READER_SET_UP}`);
  return new PostgresDatabase({ ...config, query_timeout: answerTimeout }, setUp, session, sockets, reader);
}

class PostgresDatabase implements Database {
  readonly numbersEvents = false;
  readonly background: BackgroundReader = new BackgroundReader({
    allValues: (each) => this.allValues(each, false),
  });
  readonly #pool: pg.Pool;
  readonly #transactions: Transactions;
  readonly #lane: Lane;
  /** Undefined if nobody else may use the database. */
  readonly #reader: SharedReader | undefined;
  readonly #session: PostgresSession;
  /** The sockets of all connections. */
  readonly #sockets: ReadonlySet<Socket>;
  readonly #prepared = new Map<string, { name: string; text: string }>();
  /**
   * The last write per key of `serializeBy`, such as a user whose rows are counted, or a conversation. Such writes run one by one
   * on this node, because they would conflict.
   */
  readonly #turns = new Map<string, Promise<void>>();
  /** Keys with writes that conflicted with another node's. Until none waits here, each write takes a lock that nodes share. */
  readonly #contended = new Set<string>();
  #waitingTurns = 0;
  #conflicts = 0;
  #closed: Promise<void> | undefined;

  constructor(
    config: pg.ClientConfig,
    setUp: string,
    session: PostgresSession,
    sockets: ReadonlySet<Socket>,
    connectReader?: () => Promise<pg.Client>,
  ) {
    this.#pool = new pg.Pool({ ...config, pipeline: true, max: POOL_SIZE });
    this.#pool.on("error", () => {});
    this.#pool.on("connect", (client) => {
      client.on("error", () => {});
      // Queries are sent in order, so the first request on this connection runs after its set-up.
      for (const sql of [setUp, KNOW_INCARNATION, READ_ONLY]) {
        client.query(sql).catch(() => void (client as unknown as pg.Client).end().catch(() => {}));
      }
    });
    this.#transactions = new Transactions(
      this.#pool,
      (statement) => this.#query(statement),
      () => this.#closed !== undefined,
    );
    this.#lane = new Lane(this.#transactions);
    if (connectReader) this.#reader = new SharedReader(connectReader, this.#pool, ANSWER_TIMEOUT_MS);
    this.#session = session;
    this.#sockets = sockets;
  }

  async all<R>(statement: Statement<R>): Promise<R[]> {
    return (await this.#read(this.#query(statement))).rows;
  }

  async get<R>(statement: Statement<R>): Promise<R | undefined> {
    return (await this.all(statement))[0];
  }

  async allValues<R extends unknown[]>(statement: Statement<R>, isShort = true): Promise<R[]> {
    const query: pg.QueryArrayConfig = { ...this.#query(statement), rowMode: "array" };
    return (await this.#read(query, isShort)).rows as unknown as R[];
  }

  async getValues<R extends unknown[]>(statement: Statement<R>): Promise<R | undefined> {
    return (await this.allValues(statement))[0];
  }

  async findBodies(...lookup: Parameters<Database["findBodies"]>): Promise<number[]> {
    return (await this.background.allValues(bodiesQuery(...lookup))).map(([id]) => id);
  }

  snapshot<T>(work: (db: QuickReader) => Promise<T>): Promise<T> {
    return this.background.run(async () => {
      this.#refuseMore();
      try {
        return await readSnapshot(this.#pool, (statement) => this.#query(statement), work);
      } catch (error) {
        throw postgresError(error);
      }
    });
  }

  revocations(): number | null {
    return this.#session.revocations();
  }

  serverTime(): number | null {
    return this.#session.serverTime();
  }

  connectionStats(): ConnectionStats {
    const { totalCount, idleCount } = this.#pool;
    const lostSessions = this.#session.lostCount();
    return { used: totalCount - idleCount, idle: idleCount, conflicts: this.#conflicts, lostSessions };
  }

  async claim(work: string): Promise<boolean> {
    try {
      return await this.#session.claim(work);
    } catch (error) {
      throw postgresError(error);
    }
  }

  async write<N extends WriteName>(name: N, input: WriteInput<N>): Promise<WriteResult<N>> {
    this.#refuseMore();
    const write = getWrite(name);
    const key = write.serializeBy?.(input);
    // Not while others with its key run: it would conflict with them.
    if (key === undefined || !this.#turns.has(key)) {
      const row = toBulkRow(name, input);
      const done = row && (await this.#lane.add(row, key));
      if (done === "contended") {
        if (key !== undefined) this.#contended.add(key);
      } else if (done) {
        if (write.publishesEvents) this.#session.notify();
        return done.value as WriteResult<N>;
      }
    }
    if (key === undefined) return this.#write(name, input);
    this.#waitingTurns++;
    const before = this.#turns.get(key);
    const mine = (before ?? Promise.resolve()).then(() => {
      this.#waitingTurns--;
      return this.#write(name, input, key);
    });
    const over = mine.then(
      () => {},
      () => {},
    );
    this.#turns.set(key, over);
    void over.then(() => {
      if (this.#turns.get(key) !== over) return;
      this.#turns.delete(key);
      this.#contended.delete(key);
    });
    return mine;
  }

  async #write<N extends WriteName>(name: N, input: WriteInput<N>, key?: string): Promise<WriteResult<N>> {
    const write = getWrite(name);
    for (let tries = 1; ; tries++) {
      try {
        const lock = key !== undefined && this.#contended.has(key) ? key : undefined;
        const result = (await this.#transactions.run(doAlone(name, input), lock)) as WriteResult<N>;
        // From now on this node refuses tokens that this write revoked.
        if (write.revokesTokens) await this.#session.poll().catch(() => {});
        if (write.publishesEvents) this.#session.notify();
        return result;
      } catch (error) {
        if (!isConflict(error) || tries === MAX_TRIES) throw postgresError(error);
        this.#conflicts++;
        if (key !== undefined) this.#contended.add(key);
        await sleep(RETRY_MS * tries * Math.random());
      }
    }
  }

  broadcast(texts: readonly string[]): void {
    this.#session.broadcast(texts);
  }

  queueLength(): number {
    return this.#pool.waitingCount + this.#waitingTurns + this.#lane.length;
  }

  close(): Promise<void> {
    this.#closed ??= this.#end();
    return this.#closed;
  }

  async #end(): Promise<void> {
    const cut = setTimeout(() => {
      for (const socket of this.#sockets) socket.destroy();
    }, CLOSE_TIMEOUT_MS);
    await this.#session.close();
    // Both at once: reads that the shared reader drops must not open connections of the pool.
    await Promise.all([this.#reader?.close(), this.#pool.end()]);
    await Promise.all(Array.from(this.#sockets, (socket) => new Promise((end) => socket.once("close", end))));
    clearTimeout(cut);
  }

  /** Returns a prepared statement, with numbered parameters instead of `?`. */
  #query({ sql, params }: Statement): pg.QueryConfig {
    let prepared = this.#prepared.get(sql);
    if (!prepared) {
      let number = 0;
      prepared = { name: `parley_${this.#prepared.size}`, text: sql.replaceAll("?", () => `$${++number}`) };
      this.#prepared.set(sql, prepared);
    }
    return { ...prepared, values: params };
  }

  async #read(query: pg.QueryConfig, isShort = false): Promise<pg.QueryResult> {
    this.#refuseMore();
    try {
      return await ((isShort && this.#reader) || this.#pool).query(query);
    } catch (error) {
      throw postgresError(error);
    }
  }

  #refuseMore(): void {
    if (this.#closed || this.queueLength() >= MAX_QUEUED) throw new ParleyError("unavailable");
    if (this.#session.isOutdated()) {
      throw new ParleyError(
        "unavailable",
        `A newer release has migrated the database, and this server (schema version ${VERSION}) cannot use it any more. ` +
          "Upgrade this server. Until then, use another one.",
      );
    }
  }
}

/**
 * Makes every statement find its rows by an index. A planner without statistics, or with small tables, prefers other plans: a
 * scan, which conflicts with all writes to the table; a bitmap, which reads and sorts all rows of a range although the index has
 * the first ten in order; a merge, which reads a range up to the wanted row. Up to version 17, a disabled plan that cannot be
 * avoided costs 10^10, and next to that all other costs look equal, so only tables of a few rows are scanned. Compiling (JIT)
 * takes longer than any of these statements.
 */
export const PLANNER = `SET jit = off; SET enable_seqscan = off; SET enable_bitmapscan = off;
  SET enable_mergejoin = off`;
/**
 * Settings that are not part of the connection's start-up, because a connection pooler may refuse unknown ones. Keep-alives let
 * the server drop a machine that has vanished, and its claims, within half a minute.
 */
const SET_UP = `SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3;
  SET lock_timeout = ${LOCK_TIMEOUT_MS}; SET idle_in_transaction_session_timeout = ${IDLE_TIMEOUT_MS}; ${PLANNER}`;
/**
 * Makes statements outside of a transaction read-only: they are sent after BEGIN without waiting, and must change nothing if BEGIN
 * fails, for example by a timeout.
 */
const READ_ONLY = "SET default_transaction_read_only = on";
