/** How long the storage counts as full after it refused a write, in milliseconds. */
const FULL_MS = 60_000;

/** Whether the storage has room: the disk, or that of the database server or the S3 store. */
export class Space {
  /** Whether the server is ready while the storage is full: reads and deletions work. */
  readonly isReadyWhenFull: boolean;
  #refusedAt = Number.NEGATIVE_INFINITY;

  constructor(isReadyWhenFull: boolean) {
    this.isReadyWhenFull = isReadyWhenFull;
  }

  /** Notes that a write found no room. */
  noteRefusal(): void {
    this.#refusedAt = performance.now();
  }

  isFull(): boolean {
    return performance.now() - this.#refusedAt < FULL_MS;
  }
}
