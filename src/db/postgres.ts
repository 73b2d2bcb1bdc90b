import { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { OperatorError, ParleyError } from "../errors.ts";
import type { Database, WriteInput, WriteName, WriteResult } from "./database.ts";
import { isConflict, isLost, isNeverGiven, postgresError } from "./postgres-errors.ts";
import { migratePostgres } from "./postgres-migrate.ts";
import { PostgresSession } from "./postgres-session.ts";
import type { Statement, Value, Write } from "./sql.ts";
import { countedUser, revoking, telling, writes } from "./writes.ts";

/** Connections of a node, beside the one of its session. */
const POOL_SIZE = 10;
/** How long a request waits for a connection. */
const CONNECT_TIMEOUT_MS = 5000;
const STATEMENT_TIMEOUT_MS = 10_000;
/** How long an answer is waited for: a server that hangs, or is cut off, does not end its statements itself. */
const ANSWER_TIMEOUT_MS = 11_000;
/** The same for the session, which asks for next to nothing. */
const SESSION_TIMEOUT_MS = 5000;
/** How long a close waits for the server's part in it. */
const CLOSE_TIMEOUT_MS = 1000;
const LOCK_TIMEOUT_MS = 5000;
/** How long a transaction may wait for its node. */
const IDLE_TIMEOUT_MS = 10_000;
/** Requests that may wait for a connection; one more is answered `unavailable`. */
const MAX_QUEUED = 10_000;
/** How often a write that another one crossed is done again. */
const MAX_TRIES = 20;
const RETRY_MS = 5;
/** How long the outcome of a commit whose answer was lost is looked for. */
const OUTCOME_TIMEOUT_MS = 15_000;
const OUTCOME_POLL_MS = 100;

const INT8 = 20;
const NUMERIC = 1700;

/** Numbers arrive as numbers: times, sizes and versions are all far below 2^53. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: "text" | "binary") =>
    oid === INT8 || oid === NUMERIC ? Number : pg.types.getTypeParser(oid, format as "text"),
};

/**
 * Connects, and sees by `bringSchema` that the schema is of this code's version. `alone`: where nobody else uses the
 * database, and so that nobody does meanwhile.
 */
export async function openPostgres(
  url: string,
  bringSchema: (client: pg.ClientBase) => Promise<void> = migratePostgres,
  alone = false,
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
  const connect = async (more: pg.ClientConfig) => {
    const client = new pg.Client({ ...config, ...more });
    client.on("error", () => {});
    try {
      await client.connect();
      await client.query({ text: setUp, query_timeout: SESSION_TIMEOUT_MS } as pg.QueryConfig);
      return client;
    } catch (error) {
      void client.end().catch(() => {});
      throw error;
    }
  };
  const session = new PostgresSession(
    () => connect({ pipeline: true, query_timeout: SESSION_TIMEOUT_MS }),
    alone,
  );
  try {
    await session.enter();
    const client = await connect({});
    // A migration of much data takes its time, and so may one that waits for that of another node.
    await client.query("SET statement_timeout = 0; SET lock_timeout = 0");
    await bringSchema(client).finally(() => client.end());
    await session.poll();
  } catch (error) {
    // Not asked to end: a server that hangs would not.
    for (const socket of sockets) socket.destroy();
    await session.close();
    if (error instanceof OperatorError) throw error;
    throw new OperatorError(
      `PARLEY_DATABASE_URL cannot be used as the database: ${(error as Error).message || "no connection"}.`,
      { cause: error },
    );
  }
  return new PostgresDatabase({ ...config, query_timeout: answerTimeout }, setUp, session, sockets);
}

class PostgresDatabase implements Database {
  readonly #pool: pg.Pool;
  readonly #session: PostgresSession;
  /** Of all connections. */
  readonly #sockets: ReadonlySet<Socket>;
  readonly #prepared = new Map<string, { name: string; text: string }>();
  /** The last write of each user for whom it counts something: on this node they go one after another, as they would cross. */
  readonly #turns = new Map<string, Promise<void>>();
  #waitingTurns = 0;
  #closed: Promise<void> | undefined;

  constructor(
    config: pg.ClientConfig,
    setUp: string,
    session: PostgresSession,
    sockets: ReadonlySet<Socket>,
  ) {
    this.#pool = new pg.Pool({ ...config, pipeline: true, max: POOL_SIZE });
    this.#pool.on("error", () => {});
    this.#pool.on("connect", (client) => {
      client.on("error", () => {});
      // Queries go out in order: whoever waits for this connection uses it as it is set up.
      for (const sql of [setUp, KNOW_INCARNATION, READ_ONLY]) {
        client.query(sql).catch(() => void (client as unknown as pg.Client).end().catch(() => {}));
      }
    });
    this.#session = session;
    this.#sockets = sockets;
  }

  async all<R>(sql: string, ...params: Value[]): Promise<R[]> {
    return (await this.#read(this.#query({ sql, params }))).rows;
  }

  async get<R>(sql: string, ...params: Value[]): Promise<R | undefined> {
    return (await this.#read(this.#query({ sql, params }))).rows[0];
  }

  async allValues<R extends unknown[]>(sql: string, ...params: Value[]): Promise<R[]> {
    const query: pg.QueryArrayConfig = { ...this.#query({ sql, params }), rowMode: "array" };
    return (await this.#read(query)).rows as unknown as R[];
  }

  async getValues<R extends unknown[]>(sql: string, ...params: Value[]): Promise<R | undefined> {
    return (await this.allValues<R>(sql, ...params))[0];
  }

  get onEvents(): () => void {
    return this.#session.onEvents;
  }

  set onEvents(listener: () => void) {
    this.#session.onEvents = listener;
  }

  revocations(): number | null {
    return this.#session.revocations();
  }

  async claim(work: string): Promise<boolean> {
    try {
      return await this.#session.claim(work);
    } catch (error) {
      throw postgresError(error);
    }
  }

  async write<N extends WriteName>(name: N, input: WriteInput<N>): Promise<WriteResult<N>> {
    const userId = countedUser(name, input);
    if (userId === undefined) return this.#write(name, input);
    this.#refuseMore();
    this.#waitingTurns++;
    const before = this.#turns.get(userId);
    const mine = (before ?? Promise.resolve()).then(() => {
      this.#waitingTurns--;
      return this.#write(name, input);
    });
    const over = mine.then(
      () => {},
      () => {},
    );
    this.#turns.set(userId, over);
    void over.then(() => {
      if (this.#turns.get(userId) === over) this.#turns.delete(userId);
    });
    return mine;
  }

  async #write<N extends WriteName>(name: N, input: WriteInput<N>): Promise<WriteResult<N>> {
    const start = () => (writes[name] as (input: unknown) => Write<WriteResult<N>>)(input);
    for (let tries = 1; ; tries++) {
      try {
        const result = await this.#transaction(start());
        // What was revoked here is refused here from now on.
        if (revoking.has(name)) await this.#session.poll().catch(() => {});
        if (telling.has(name)) this.#session.tell();
        return result;
      } catch (error) {
        if (!isConflict(error) || tries === MAX_TRIES) throw postgresError(error);
        await sleep(RETRY_MS * tries * Math.random());
      }
    }
  }

  queueLength(): number {
    return this.#pool.waitingCount + this.#waitingTurns;
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
    await this.#pool.end();
    await Promise.all(Array.from(this.#sockets, (socket) => new Promise((end) => socket.once("close", end))));
    clearTimeout(cut);
  }

  /** A prepared statement: `?` stands for each parameter, which PostgreSQL wants numbered. */
  #query({ sql, params }: Statement): pg.QueryConfig {
    let prepared = this.#prepared.get(sql);
    if (!prepared) {
      let number = 0;
      prepared = { name: `parley_${this.#prepared.size}`, text: sql.replaceAll("?", () => `$${++number}`) };
      this.#prepared.set(sql, prepared);
    }
    return { ...prepared, values: params };
  }

  async #read(query: pg.QueryConfig): Promise<pg.QueryResult> {
    this.#refuseMore();
    try {
      return await this.#pool.query(query);
    } catch (error) {
      throw postgresError(error);
    }
  }

  #refuseMore(): void {
    if (this.#closed || this.queueLength() >= MAX_QUEUED) throw new ParleyError("unavailable");
  }

  /** Runs the steps in one serialisable transaction. Statements that are yielded together go out together. */
  async #transaction<T>(steps: Write<T>): Promise<T> {
    this.#refuseMore();
    const client = await this.#pool.connect();
    let ended: Ended<T>;
    let broken: Error | undefined;
    try {
      ended = await this.#attempt(client, steps);
      broken = ended.lost?.cause;
    } catch (error) {
      // Whatever state the connection is in, no other request meets it, unless the transaction was rolled back on it.
      if (!(error instanceof ParleyError) && !isConflict(error)) broken = error as Error;
      throw error;
    } finally {
      client.release(broken);
    }
    // Not before the connection is given back: those that look for an outcome need one, all of them at once maybe.
    if (ended.lost) await this.#findOutcome(ended.lost);
    return ended.value;
  }

  async #attempt<T>(client: pg.PoolClient, steps: Write<T>): Promise<Ended<T>> {
    let identity: Identity | undefined;
    let step = steps.next();
    try {
      while (!step.done) {
        const begin = identity ? [] : [client.query(BEGIN)];
        const work = step.value.map((statement) => client.query(this.#query(statement)));
        const identify = identity ? [] : [client.query(IDENTIFY)];
        const results = await allOf([...begin, ...work, ...identify]);
        identity ??= results.at(-1)!.rows[0] as Identity;
        step = steps.next(results.slice(begin.length, begin.length + work.length).map(({ rows }) => rows));
      }
    } catch (error) {
      if (!isLost(error)) await client.query("ROLLBACK");
      throw error;
    }
    if (!identity) return { value: step.value };
    try {
      await client.query("COMMIT");
    } catch (error) {
      if (!isLost(error)) throw error;
      return { value: step.value, lost: { ...identity, cause: error as Error } };
    }
    return { value: step.value };
  }

  /**
   * The answer to a COMMIT was lost: asks PostgreSQL itself, on another connection, what became of the transaction, and
   * waits while the old backend is still at work. Returns where it was committed; throws `unavailable` where it was not,
   * `outcome_unknown` where that cannot be told.
   */
  async #findOutcome({ xid, incarnation, cause }: LostCommit): Promise<void> {
    const deadline = performance.now() + OUTCOME_TIMEOUT_MS;
    for (; performance.now() < deadline && !this.#closed; await sleep(OUTCOME_POLL_MS)) {
      const row = await this.#pool.query<Outcome>(this.#query({ sql: FIND_OUTCOME, params: [xid] })).then(
        ({ rows }) => rows[0],
        (error) => (isNeverGiven(error) ? NOT_COMMITTED : undefined),
      );
      if (!row || row.status === "in progress") continue;
      if (row.status === "aborted") throw new ParleyError("unavailable", undefined, { cause });
      // After a crash the number may have been given again, to a transaction that was committed.
      if (row.status === "committed" && incarnation !== null && row.incarnation === incarnation) return;
      break;
    }
    throw new ParleyError("outcome_unknown", undefined, { cause });
  }
}

/** What a transaction is found again by. */
interface Identity {
  xid: string;
  /** What PostgreSQL has kept since its last crash; null: nothing. */
  incarnation: string | null;
}

/** A COMMIT that was sent and has no answer. */
interface LostCommit extends Identity {
  cause: Error;
}

/** A transaction whose steps all succeeded. */
interface Ended<T> {
  value: T;
  lost?: LostCommit;
}

interface Outcome {
  /** Null: it is too long ago. */
  status: "in progress" | "committed" | "aborted" | null;
  incarnation: string | null;
}

const NOT_COMMITTED: Outcome = { status: "aborted", incarnation: null };

/**
 * Not sent with the connection's start, as a connection pooler may refuse what it does not know. Every statement finds its
 * rows by an index; a scan of a small table, which a planner prefers, would cross all writes to it. Keep-alives let the
 * server drop a machine that has vanished, and what it had claimed, within half a minute.
 */
const SET_UP = `SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3;
  SET lock_timeout = ${LOCK_TIMEOUT_MS};
  SET idle_in_transaction_session_timeout = ${IDLE_TIMEOUT_MS}; SET enable_seqscan = off`;
const BEGIN = "BEGIN ISOLATION LEVEL SERIALIZABLE READ WRITE";
/** Statements are sent behind BEGIN before its answer: where it fails, as by a time-out, they must not be done alone. */
const READ_ONLY = "SET default_transaction_read_only = on";
const IDENTIFY = {
  name: "parley_identify",
  text: "SELECT pg_current_xact_id()::text AS xid, (SELECT id FROM incarnation) AS incarnation",
};
const FIND_OUTCOME = "SELECT pg_xact_status(?::xid8) AS status, (SELECT id FROM incarnation) AS incarnation";
const KNOW_INCARNATION = `INSERT INTO incarnation (one, id) VALUES (true, gen_random_uuid()::text)
  ON CONFLICT DO NOTHING`;

/** All results, or the first error, but not before each has come to an end: the connection is then at rest. */
async function allOf(queries: Promise<pg.QueryResult>[]): Promise<pg.QueryResult[]> {
  const settled = await Promise.allSettled(queries);
  return settled.map((each) => {
    if (each.status === "rejected") throw each.reason;
    return each.value;
  });
}
