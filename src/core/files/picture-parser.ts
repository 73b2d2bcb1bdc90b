/** How many bytes a parser may take: many times the size of headers. Taking a byte costs a hundred times as much as moving it. */
export const MAX_TAKEN_BYTES = 1024 * 1024;
const NOTHING = Buffer.alloc(0);

/** A step of a parser. The functions below make steps, and describe them. */
type Step =
  | { kind: "take" | "keep" | "drop" | "blank"; bytes: number }
  | { kind: "peek" }
  | { kind: "emit"; bytes: Uint8Array };

/** A parser that pulls its bytes. It yields the step that it waits for. */
export type Parser<T> = Generator<Step, T, Buffer>;

/** Yields a copy of the next bytes. The copy is allocated at once, so use this only for few bytes. */
export const take = (bytes: number): Step => ({ kind: "take", bytes });
/** Moves the next bytes to the output. */
export const keep = (bytes: number): Step => ({ kind: "keep", bytes });
/** Skips the next bytes. */
export const drop = (bytes: number): Step => ({ kind: "drop", bytes });
/** Replaces the next bytes by as many zeros. */
export const blank = (bytes: number): Step => ({ kind: "blank", bytes });
/** Yields the next available bytes, at least one, and consumes none. They are valid until the next `yield`. */
export const peek: Step = { kind: "peek" };
/** Adds bytes to the output. */
export const emit = (bytes: Uint8Array): Step => ({ kind: "emit", bytes });

/** Runs a parser that pulls bytes on pushed chunks of any size. It holds only the bytes that the parser takes. */
export class PullParser<T> {
  /** What the parser has returned. */
  result: T | undefined;
  isDone = false;
  readonly #parser: Parser<T>;
  readonly #exceeded: () => T;
  #allowance = MAX_TAKEN_BYTES;
  #kind: Step["kind"] = "drop";
  #taken = NOTHING;
  /** How many bytes of the step are still to come. */
  #missing = 0;

  /** `exceeded` returns the result, or throws, if the parser takes too many bytes. */
  constructor(parser: Parser<T>, exceeded: () => T) {
    this.#parser = parser;
    this.#exceeded = exceeded;
    this.#resume(NOTHING, []);
  }

  /** Returns the output, which may share its memory with the chunk. Bytes after those that the parser wanted are ignored. */
  push(chunk: Uint8Array): Uint8Array[] {
    const output: Uint8Array[] = [];
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    let at = 0;
    while (at < bytes.length && !this.isDone) {
      if (this.#kind === "peek") {
        this.#resume(bytes.subarray(at), output);
        continue;
      }
      const count = Math.min(this.#missing, bytes.length - at);
      if (this.#kind === "take") bytes.copy(this.#taken, this.#taken.length - this.#missing, at, at + count);
      if (this.#kind === "keep") output.push(bytes.subarray(at, at + count));
      if (this.#kind === "blank") output.push(Buffer.alloc(count));
      at += count;
      this.#missing -= count;
      if (this.#missing === 0) this.#resume(this.#taken, output);
    }
    return output;
  }

  /** Lets the parser run until it waits for bytes. */
  #resume(bytes: Buffer, output: Uint8Array[]): void {
    let given = bytes;
    while (!this.isDone) {
      const next = this.#parser.next(given);
      if (next.done) {
        this.#finish(next.value);
        return;
      }
      const step = next.value;
      given = NOTHING;
      this.#kind = step.kind;
      if (step.kind === "peek") return;
      if (step.kind === "emit") {
        output.push(step.bytes);
        continue;
      }
      if (step.kind === "take") this.#allowance -= step.bytes;
      if (this.#allowance < 0) {
        this.#finish(this.#exceeded());
        return;
      }
      this.#taken = step.kind === "take" ? Buffer.allocUnsafe(step.bytes) : NOTHING;
      this.#missing = step.bytes;
      if (step.bytes > 0) return;
    }
  }

  #finish(result: T): void {
    this.result = result;
    this.isDone = true;
    this.#taken = NOTHING;
  }
}
