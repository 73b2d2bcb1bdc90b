import { createHash, type Hash } from "node:crypto";
import { Utf8Check } from "../../util/utf8.ts";

/** What this process knows of an upload beside its row: the state of a hash cannot be stored. */
export interface Progress {
  /** The `holder` of the row while this process continues the upload. */
  holder: string;
  hash: Hash;
  crc32: number;
  utf8: Utf8Check;
  /** How many bytes were hashed. */
  size: number;
}

/** How many uploads are remembered. The bytes of others are read again at their end. */
const MAX_REMEMBERED = 10_000;

interface Turn {
  end: () => void;
  done: Promise<void>;
}

/** What this process has in memory of resumable uploads. */
export class Resumables {
  readonly #turns = new Map<string, Turn>();
  readonly #progress = new Map<string, Progress>();

  /**
   * Runs one request for an upload at a time, the newest: it ends the one before, which keeps what has come in, and waits for it. A
   * client whose network has changed need not wait until the server sees that its old connection is dead. `end` ends this one.
   */
  async inTurn<T>(upload: string, end: () => void, run: () => Promise<T>): Promise<T> {
    const { promise: done, resolve } = Promise.withResolvers<void>();
    const turn = { end, done };
    const before = this.#turns.get(upload);
    this.#turns.set(upload, turn);
    before?.end();
    try {
      await before?.done;
      return await run();
    } finally {
      resolve();
      if (this.#turns.get(upload) === turn) this.#turns.delete(upload);
    }
  }

  /** Returns the progress of an upload, unless another process has continued it. */
  find(id: string, holder: string): Progress | undefined {
    const known = this.#progress.get(id);
    return known?.holder === holder ? known : undefined;
  }

  /** Remembers that this process continues the upload, of which it has hashed nothing. */
  add(id: string, holder: string): Progress {
    const progress = { holder, hash: createHash("sha256"), crc32: 0, utf8: new Utf8Check(), size: 0 };
    this.#progress.set(id, progress);
    if (this.#progress.size > MAX_REMEMBERED) this.#progress.delete(this.#progress.keys().next().value!);
    return progress;
  }

  forget(id: string): void {
    this.#progress.delete(id);
  }
}
