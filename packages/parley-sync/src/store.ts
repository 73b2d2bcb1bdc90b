/** JSON, or the bytes of a file. */
export type Value = object;

/** Changes by key; null deletes. */
export type Batch = ReadonlyMap<string, Value | null>;

/** Where the copy is kept: entries with keys. Keys are ASCII. */
export interface Store {
  /** The name by which other tabs find the same entries; undefined if no other process has them. */
  readonly name?: string | undefined;
  get(key: string): Promise<unknown>;
  /** Returns the entries whose keys begin with the prefix, in any order. */
  scan(prefix: string): Promise<(readonly [key: string, value: unknown])[]>;
  /** Writes all of the changes or none, and resolves once they are durable. */
  write(batch: Batch): Promise<void>;
  /** Deletes all entries. */
  erase(): Promise<void>;
  close(): Promise<void>;
}

/** Keeps entries as long as the process runs. */
export function memoryStore(): Store {
  const entries = new Map<string, Value>();
  return {
    get: async (key) => entries.get(key),
    scan: async (prefix) => [...entries].filter(([key]) => key.startsWith(prefix)),
    write: async (batch) => {
      for (const [key, value] of batch) {
        if (value === null) entries.delete(key);
        else entries.set(key, value);
      }
    },
    erase: async () => entries.clear(),
    close: async () => {},
  };
}
