import { DatabaseSync, type StatementSync } from "node:sqlite";
import { ParleyError } from "../errors.ts";
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
const SQLITE_FULL = 13;

interface Job {
  name: WriteName;
  input: unknown;
  resolve: (result: unknown) => void;
  reject: (error: unknown) => void;
}

/** Opens the database file, makes it where it is missing, and brings its schema up to this code's version. */
export function openSqlite(path: string): Database {
  const db = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
  try {
    // FULL is set in words: some builds of SQLite fall back to NORMAL in WAL mode, which loses commits on a power cut.
    db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
    migrate(db);
  } catch (error) {
    db.close();
    throw error;
  }
  return new SqliteDatabase(db);
}

class SqliteDatabase implements Database {
  readonly #db: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  #queue: Job[] = [];
  #closed: Promise<void> | undefined;

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  async all<R>(sql: string, ...params: Value[]): Promise<R[]> {
    return this.#prepare(sql).all(...params) as R[];
  }

  async get<R>(sql: string, ...params: Value[]): Promise<R | undefined> {
    return this.#prepare(sql).get(...params) as R | undefined;
  }

  write<N extends WriteName>(name: N, input: WriteInput<N>): Promise<WriteResult<N>> {
    return new Promise<unknown>((resolve, reject) => {
      if (this.#closed || this.#queue.length >= MAX_QUEUED_WRITES) {
        reject(new ParleyError("unavailable"));
        return;
      }
      this.#queue.push({ name, input, resolve, reject });
      // Whatever else arrives in this turn of the event loop shares the commit and its sync.
      if (this.#queue.length === 1) setImmediate(() => this.#commitQueue());
    }) as Promise<WriteResult<N>>;
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
    const jobs = this.#queue;
    this.#queue = [];
    const settle: (() => void)[] = [];
    try {
      this.#run("BEGIN IMMEDIATE");
      for (const job of jobs) settle.push(this.#runJob(job));
      this.#run("COMMIT");
    } catch (error) {
      if (this.#db.isTransaction) this.#run("ROLLBACK");
      const reason = engineError(error);
      for (const job of jobs) job.reject(reason);
      return;
    }
    for (const answer of settle) answer();
  }

  #runJob(job: Job): () => void {
    this.#run("SAVEPOINT job");
    try {
      const write = writes[job.name] as (input: unknown) => Write<unknown>;
      const result = this.#drive(write(job.input));
      this.#run("RELEASE job");
      return () => job.resolve(result);
    } catch (error) {
      // Some faults, a full disk among them, end the whole transaction: then no job of it is kept.
      if (!this.#db.isTransaction) throw error;
      this.#run("ROLLBACK TO job");
      this.#run("RELEASE job");
      return () => job.reject(engineError(error));
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

/** What the service knows of an engine's error; others stay as they are and are logged as unknown. */
function engineError(error: unknown): unknown {
  const code = (error as { errcode?: number }).errcode;
  if (code === undefined) return error;
  if ((code & 0xff) === SQLITE_FULL) return new ParleyError("disk_full", undefined, { cause: error });
  if ((code & 0xff) === SQLITE_BUSY) return new ParleyError("unavailable", undefined, { cause: error });
  return error;
}
