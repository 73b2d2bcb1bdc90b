/** What can be asked of a store, also of one that must not be changed, such as a backup. */
export interface BlobReader {
  /**
   * The bytes from `start` to `end` inclusive; a chunk is valid until the next is asked for. Rejects where there is no
   * such blob. What it resolves with must be iterated: that closes the file.
   */
  read(key: string, start: number, end: number): Promise<AsyncIterable<Uint8Array>>;
  /** Bytes; undefined where there is no such blob. */
  size(key: string): Promise<number | undefined>;
  /**
   * All that lies in the store, some at a time, but for blobs with an intent of the store's own. A blob that is told was
   * therefore committed before, or discarded since, or nothing will ever settle it.
   */
  list(): AsyncIterable<Entry[]>;
  /**
   * Keys of its intents: of uploads on their way in, or that a crash cut off, which `sweep` settles. A store without
   * this method cannot tell them from files: then rows of the database are the intents (`db/intents.ts`).
   */
  intents?(): Promise<string[]>;
}

export interface Entry {
  /** Within the store, for people. */
  name: string;
  /** Null: it is no blob, and none of this store's making. */
  key: string | null;
}

const KEY = /^[0-9a-f]{32}$/;

export function isKey(name: string): boolean {
  return KEY.test(name);
}

/** Throws for what is no key. */
export function requireKey(name: string): string {
  if (!isKey(name)) throw new Error("Not a key of this store.");
  return name;
}

/** Where the bytes of files live. Keys are random: nothing of a user's ever becomes a path. */
export interface BlobStore extends BlobReader {
  /** Smaller files cost more here than they do beside their rows, in the database. Bytes. */
  readonly minFileBytes: number;
  /** Starts a new blob, which nothing reads until it is stored. The key is new, 32 random hexadecimal digits. */
  create(key: string): Promise<BlobWriter>;
  /** Erases the bytes for good. A blob that is missing counts as erased. */
  remove(key: string): Promise<void>;
  /**
   * Where it keeps intents, settles what a crash left: an intent whose blob is live is dropped, one without is erased with its bytes.
   * Returns how many blobs were erased. Writers of this process that are not settled are left alone. One that fails
   * is told to `onError` and left to the next sweep, and so is the rest once `isStopped`.
   */
  sweep?(
    isLive: (key: string) => Promise<boolean>,
    onError: (error: unknown) => void,
    isStopped: () => boolean,
  ): Promise<number>;
  /** Where it is across a network: throws `unavailable` where it cannot do its work now. */
  checkReady?(): Promise<void>;
  /**
   * Where clients may fetch blobs themselves: an address that gives the blob as this type, under this
   * Content-Disposition, and that is valid for so many seconds.
   */
  address?(key: string, answer: { type: string; disposition: string; seconds: number }): Promise<string>;
  /** Ends what is under way across a network. */
  close?(): void;
}

/**
 * One blob on its way in. The order is `write`…, `store`, then the row is committed, then `settle`; or, at any
 * moment before the commit, `discard`. Until it is settled an intent survives crashes, so that the sweep finds it.
 */
export interface BlobWriter {
  readonly key: string;
  write(chunk: Uint8Array): Promise<void>;
  /** Makes the bytes durable under the key. */
  store(): Promise<void>;
  settle(): Promise<void>;
  /** Resolves only where nothing of the blob is left, nor can come any more. */
  discard(): Promise<void>;
}
