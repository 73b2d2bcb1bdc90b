import { ParleyError } from "../../../errors.ts";
import type { Statement, ValuesReader } from "../../sql.ts";

/** Each occupies a process of the database, which others' statements share the processors with. */
const READS_AT_ONCE = 2;
/** Background reads that may wait for others; one more is answered `unavailable`. */
const MAX_QUEUED_READS = 10_000;

/** Reads a few statements at once, in the order in which they come. */
export class BackgroundReader implements ValuesReader {
  readonly #reader: ValuesReader;
  readonly #waiting: (() => void)[] = [];
  #underWay = 0;

  constructor(reader: ValuesReader) {
    this.#reader = reader;
  }

  async allValues<R extends unknown[]>(statement: Statement<R>): Promise<R[]> {
    if (this.#waiting.length >= MAX_QUEUED_READS) throw new ParleyError("unavailable");
    if (this.#underWay < READS_AT_ONCE) this.#underWay++;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await this.#reader.allValues(statement);
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#underWay--;
    }
  }
}
