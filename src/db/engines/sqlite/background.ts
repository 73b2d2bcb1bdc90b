import type { Worker } from "node:worker_threads";
import { startThread } from "../../../assets.ts";
import { ParleyError } from "../../../errors.ts";
import type { Statement, ValuesReader } from "../../sql.ts";
import { type ReadResult, toError } from "./outcome.ts";
import type { ReaderData } from "./reader.ts";

const READER_YOUNG_MB = 8;
/** The maximum number of queued background reads. More are answered `unavailable`. */
const MAX_QUEUED_READS = 10_000;

interface Queued {
  resolve: (result: ReadResult) => void;
  reject: (error: unknown) => void;
}

/** Reads in a separate thread, which is started for the first read. */
export class BackgroundReader implements ValuesReader {
  readonly #data: ReaderData;
  readonly #onDamagedIndex: (cause: Error) => Promise<void>;
  #reader: Worker | undefined;
  readonly #running: Queued[] = [];
  #isClosed = false;

  /** `onDamagedIndex` rebuilds the search index. */
  constructor(data: ReaderData, onDamagedIndex: (cause: Error) => Promise<void>) {
    this.#data = data;
    this.#onDamagedIndex = onDamagedIndex;
  }

  async allValues<R extends unknown[]>(statement: Statement<R>): Promise<R[]> {
    const result = await this.#ask(statement);
    if ("rows" in result) return result.rows as R[];
    const error = toError(result.failure);
    if (!result.isDamagedIndex) throw error;
    await this.#onDamagedIndex(error);
    throw new ParleyError("unavailable", undefined, { cause: error });
  }

  #ask({ sql, params }: Statement): Promise<ReadResult> {
    if (this.#isClosed || this.#running.length >= MAX_QUEUED_READS)
      return Promise.reject(new ParleyError("unavailable"));
    const { promise, resolve, reject } = Promise.withResolvers<ReadResult>();
    this.#running.push({ resolve, reject });
    this.#reader ??= this.#start();
    this.#reader.postMessage({ sql, params });
    return promise;
  }

  #start(): Worker {
    const reader = startThread(new URL("./reader.ts", import.meta.url), {
      workerData: this.#data,
      resourceLimits: { maxYoungGenerationSizeMb: READER_YOUNG_MB },
    });
    let failure: unknown;
    reader.on("message", (result: ReadResult) => this.#running.shift()!.resolve(result));
    reader.on("error", (error) => {
      failure = error;
    });
    reader.on("exit", () => {
      this.#reader = undefined;
      for (const { reject } of this.#running.splice(0))
        reject(new ParleyError("unavailable", undefined, { cause: failure }));
    });
    return reader;
  }

  /** Ends the thread after the running reads have finished. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const reader = this.#reader;
    if (reader) await new Promise((resolve) => reader.once("exit", resolve).postMessage("close"));
  }
}
