/** The reading side of a store, also of one that must not be changed, such as a backup. */
export interface BlobReader {
  /**
   * Returns the bytes from `start` to `end` inclusive; a chunk is valid until the next is requested. Rejects if the blob does
   * not exist. The result must be iterated, which closes the file.
   */
  read(key: string, start: number, end: number): Promise<AsyncIterable<Uint8Array>>;
  /** Returns the bytes; undefined if the blob does not exist. */
  size(key: string): Promise<number | undefined>;
  /**
   * Lists everything in the store, some at a time, except blobs with an intent of the store itself. So a listed blob was
   * committed before, or discarded since, or nothing will ever settle it.
   */
  list(): AsyncIterable<StoredItem[]>;
  /**
   * The store's own record of uploads that are under way, or that a crash interrupted. Null: it cannot tell them from
   * files, so rows of the database are the intents (`db/queries/storage/intents.ts`).
   */
  readonly intents: Intents | null;
}

interface Intents {
  /** Returns the keys of their blobs. */
  list(): Promise<string[]>;
}

interface SweptIntents extends Intents {
  /**
   * Settles what a crash left: drops an intent whose blob is live, and erases the blob of any other. Returns how many
   * blobs were erased. Leaves alone what this process is writing. Passes each failure to `onError` and continues; what
   * failed, and what is left once `isStopped`, stays for the next sweep.
   */
  sweep(
    isLive: (key: string) => Promise<boolean>,
    onError: (error: unknown) => void,
    isStopped: () => boolean,
  ): Promise<number>;
}

export interface StoredItem {
  /** The name within the store, for people. */
  name: string;
  /** Null if this is no blob, so this store did not create it. */
  key: string | null;
}

const KEY = /^[0-9a-f]{32}$/;

export function isKey(name: string): boolean {
  return KEY.test(name);
}

/** Throws if the key is malformed. */
export function requireKey(name: string): string {
  if (!isKey(name)) throw new Error("Not a key of this store.");
  return name;
}

/** Stores the bytes of files. Keys are random, so nothing that a user sends becomes a path. */
export interface BlobStore extends BlobReader {
  /** Bytes. Smaller files cost less in the database, beside their rows. */
  readonly minFileBytes: number;
  /** Starts a blob of one request. The key is new: 32 random hexadecimal digits. */
  create(key: string): Promise<BlobWriter>;
  /** Continues a blob that grows over several requests, or starts it. It has no intent: the caller has recorded the key before. */
  resume(key: string, from: Grown): Promise<BlobWriter>;
  /** Erases the bytes permanently. A missing blob counts as erased. */
  remove(key: string): Promise<void>;
  readonly intents: SweptIntents | null;
  /** For a store across a network: throws `unavailable` if it does not work now. */
  checkReady?(): Promise<void>;
  /**
   * Returns a URL from which clients can fetch the blob themselves, as this type, with this Content-Disposition, for this many
   * seconds.
   */
  address?(key: string, answer: { type: string; disposition: string; seconds: number }): Promise<string>;
  /** Aborts the requests of a store across a network. */
  close?(): void;
}

/** How far a blob that grows has come, as its last `sync` left it. */
export interface Grown {
  /** Bytes. */
  size: number;
  /** The `parts` of the blob then; null for a new one. */
  parts: string | null;
  /** Whether an earlier writer of the blob may still be at work: another process, or a request without an answer. */
  isTaken: boolean;
}

/**
 * Writes one blob. The order is `write`…, `store`, the commit of the row, then `settle`; `discard` at any moment before the commit;
 * and `close` in every case. A blob that grows has a `sync` at the end of each request. Until `settle` the intent of a created blob
 * survives crashes, so that the sweep finds it.
 */
export interface BlobWriter {
  readonly key: string;
  /** Bytes, with those written. At first it can be less than was durable, if the store takes whole parts, or all, if the blob was stored. */
  readonly size: number;
  /** Whether a request whose answer was lost may still write to the store, after the blob was stored or removed. */
  readonly isUnsure: boolean;
  /** What `resume` needs to continue after the last `sync`. */
  readonly parts: string | null;
  /** What `resume` needs to continue as if nothing had been written since. */
  readonly partsBefore: string | null;
  write(chunk: Uint8Array): Promise<void>;
  /** Makes bytes durable, and returns how many are, from the first on. The others must be written again, if they are not kept elsewhere. */
  sync(): Promise<number>;
  /** Returns the bytes that the last `sync` did not make durable; valid until the next `write`. */
  rest(): Uint8Array;
  /** Makes all bytes durable under the key. Nothing can be written after it. */
  store(): Promise<void>;
  settle(): Promise<void>;
  /** Resolves only if nothing of the blob is left, and nothing can appear later. */
  discard(): Promise<void>;
  /** Releases memory and file. */
  close(): Promise<void>;
}
