import type { Copy } from "./copy.ts";
import { Draft } from "./draft.ts";
import { META, NOTHING } from "./entries.ts";
import type { Batch } from "./store.ts";

/** Returns the change that drops entries that did not parse, and has them read again. */
export function dropDamaged(copy: Copy, keys: readonly string[]): Batch {
  const draft = new Draft(copy);
  for (const key of keys) {
    draft.set(key, null);
    const [kind, id = ""] = key.split("/");
    if (kind === "talk" || kind === "stale") draft.markStale(id, "window");
    if (kind === "contact" && copy.meta) draft.set(META, { ...copy.meta, contactsFloor: NOTHING });
  }
  return draft.batch;
}

/** Returns the change that drops the messages of a conversation, and has them read again. */
export function dropWindow(copy: Copy, id: string, keys: readonly string[]): Batch {
  const draft = new Draft(copy);
  for (const key of keys) draft.set(key, null);
  draft.dropMessages(id);
  draft.markStale(id, "window");
  return draft.batch;
}
