/** The downloads of one attachment by link from one address. */
interface Counted {
  attachmentId: string;
  address: string;
  count: number;
}

/** How many pairs of attachment and address to keep in memory until they are written. */
const MAX_PAIRS = 5000;

/** Counts downloads by link in memory until the background job writes them into the audit trail. */
export class DownloadLog {
  readonly #onFull: () => void;
  #counted = new Map<string, Counted>();
  #lost = 0;

  /** `onFull` is called when no further pair can be kept. */
  constructor(onFull: () => void) {
    this.#onFull = onFull;
  }

  /** Called for every download by link. */
  note(attachmentId: string, address: string): void {
    const key = `${attachmentId} ${address}`;
    const known = this.#counted.get(key);
    if (known) known.count++;
    else if (this.#counted.size >= MAX_PAIRS) this.#lost++;
    else {
      this.#counted.set(key, { attachmentId, address, count: 1 });
      if (this.#counted.size === MAX_PAIRS) this.#onFull();
    }
  }

  /** Returns the counts since the last call, and how many downloads could not be counted. */
  take(): { counted: Counted[]; lost: number } {
    const taken = { counted: [...this.#counted.values()], lost: this.#lost };
    this.#counted = new Map();
    this.#lost = 0;
    return taken;
  }
}
