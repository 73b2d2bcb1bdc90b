import type { Core } from "../core/core.ts";
import { listTombstones } from "../db/tombstones.ts";
import { type Job, startJob } from "./job.ts";

/** Tombstones taken at a time. */
const BATCH = 100;
/** How often tombstones are looked for that another process left, or that failed before. */
const INTERVAL_MS = 2000;

/** Erases the bytes of deleted files. One that cannot be erased is told to `onError` and tried again later. */
export function startEraser(core: Core, onError: (error: unknown) => void): Job {
  async function erase(): Promise<void> {
    for (let erased = BATCH; erased === BATCH; ) {
      const keys = await listTombstones(core.db, BATCH);
      const gone: string[] = [];
      for (const key of keys) {
        await core.blobs.remove(key).then(() => gone.push(key), onError);
      }
      if (gone.length > 0) await core.db.write("dropTombstones", { blobKeys: gone });
      erased = gone.length;
    }
  }
  return startJob(erase, INTERVAL_MS, onError);
}
