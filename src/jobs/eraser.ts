import type { Core } from "../core/node/core.ts";
import { listTombstones } from "../db/queries/storage/tombstones.ts";
import { hasRemains } from "../db/queries/upkeep/erasing.ts";
import { ParleyError } from "../errors.ts";
import { type Job, startJob } from "./job.ts";

/** Tombstones per run. */
const BATCH = 100;
/** How often the eraser runs without being woken: for what another process left or a failed run did not erase. */
const INTERVAL_MS = 2000;

/**
 * Erases the rows and bytes that deletes leave. Rows go in small writes, so that other writes run in between. Retries
 * failures later.
 */
export function startEraser(core: Core, onError: (error: unknown) => void): Job {
  // Each run does one step and one batch, so that a shutdown does not wait for all of them.
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
        // File storage is unavailable: all other files would fail, too.
        if (error instanceof ParleyError) break;
      }
    }
    if (gone.length > 0) await core.db.write("dropTombstones", { blobKeys: gone });
    if (gone.length === BATCH) job.wake();
    // A file that cannot be removed must not keep rows from being erased.
    if (await hasRemains(core.db)) {
      const limit = core.limits.erasedRowsAtOnce;
      await core.db.write("eraseStep", { limit, now: core.clock(), messageId: core.newId("msg") });
      job.wake();
    }
    if (failure !== undefined) throw failure;
  }
  const job = startJob(erase, INTERVAL_MS, onError);
  return job;
}
