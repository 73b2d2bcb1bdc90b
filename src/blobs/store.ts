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
  /** Starts a blob, which cannot be read until it is stored. The key is new: 32 random hexadecimal digits. */
  create(key: string): Promise<BlobWriter>;
  /**
   * Continues a blob that grows over several requests, or starts it. It keeps no intent: the caller has recorded the key
   * before.
   */
  grow(key: string, grown: Grown): Promise<GrowingBlob>;
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

/**
 * Writes one blob. The order is `write`…, `store`, the commit of the row, then `settle`; or `discard` at any moment before the
 * commit. Until `settle` an intent survives crashes, so that the sweep finds the blob.
 */
export interface BlobWriter {
  readonly key: string;
  /** Whether a request whose answer was lost may still write to the store, after the blob was stored or removed. */
  readonly isUnsure: boolean;
  write(chunk: Uint8Array): Promise<void>;
  /** Makes the bytes durable under the key. */
  store(): Promise<void>;
  settle(): Promise<void>;
  /** Resolves only if nothing of the blob is left, and nothing can appear later. */
  discard(): Promise<void>;
}

/** How far a growing blob has come, as its last `sync` left it. */
export interface Grown {
  /** Bytes. */
  size: number;
  /** The `parts` of the blob then; null for a new one. */
  parts: string | null;
  /** Whether what continued the blob before may still be at work: another process, or a request without an answer. */
  isTaken: boolean;
}

/** A blob that grows over several requests. The order is `write`…, `sync`, again and again; `store`; and `close` in every case. */
export interface GrowingBlob {
  /** Bytes, with those written. At first it can be less than was durable, if the store takes whole parts, or all, if the blob was stored. */
  readonly size: number;
  /** What `grow` needs to continue after the last `sync`. */
  readonly parts: string | null;
  /** What `grow` needs to continue as if nothing had been written since. */
  readonly partsBefore: string | null;
  write(chunk: Uint8Array): Promise<void>;
  /** Makes bytes durable, and returns how many are, from the first on. The others must be written again, if they are not kept elsewhere. */
  sync(): Promise<number>;
  /** The bytes that the last `sync` did not make durable; valid until the next `write`. */
  rest(): Uint8Array;
  /** Makes all bytes durable under the key. */
  store(): Promise<void>;
  close(): Promise<void>;
}
