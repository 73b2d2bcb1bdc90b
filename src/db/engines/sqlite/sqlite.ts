import { DatabaseSync } from "node:sqlite";
import { setTimeout } from "node:timers/promises";
import type { Worker } from "node:worker_threads";
import { startThread } from "../../../assets.ts";
import { OperatorError, ParleyError } from "../../../errors.ts";
import type { Fuse } from "../../../util/fuse.ts";
import {
  type Callbacks,
  type Database,
  NO_CALLBACKS,
  type WriteInput,
  type WriteName,
  type WriteResult,
} from "../../database.ts";
import type { QuickReader } from "../../sql.ts";
import { getWrite } from "../../writes.ts";
import { BackgroundReader } from "./background.ts";
import { ConnectionReader } from "./connection.ts";
import { migrate } from "./migrate.ts";
import { type Ask, type BatchResult, toError } from "./outcome.ts";
import { bodiesQuery } from "./search.ts";
import { Snapshots } from "./snapshots.ts";
import type { WriterData } from "./writer.ts";

/** How long a statement waits for a write of another process, such as the command line. */
const BUSY_TIMEOUT_MS = 5000;
/** The writer's input is garbage after each batch, so a larger heap would only waste memory. */
const WRITER_YOUNG_MB = 8;
/** Cache for database pages. SQLite's default of 2 MiB holds the rows of about 3,000 contacts. */
const CACHE_KIB = 16 * 1024;
const CLOSE_POLL_MS = 5;
/** The maximum number of writes that wait for a commit. More are answered `unavailable`. */
const MAX_QUEUED_WRITES = 10_000;

interface Queued extends Ask {
  resolve: (result: unknown) => void;
  reject: (error: unknown) => void;
}

/** Opens the database file, or creates it. `bringSchema` migrates or checks its schema. */
export function openSqlite(
  path: string,
  fuse: Fuse,
  bringSchema: (db: DatabaseSync) => void = migrate,
  callbacks: Callbacks = NO_CALLBACKS,
): Database {
  const db = connect(path);
  try {
    const { journal_mode } = db.prepare("PRAGMA journal_mode = WAL").get() as { journal_mode: string };
    if (journal_mode !== "wal")
      throw new OperatorError(`${path} cannot have a write-ahead log. Put it on a local disk.`);
    db.exec("PRAGMA synchronous = FULL");
    bringSchema(db);
    db.exec("PRAGMA query_only = ON");
    db.exec(`PRAGMA cache_size = -${CACHE_KIB}`);
  } catch (error) {
    db.close();
    if (error instanceof OperatorError) throw error;
    throw new OperatorError(`${path} cannot be used as the database: ${(error as Error).message}.`, {
      cause: error,
    });
  }
  return new SqliteDatabase(db, path, fuse, callbacks);
}

function connect(path: string): DatabaseSync {
  try {
    return new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
  } catch (error) {
    throw new OperatorError(`${path} cannot be opened: ${(error as Error).message}.`, { cause: error });
  }
}

function connectReadOnly(path: string): DatabaseSync {
  const db = connect(path);
  db.exec("PRAGMA query_only = ON");
  return db;
}

/** Reads in the calling thread and writes in another thread. */
class SqliteDatabase extends ConnectionReader implements Database {
  readonly numbersEvents = true;
  readonly background: BackgroundReader;
  readonly #snapshots: Snapshots;
  readonly #path: string;
  readonly #fuse: Fuse;
  readonly #callbacks: Callbacks;
  #writer: Worker | undefined;
  #waiting: Queued[] = [];
  #batch: Queued[] = [];
  #inSnapshot = false;
  #dataVersion = 0;
  #revocations = 0;
  #closed: Promise<void> | undefined;

  constructor(db: DatabaseSync, path: string, fuse: Fuse, callbacks: Callbacks) {
    super(db);
    this.#path = path;
    this.#fuse = fuse;
    this.#callbacks = callbacks;
    const data = { path, busyTimeoutMs: BUSY_TIMEOUT_MS, cacheKib: CACHE_KIB };
    this.background = new BackgroundReader(data, async (cause) => {
      callbacks.onDamagedIndex(cause);
      await this.write("rebuildIndex", undefined);
    });
    this.#snapshots = new Snapshots(() => connectReadOnly(path));
  }

  async findBodies(...lookup: Parameters<Database["findBodies"]>): Promise<number[]> {
    return (await this.background.allValues(bodiesQuery(...lookup))).map(([id]) => id);
  }

  snapshot<T>(work: (db: QuickReader) => Promise<T>): Promise<T> {
    if (this.#closed) return Promise.reject(new ParleyError("unavailable"));
    return this.#snapshots.run(work);
  }

  revocations(): number {
    this.beforeRead();
    return this.#revocations;
  }

  serverTime(): null {
    return null;
  }

  connectionStats(): null {
    return null;
  }

  /** Always true: a data folder has only one server. */
  async claim(): Promise<boolean> {
    return true;
  }

  write<N extends WriteName>(name: N, input: WriteInput<N>): Promise<WriteResult<N>> {
    if (this.#closed || this.#fuse.blown || this.queueLength() >= MAX_QUEUED_WRITES) {
      return Promise.reject(new ParleyError("unavailable"));
    }
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#waiting.push({ name, input, resolve, reject });
    // All writes that arrive in this turn of the event loop share the commit and its sync.
    if (this.#waiting.length === 1 && this.#batch.length === 0) setImmediate(this.#send);
    return promise as Promise<WriteResult<N>>;
  }

  /** Calls this process: a data folder has only one server. */
  broadcast(texts: readonly string[]): void {
    this.#callbacks.onBroadcast(texts);
  }

  queueLength(): number {
    return this.#waiting.length + this.#batch.length;
  }

  /** Closes the database after the waiting writes have finished. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    while (this.queueLength() > 0) await setTimeout(CLOSE_POLL_MS);
    const writer = this.#writer;
    if (writer) {
      this.#writer = undefined;
      await new Promise((resolve) => writer.once("exit", resolve).postMessage("close"));
    }
    await this.background.close();
    await this.#snapshots.close();
    this.#closeSnapshot();
    this.db.close();
  }

  /**
   * Opens a read transaction for all reads of this turn of the event loop, because locking for each costs as much as a small read.
   * It ends before any write is answered, so that a client that has the answer also reads the write.
   */
  protected override beforeRead(): void {
    if (this.#inSnapshot) return;
    this.begin();
    this.#inSnapshot = true;
    setImmediate(this.#closeSnapshot);
    try {
      const { data_version } = this.prepare("PRAGMA data_version").get() as { data_version: number };
      if (data_version === this.#dataVersion) return;
      this.#revocations = (this.prepare("SELECT count FROM revocations").get() as { count: number }).count;
      this.#dataVersion = data_version;
    } catch (error) {
      this.#closeSnapshot();
      throw error;
    }
  }

  #closeSnapshot = (): void => {
    if (!this.#inSnapshot) return;
    this.#inSnapshot = false;
    this.end();
  };

  /** Passes all waiting writes to the writer; those that arrive meanwhile form the next batch. */
  #send = (): void => {
    if (this.#batch.length > 0 || this.#waiting.length === 0) return;
    const batch = this.#waiting;
    this.#waiting = [];
    try {
      // Check again: the fuse may have blown since these writes were accepted.
      this.#fuse.check();
      this.#writer ??= this.#startWriter();
    } catch (error) {
      for (const queued of batch) queued.reject(error);
      return;
    }
    this.#batch = batch;
    this.#writer.postMessage(batch.map(({ name, input }): Ask => ({ name, input })));
  };

  #startWriter(): Worker {
    const workerData: WriterData = { path: this.#path, busyTimeoutMs: BUSY_TIMEOUT_MS };
    const writer = startThread(new URL("./writer.ts", import.meta.url), {
      workerData,
      resourceLimits: { maxYoungGenerationSizeMb: WRITER_YOUNG_MB },
    });
    let isReady = false;
    let failure: unknown;
    writer.on("message", (answer: BatchResult | "ready") => {
      if (answer === "ready") isReady = true;
      else this.#settle(answer);
    });
    writer.on("error", (error) => {
      failure = error;
    });
    writer.on("exit", () => {
      const reason = isReady
        ? new ParleyError("outcome_unknown", undefined, {
            cause: failure ?? new Error("The thread that writes has ended."),
          })
        : new ParleyError("unavailable", undefined, { cause: failure });
      this.#loseWriter(writer, reason);
    });
    return writer;
  }

  #settle({ outcomes, damage, damagedIndex }: BatchResult): void {
    this.#closeSnapshot();
    if (damagedIndex) this.#callbacks.onDamagedIndex(toError(damagedIndex));
    if (damage) this.#fuse.blow(toError(damage));
    if (outcomes.length === 0) return;
    const batch = this.#batch;
    this.#batch = [];
    this.#send();
    if (batch.some(({ name }) => getWrite(name).publishesEvents)) this.#callbacks.onEvents();
    for (const [i, outcome] of outcomes.entries()) {
      if ("result" in outcome) batch[i]!.resolve(outcome.result);
      else batch[i]!.reject(toError(outcome.failure));
    }
  }

  /**
   * Handles the end of the thread. The outcome of its last batch is unknown, unless the thread was never ready. The next write
   * starts another thread.
   */
  #loseWriter(writer: Worker, reason: Error): void {
    if (this.#writer !== writer) return;
    this.#writer = undefined;
    const batch = this.#batch;
    this.#batch = [];
    this.#send();
    for (const queued of batch) queued.reject(reason);
  }
}
