/** When this process last saw each user, until it is stored. */
export class Activity {
  #seen = new Map<string, number>();

  /** Milliseconds. */
  note(userId: string, at: number): void {
    this.#seen.set(userId, at);
  }

  /**
   * Returns all since the last call, in the same order on all nodes, so that two nodes that write the same rows wait
   * for each other instead of deadlocking.
   */
  take(): [userId: string, at: number][] {
    const seen = [...this.#seen].sort(([a], [b]) => (a < b ? -1 : 1));
    if (seen.length > 0) this.#seen = new Map();
    return seen;
  }

  /** Restores what could not be stored, unless the user was seen again since. */
  putBack(seen: [userId: string, at: number][]): void {
    for (const [userId, at] of seen) if (!this.#seen.has(userId)) this.#seen.set(userId, at);
  }
}
