/** When this process last saw each user and each token, by id, until it is stored. */
export class Activity {
  #seen = new Map<string, number>();

  /** Milliseconds. */
  note(id: string, at: number): void {
    this.#seen.set(id, at);
  }

  /**
   * Returns all since the last call, in the same order on all nodes, so that two nodes that write the same rows wait
   * for each other instead of deadlocking.
   */
  take(): [id: string, at: number][] {
    const seen = [...this.#seen].sort(([a], [b]) => (a < b ? -1 : 1));
    if (seen.length > 0) this.#seen = new Map();
    return seen;
  }

  /** Restores what could not be stored, unless it was seen again since. */
  putBack(seen: [id: string, at: number][]): void {
    for (const [id, at] of seen) if (!this.#seen.has(id)) this.#seen.set(id, at);
  }
}
