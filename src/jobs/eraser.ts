import type { Core } from "../core/core.ts";
import { listTombstones } from "../db/tombstones.ts";
import { ParleyError } from "../errors.ts";
import { type Job, startJob } from "./job.ts";

/** Tombstones taken at a time. */
const BATCH = 100;
/** How often tombstones are looked for that another process left, or that failed before. */
const INTERVAL_MS = 2000;

/** Erases the bytes of deleted files. One that cannot be erased is tried again later. */
export function startEraser(core: Core, onError: (error: unknown) => void): Job {
  async function erase(isStopped: () => boolean): Promise<void> {
    if (core.fuse.blown || !(await core.db.claim("eraser"))) return;
    const gone: string[] = [];
    let failure: unknown;
    for (const key of await listTombstones(core.db, core.clock(), BATCH)) {
      if (isStopped()) break;
      try {
        await core.blobs.remove(key);
        gone.push(key);
      } catch (error) {
        failure = error;
        // The store is away: the others would fail as this one.
        if (error instanceof ParleyError) break;
      }
    }
    if (gone.length > 0) await core.db.write("dropTombstones", { blobKeys: gone });
    // A run is one batch, so that a stop need not wait for all.
    if (gone.length === BATCH) job.wake();
    if (failure !== undefined) throw failure;
  }
  const job = startJob(erase, INTERVAL_MS, onError);
  return job;
}
