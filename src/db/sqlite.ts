import { DatabaseSync, type StatementSync } from "node:sqlite";
import { OperatorError, ParleyError } from "../errors.ts";
import type { Fuse } from "../util/fuse.ts";
import type { Database, WriteInput, WriteName, WriteResult } from "./database.ts";
import { migrate } from "./migrate.ts";
import type { Value, Write } from "./sql.ts";
import { writes } from "./writes.ts";

/** How long a statement waits for another process, such as the command line, to end its write. */
const BUSY_TIMEOUT_MS = 5000;
/** Writes that may wait for one commit; one more is answered `unavailable`. */
const MAX_QUEUED_WRITES = 10_000;

// https://sqlite.org/rescode.html, primary codes
const SQLITE_BUSY = 5;
const SQLITE_IOERR = 10;
const SQLITE_FULL = 13;

interface Queued {
  name: WriteName;
  input: unknown;
  resolve: (result: unknown) => void;
  reject: (error: unknown) => void;
}

/** Opens the database file, makes it where it is missing, and brings its schema up to this code's version. */
export function openSqlite(path: string, fuse: Fuse): Database {
  const db = connect(path);
  try {
    // FULL is set in words: some builds of SQLite fall back to NORMAL in WAL mode, which loses commits on a power cut.
    const { journal_mode } = db.prepare("PRAGMA journal_mode = WAL").get() as { journal_mode: string };
    if (journal_mode !== "wal")
      throw new OperatorError(`${path} cannot have a write-ahead log. Put it on a local disk.`);
    db.exec("PRAGMA synchronous = FULL");
    migrate(db);
  } catch (error) {
    db.close();
    if (error instanceof OperatorError) throw error;
    throw new OperatorError(`${path} cannot be used as the database: ${(error as Error).message}.`, {
      cause: error,
    });
  }
  return new SqliteDatabase(db, fuse);
}

function connect(path: string): DatabaseSync {
  try {
    return new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
  } catch (error) {
    throw new OperatorError(`${path} cannot be opened: ${(error as Error).message}.`, { cause: error });
  }
}

class SqliteDatabase implements Database {
  readonly #db: DatabaseSync;
  readonly #fuse: Fuse;
  readonly #statements = new Map<string, StatementSync>();
  #queue: Queued[] = [];
  #closed: Promise<void> | undefined;

  constructor(db: DatabaseSync, fuse: Fuse) {
    this.#db = db;
    this.#fuse = fuse;
  }

  async all<R>(sql: string, ...params: Value[]): Promise<R[]> {
    return this.#prepare(sql).all(...params) as R[];
  }

  async get<R>(sql: string, ...params: Value[]): Promise<R | undefined> {
    return this.#prepare(sql).get(...params) as R | undefined;
  }

  write<N extends WriteName>(name: N, input: WriteInput<N>): Promise<WriteResult<N>> {
    return new Promise<unknown>((resolve, reject) => {
      if (this.#closed || this.#fuse.blown || this.#queue.length >= MAX_QUEUED_WRITES) {
        reject(new ParleyError("unavailable"));
        return;
      }
      this.#queue.push({ name, input, resolve, reject });
      // Whatever else arrives in this turn of the event loop shares the commit and its sync.
      if (this.#queue.length === 1) setImmediate(() => this.#commitQueue());
    }) as Promise<WriteResult<N>>;
  }

  queueLength(): number {
    return this.#queue.length;
  }

  /** Lets the waiting writes finish first. */
  close(): Promise<void> {
    this.#closed ??= new Promise((resolve) => {
      setImmediate(() => {
        this.#db.close();
        resolve();
      });
    });
    return this.#closed;
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (!statement) {
      statement = this.#db.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  /** One transaction for all that wait, each in a savepoint, so that one that fails fails alone. */
  #commitQueue(): void {
    const batch = this.#queue;
    this.#queue = [];
    const settle: (() => void)[] = [];
    try {
      // Looked at again: it may have blown since these were taken.
      this.#fuse.check();
      this.#run("BEGIN IMMEDIATE");
      for (const queued of batch) settle.push(this.#runQueued(queued));
      this.#run("COMMIT");
    } catch (error) {
      if (primaryCode(error) === SQLITE_IOERR) this.#fuse.blow(error);
      this.#rollBack();
      const reason = engineError(error);
      for (const queued of batch) queued.reject(reason);
      return;
    }
    for (const answer of settle) answer();
  }

  #rollBack(): void {
    try {
      if (this.#db.isTransaction) this.#run("ROLLBACK");
    } catch (error) {
      // A transaction that can be neither committed nor rolled back: nothing more can be written here.
      this.#fuse.blow(error);
    }
  }

  #runQueued(queued: Queued): () => void {
    this.#run("SAVEPOINT one");
    try {
      const write = writes[queued.name] as (input: unknown) => Write<unknown>;
      const result = this.#drive(write(queued.input));
      this.#run("RELEASE one");
      return () => queued.resolve(result);
    } catch (error) {
      // Some faults, a full disk among them, end the whole transaction: then none of it is kept.
      if (!this.#db.isTransaction) throw error;
      this.#run("ROLLBACK TO one");
      this.#run("RELEASE one");
      return () => queued.reject(engineError(error));
    }
  }

  #drive<T>(write: Write<T>): T {
    let step = write.next();
    while (!step.done) step = write.next(this.#prepare(step.value.sql).all(...step.value.params));
    return step.value;
  }

  #run(sql: string): void {
    this.#prepare(sql).run();
  }
}

function primaryCode(error: unknown): number {
  return ((error as { errcode?: number }).errcode ?? 0) & 0xff;
}

/** What the service knows of an engine's error; others stay as they are and are logged as unknown. */
function engineError(error: unknown): unknown {
  const code = primaryCode(error);
  if (code === SQLITE_FULL) return new ParleyError("disk_full", undefined, { cause: error });
  if (code === SQLITE_BUSY) return new ParleyError("unavailable", undefined, { cause: error });
  return error;
}
