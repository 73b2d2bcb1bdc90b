import { countTombstones as count } from "../../db/queries/storage/tombstones.ts";
import { BACKLOGS, countBacklog } from "../../db/queries/upkeep/backlog.ts";
import type { DataAccess } from "../node/core.ts";

/** Returns the number of writes waiting for a commit. */
export function queuedWrites(core: DataAccess): number {
  return core.db.queueLength();
}

/** Counts deleted files whose bytes are still to be erased. */
export function countTombstones(core: DataAccess): Promise<number> {
  return count(core.db);
}

/** Counts what waits for each kind of background work, up to 10,000. */
export async function countBacklogs(core: DataAccess): Promise<(readonly [string, number])[]> {
  return Promise.all(
    BACKLOGS.map(async (backlog) => [backlog, await countBacklog(core.db, backlog)] as const),
  );
}
