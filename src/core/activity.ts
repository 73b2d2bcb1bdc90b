/** When users were last seen by this process, until it is written down. */
export class Activity {
  #seen = new Map<string, number>();

  /** Milliseconds. */
  note(userId: string, at: number): void {
    this.#seen.set(userId, at);
  }

  /** All since the last time, in one order on all nodes: two that write the same rows then wait, and do not cross. */
  take(): [userId: string, at: number][] {
    const seen = [...this.#seen].sort(([a], [b]) => (a < b ? -1 : 1));
    if (seen.length > 0) this.#seen = new Map();
    return seen;
  }

  /** What could not be written down after all; who was seen again since is not set back. */
  putBack(seen: [userId: string, at: number][]): void {
    for (const [userId, at] of seen) if (!this.#seen.has(userId)) this.#seen.set(userId, at);
  }
}
