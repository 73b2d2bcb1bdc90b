import { openDB } from "idb";
import type { Store } from "./store.ts";

const ENTRIES = "entries";
/** Greater than all other characters of a key. */
const END = "\uffff";

/** Keeps entries in an IndexedDB of this name. All tabs of an origin with the same name share one copy and one connection. */
export async function indexedDbStore(name = "parley"): Promise<Store> {
  const database = await openDB(name, 1, {
    upgrade: (opened) => void opened.createObjectStore(ENTRIES),
    // Another tab deletes it, which would otherwise wait for this one.
    blocking: (_current, _blocked, { target }) => (target as IDBDatabase).close(),
  });
  return {
    name,
    get: (key) => database.get(ENTRIES, key),
    async scan(prefix) {
      const { store } = database.transaction(ENTRIES);
      const range = IDBKeyRange.bound(prefix, prefix + END);
      const [keys, values] = await Promise.all([store.getAllKeys(range), store.getAll(range)]);
      return keys.map((key, at) => [String(key), values[at]] as const);
    },
    async write(batch) {
      const { store, done } = database.transaction(ENTRIES, "readwrite", { durability: "strict" });
      const requests = [...batch].map(([key, value]) =>
        value === null ? store.delete(key) : store.put(value, key),
      );
      await Promise.all([...requests, done]);
    },
    erase: () => database.clear(ENTRIES),
    close: async () => database.close(),
  };
}
