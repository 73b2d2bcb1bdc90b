import { countTombstones as count } from "../db/tombstones.ts";
import type { Core } from "./core.ts";

/** Writes that wait for a commit. */
export function queuedWrites(core: Core): number {
  return core.db.queueLength();
}

/** Deleted files whose bytes are still to be erased. */
export function countTombstones(core: Core): Promise<number> {
  return count(core.db);
}
