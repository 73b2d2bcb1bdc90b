import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { ParleyError } from "../../../errors.ts";
import type { Statement } from "../../sql.ts";
import type { Write } from "../../write.ts";
import type { BulkRow } from "./bulks/bulk.ts";
import { bulkStatement, finish, storeResults } from "./bulks/bulks.ts";
import { isConflict, isLockTimeout, isLost, isNeverGiven } from "./errors.ts";
import {
  findOutcome,
  IDENTIFY,
  type Identity,
  type LostCommit,
  NOT_COMMITTED,
  type Outcome,
} from "./outcome.ts";

/** How long a transaction of many writes waits for a lock. After that each write runs alone, and waits longer. */
const BULK_LOCK_TIMEOUT_MS = 500;
/** How long to try to find the outcome of a commit whose answer was lost. */
const OUTCOME_TIMEOUT_MS = 15_000;
const OUTCOME_POLL_MS = 100;

const LOCK = "SELECT pg_advisory_lock(1, hashtext($1))";
const UNLOCK = "SELECT pg_advisory_unlock_all()";
/** Finds the locks that another session holds or waits for, and takes the others until the end of the transaction. */
const FIND_TAKEN = {
  name: "parley_find_taken",
  text: "SELECT key FROM unnest($1::text[]) key WHERE NOT pg_try_advisory_xact_lock_shared(1, hashtext(key))",
};
const BEGIN = "BEGIN ISOLATION LEVEL SERIALIZABLE READ WRITE";
/** Forbids joins that read a whole table: planners prefer them for small tables, but they conflict with all writes to it. */
const BEGIN_BULK = `${BEGIN}; SET LOCAL lock_timeout = ${BULK_LOCK_TIMEOUT_MS};
  SET LOCAL enable_hashjoin = off`;

/** One of many writes in a transaction. */
export interface BulkWrite {
  row: BulkRow;
  /** The advisory lock to take when the write conflicts with another node's. */
  lock: string | undefined;
  /** Set when the row was found and the write is done. */
  done?: { value: unknown };
}

/** Another node holds these locks for its writes. */
export class Contended extends Error {
  readonly locks: ReadonlySet<string>;

  constructor(locks: ReadonlySet<string>) {
    super(`Another node holds ${locks.size} of the locks.`);
    this.locks = locks;
  }
}

/** Runs serializable transactions on connections of a pool. */
export class Transactions {
  readonly #pool: pg.Pool;
  readonly #toQuery: (statement: Statement) => pg.QueryConfig;
  readonly #isClosed: () => boolean;

  constructor(pool: pg.Pool, toQuery: (statement: Statement) => pg.QueryConfig, isClosed: () => boolean) {
    this.#pool = pool;
    this.#toQuery = toQuery;
    this.#isClosed = isClosed;
  }

  /** Runs the steps of one write, if need be under a lock that all nodes use. */
  async run<T>(steps: Write<T>, lock?: string): Promise<T> {
    const { value, lost } = await this.#onConnection((client) => this.#tryOnce(client, steps), lock);
    // Only after the connection is released: finding outcomes needs connections, possibly all at once.
    if (lost) await this.findOutcome(lost);
    return value;
  }

  /**
   * Runs writes in one transaction, in two round trips: their rows, then the results to store for retries, with the commit. Returns
   * the commit if its answer was lost. Throws `Contended` if another node has the lock of one of them: that node's write would
   * never succeed beside many of these.
   */
  async runBulk(writes: readonly BulkWrite[]): Promise<LostCommit | undefined> {
    return (await this.#onConnection((client) => this.#attemptBulk(client, writes))).lost;
  }

  /**
   * Takes a connection, and the lock before the transaction begins: a transaction that waited for the lock would see the state from
   * when it began to wait.
   */
  async #onConnection<T>(
    work: (client: pg.PoolClient) => Promise<Ended<T>>,
    lock?: string,
  ): Promise<Ended<T>> {
    const client = await this.#pool.connect();
    let broken: Error | undefined;
    try {
      if (lock !== undefined) await client.query(LOCK, [lock]);
      const ended = await work(client);
      broken = ended.lost?.cause;
      return ended;
    } catch (error) {
      // The connection is reused only if the transaction was rolled back on it.
      const isRolledBack =
        error instanceof ParleyError ||
        error instanceof Contended ||
        isConflict(error) ||
        isLockTimeout(error);
      if (!isRolledBack) broken = error as Error;
      throw error;
    } finally {
      // A broken connection also releases the lock.
      if (lock !== undefined && !broken) await client.query(UNLOCK).catch((error) => (broken = error));
      client.release(broken);
    }
  }

  /** Runs the steps in one transaction. Statements that are yielded together are sent together. */
  async #tryOnce<T>(client: pg.PoolClient, steps: Write<T>): Promise<Ended<T>> {
    let identity: Identity | undefined;
    let step = steps.next();
    try {
      while (!step.done) {
        const begin = identity ? [] : [client.query(BEGIN), client.query(IDENTIFY)];
        const work = step.value.map((each) => client.query(this.#toQuery(each)));
        const results = await allOf([...begin, ...work]);
        identity ??= results[1]!.rows[0] as Identity;
        step = steps.next(results.slice(begin.length).map(({ rows }) => rows));
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

  async #attemptBulk(client: pg.PoolClient, writes: readonly BulkWrite[]): Promise<Ended<void>> {
    let identity: Identity | undefined;
    try {
      const parts = inTurn(writes);
      const locks = new Set(writes.flatMap(({ lock }) => lock ?? []));
      const [, identified, ...results] = await allOf([
        client.query(BEGIN_BULK),
        client.query(IDENTIFY),
        ...(locks.size > 0 ? [client.query({ ...FIND_TAKEN, values: [[...locks]] })] : []),
        ...parts.map((part) => client.query(this.#toQuery(bulkStatement(part.map(({ row }) => row))))),
      ]);
      const taken = locks.size > 0 ? results.shift()!.rows : [];
      if (taken.length > 0) throw new Contended(new Set(taken.map(({ key }) => key)));
      const found = parts.flatMap((part, i) => results[i]!.rows.map((row) => ({ write: part[row.n]!, row })));
      identity = identified!.rows[0] as Identity;
      const stored = found.flatMap(({ write, row }) => {
        const { value, stored } = finish(write.row, row);
        write.done = { value };
        return stored;
      });
      await allOf([
        ...(stored.length > 0 ? [client.query(this.#toQuery(storeResults(stored)))] : []),
        client.query("COMMIT"),
      ]);
      return { value: undefined };
    } catch (error) {
      if (!isLost(error)) await client.query("ROLLBACK");
      else if (identity) return { value: undefined, lost: { ...identity, cause: error as Error } };
      throw error;
    }
  }

  /**
   * Finds the outcome after the answer to a COMMIT was lost: asks PostgreSQL on another connection, and waits while the
   * old backend is still working. Returns if the transaction was committed. Throws `unavailable` if it was not, and
   * `outcome_unknown` if that cannot be found out.
   */
  async findOutcome({ xid, incarnation, cause }: LostCommit): Promise<void> {
    const deadline = performance.now() + OUTCOME_TIMEOUT_MS;
    for (; performance.now() < deadline && !this.#isClosed(); await sleep(OUTCOME_POLL_MS)) {
      const row = await this.#pool.query<Outcome>(this.#toQuery(findOutcome(xid))).then(
        ({ rows }) => rows[0],
        (error) => (isNeverGiven(error) ? NOT_COMMITTED : undefined),
      );
      if (!row || row.status === "in progress") continue;
      if (row.status === "aborted") throw new ParleyError("unavailable", undefined, { cause });
      // After a crash, a committed transaction may have reused the number.
      if (row.status === "committed" && incarnation !== null && row.incarnation === incarnation) return;
      break;
    }
    throw new ParleyError("outcome_unknown", undefined, { cause });
  }
}

/** A transaction whose steps all succeeded. */
interface Ended<T> {
  value: T;
  lost?: LostCommit;
}

/** Divides writes into statements: rows of one bulk that may be done together, each after those before it that share a place. */
function inTurn(writes: readonly BulkWrite[]): BulkWrite[][] {
  const turns: Map<unknown, BulkWrite[]>[] = [];
  const last = new Map<string, { turn: number; bulk?: unknown }>();
  for (const write of writes) {
    const { toStatement: bulk, places, commonPlace } = write.row;
    const common = commonPlace === undefined ? undefined : last.get(commonPlace);
    const afterCommon = common ? common.turn + (common.bulk === bulk ? 0 : 1) : 0;
    const turn = Math.max(afterCommon, ...places.map((place) => (last.get(place)?.turn ?? -1) + 1));
    for (const place of places) last.set(place, { turn });
    if (commonPlace !== undefined) last.set(commonPlace, { turn, bulk });
    turns[turn] ??= new Map();
    const part = turns[turn].get(bulk);
    if (part) part.push(write);
    else turns[turn].set(bulk, [write]);
  }
  return turns.flatMap((turn) => [...turn.values()]);
}

/** Returns all results or throws the first error, once all have settled, so that the connection is idle. */
async function allOf(queries: Promise<pg.QueryResult>[]): Promise<pg.QueryResult[]> {
  const settled = await Promise.allSettled(queries);
  return settled.map((each) => {
    if (each.status === "rejected") throw each.reason;
    return each.value;
  });
}
