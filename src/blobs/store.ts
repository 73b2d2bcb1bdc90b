/** Reads a store, which may be read-only, such as a backup. */
export interface BlobReader {
  /**
   * Returns the bytes from `start` to `end`, both included. A chunk is valid until the next is requested. Rejects if the blob
   * does not exist. Iterate over the result in every case: that closes the file.
   */
  read(key: string, start: number, end: number): Promise<AsyncIterable<Uint8Array>>;
  /** Returns the bytes; undefined if the blob does not exist. */
  size(key: string): Promise<number | undefined>;
  /**
   * Lists everything in the store in batches, except blobs for which the store itself holds an intent. So each listed blob
   * either was committed before, or was discarded since, or is an orphan.
   */
  list(): AsyncIterable<StoredItem[]>;
  /**
   * The store's record of uploads that are running or that a crash interrupted. Null if the store cannot distinguish them from
   * files: then rows of the database are the intents (`db/queries/storage/intents.ts`).
   */
  readonly intents: Intents | null;
}

interface Intents {
  /** Returns the keys of their blobs. */
  list(): Promise<string[]>;
}

interface SweptIntents extends Intents {
  /**
   * Settles the intents that a crash left: drops those of live blobs, and erases the blobs of all others. Returns the number of
   * erased blobs. Skips blobs that this process is writing. Passes each failure to `onError` and continues. Intents that
   * failed, or that are left when `isStopped` is true, stay for the next sweep.
   */
  sweep(
    isLive: (key: string) => Promise<boolean>,
    onError: (error: unknown) => void,
    isStopped: () => boolean,
  ): Promise<number>;
}

export interface StoredItem {
  /** The name within the store, to show to people. */
  name: string;
  /** Null if it is not a blob, and so was not created by this store. */
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
  /** In bytes. Smaller files cost less in the database, with their rows. */
  readonly minFileBytes: number;
  /** Starts a blob that is written in one request. The key is new: 32 random hexadecimal digits. */
  create(key: string): Promise<BlobWriter>;
  /** Starts or continues a blob that grows over several requests. It has no intent: the caller has already recorded the key. */
  resume(key: string, from: Grown): Promise<BlobWriter>;
  /** Erases the bytes permanently. A missing blob counts as erased. */
  remove(key: string): Promise<void>;
  readonly intents: SweptIntents | null;
  /** Throws `unavailable` if the store does not work now. Only stores across a network have it. */
  checkReady?(): Promise<void>;
  /**
   * Returns a URL from which clients can fetch the blob themselves, with this type and Content-Disposition, for this
   * many seconds.
   */
  address?(key: string, answer: { type: string; disposition: string; seconds: number }): Promise<string>;
  /** Aborts all requests. Only stores across a network have it. */
  close?(): void;
}

/** The state of a growing blob at its last `sync`. */
export interface Grown {
  /** Bytes. */
  size: number;
  /** The `parts` of its writer at that time; null for a new blob. */
  parts: string | null;
  /** Whether an earlier writer may still be active: another process, or a request whose response is missing. */
  isTaken: boolean;
}

/**
 * Writes one blob. Call `write` for each chunk, then `store`, commit the row, then `settle`. Call `discard` to give up before the
 * commit, and `close` in every case. For a blob that grows, call `sync` at the end of each request. Until `settle`, the
 * intent of a created blob survives crashes, so that the sweep finds it.
 */
export interface BlobWriter {
  readonly key: string;
  /**
   * The size in bytes, including bytes that are only written. A new writer of a growing blob can start below the durable size, if
   * the store keeps only whole parts, or at the full size, if the blob was already stored.
   */
  readonly size: number;
  /** Whether a request whose response was lost may still write to the store, even after the blob was stored or removed. */
  readonly isUnsure: boolean;
  /** Pass this to `resume` to continue after the last `sync`. */
  readonly parts: string | null;
  /** Pass this to `resume` to continue as if this writer had written nothing. */
  readonly partsBefore: string | null;
  write(chunk: Uint8Array): Promise<void>;
  /** Makes bytes durable, and returns how many are, counted from the first. Keep the others elsewhere, or write them again. */
  sync(): Promise<number>;
  /** Returns the bytes that the last `sync` did not make durable; valid until the next `write`. */
  rest(): Uint8Array;
  /** Makes all bytes durable under the key. Nothing can be written after it. */
  store(): Promise<void>;
  settle(): Promise<void>;
  /** Resolves only if no bytes of the blob are left, and none can appear later. */
  discard(): Promise<void>;
  /** Releases the memory and the file. */
  close(): Promise<void>;
}
