/** When users were last seen by this process, until it is written down. */
export class Activity {
  #seen = new Map<string, number>();

  /** Milliseconds. */
  note(userId: string, at: number): void {
    this.#seen.set(userId, at);
  }

  /** All since the last time. */
  take(): [userId: string, at: number][] {
    const seen = [...this.#seen];
    if (seen.length > 0) this.#seen = new Map();
    return seen;
  }
}
