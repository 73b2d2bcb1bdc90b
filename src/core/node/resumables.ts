/** What this process knows of a resumable upload beside its row. */
interface Known {
  /** The `holder` of the row while this process continues the upload. */
  holder: string;
  facts: object;
}

/** How many uploads are remembered. The bytes of others are read again at their end. */
const MAX_REMEMBERED = 2000;

interface Turn {
  end: () => void;
  done: Promise<void>;
}

/** What this process has in memory of resumable uploads. */
export class Resumables {
  readonly #turns = new Map<string, Turn>();
  readonly #known = new Map<string, Known>();

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

  /** Returns what was computed of the bytes of an upload; undefined if another process has continued it. */
  find(id: string, holder: string): object | undefined {
    const known = this.#known.get(id);
    return known?.holder === holder ? known.facts : undefined;
  }

  /** Remembers that this process continues the upload, and what it computes of the bytes: the state of a hash cannot be stored. */
  add(id: string, holder: string, facts: object): void {
    this.#known.set(id, { holder, facts });
    if (this.#known.size > MAX_REMEMBERED) this.#known.delete(this.#known.keys().next().value!);
  }

  forget(id: string): void {
    this.#known.delete(id);
  }
}
