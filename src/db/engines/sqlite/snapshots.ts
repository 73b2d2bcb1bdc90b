import type { DatabaseSync } from "node:sqlite";
import { ParleyError } from "../../../errors.ts";
import type { QuickReader } from "../../sql.ts";
import { ConnectionReader } from "./connection.ts";

/** The maximum number of queued snapshots. More are answered `unavailable`. */
const MAX_QUEUED = 10_000;

/**
 * Reads one state of the database over several turns of the event loop. All reads share the main thread, so one snapshot at a time is
 * as fast as several. They have their own connection, opened for the first one: the transaction of other reads ends with each turn.
 */
export class Snapshots {
  readonly #connect: () => DatabaseSync;
  #db: DatabaseSync | undefined;
  #reader: ConnectionReader | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #queued = 0;

  constructor(connect: () => DatabaseSync) {
    this.#connect = connect;
  }

  run<T>(work: (db: QuickReader) => Promise<T>): Promise<T> {
    if (this.#queued >= MAX_QUEUED) return Promise.reject(new ParleyError("unavailable"));
    this.#queued++;
    const result = this.#last.then(() => this.#run(work));
    const leave = () => void this.#queued--;
    this.#last = result.then(leave, leave);
    return result;
  }

  async #run<T>(work: (db: QuickReader) => Promise<T>): Promise<T> {
    this.#db ??= this.#connect();
    this.#reader ??= new ConnectionReader(this.#db);
    this.#reader.begin();
    try {
      return await work(this.#reader);
    } finally {
      this.#reader.end();
    }
  }

  /** Closes the connection after the running snapshots. */
  async close(): Promise<void> {
    await this.#last;
    this.#db?.close();
  }
}
