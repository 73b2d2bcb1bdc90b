/** The state of a resumable upload that this process keeps in addition to its row. */
interface Known {
  /** The `holder` of the row while this process continues the upload. */
  holder: string;
  facts: object;
}

/** How many uploads to remember. The bytes of others are read again when they are complete. */
const MAX_REMEMBERED = 2000;

interface Turn {
  end: () => void;
  done: Promise<void>;
}

/** Keeps the state of resumable uploads in memory. */
export class Resumables {
  readonly #turns = new Map<string, Turn>();
  readonly #known = new Map<string, Known>();

  /**
   * Runs one request for an upload at a time. A new request ends the previous one, which keeps the bytes that have arrived, and waits
   * for it. So a client whose network has changed need not wait until the server notices its dead connection. `end` ends this
   * request.
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

  /** Returns the facts computed from the bytes of an upload; undefined if another process has continued it, or they were forgotten. */
  find(id: string, holder: string): object | undefined {
    const known = this.#known.get(id);
    return known?.holder === holder ? known.facts : undefined;
  }

  /** Remembers that this process continues the upload, and the facts about its bytes: the state of a hash cannot be stored. */
  add(id: string, holder: string, facts: object): void {
    this.#known.set(id, { holder, facts });
    if (this.#known.size > MAX_REMEMBERED) this.#known.delete(this.#known.keys().next().value!);
  }

  forget(id: string): void {
    this.#known.delete(id);
  }
}
