import { ParleyError } from "../../../errors.ts";
import type { Statement, ValuesReader } from "../../sql.ts";

/** Each read occupies a process of the database, which competes with other statements for CPU time. */
const READS_AT_ONCE = 2;
/** The maximum number of queued background reads. More are answered `unavailable`. */
const MAX_QUEUED_READS = 10_000;

/** Runs a few reads at once, in the order in which they are requested. */
export class BackgroundReader implements ValuesReader {
  readonly #reader: ValuesReader;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(reader: ValuesReader) {
    this.#reader = reader;
  }

  allValues<R extends unknown[]>(statement: Statement<R>): Promise<R[]> {
    return this.run(() => this.#reader.allValues(statement));
  }

  /** Runs reads of another kind in their turn. */
  async run<T>(read: () => Promise<T>): Promise<T> {
    if (this.#waiting.length >= MAX_QUEUED_READS) throw new ParleyError("unavailable");
    if (this.#running < READS_AT_ONCE) this.#running++;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await read();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running--;
    }
  }
}
