import { countTombstones as count } from "../../db/queries/storage/tombstones.ts";
import type { DataAccess } from "../node/core.ts";

/** Returns the number of writes waiting for a commit. */
export function queuedWrites(core: DataAccess): number {
  return core.db.queueLength();
}

/** Counts deleted files whose bytes are still to be erased. */
export function countTombstones(core: DataAccess): Promise<number> {
  return count(core.db);
}
