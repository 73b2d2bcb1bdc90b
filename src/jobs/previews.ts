import type { Core } from "../core/node/core.ts";
import type { Previews } from "../core/node/previews.ts";
import { existingFiles } from "../db/queries/files/picture-placeholders.ts";
import { type Job, startJob } from "./job.ts";

const INTERVAL_MS = 10 * 60 * 1000;
/** Files looked up in one query. */
const BATCH = 500;

/** Removes previews of deleted files, and leftovers of a crash. Each node cleans its own folder. */
export function startPreviewSweep({ db }: Core, { cache }: Previews, onError: (error: unknown) => void): Job {
  async function sweep(isStopped: () => boolean): Promise<void> {
    await cache.removeLeftovers();
    const ids = [...cache.files()];
    const gone = new Set(ids);
    for (let at = 0; at < ids.length && !isStopped(); at += BATCH) {
      for (const id of await existingFiles(db, ids.slice(at, at + BATCH))) gone.delete(id);
    }
    if (gone.size > 0 && !isStopped()) await cache.remove(gone);
  }
  return startJob(sweep, INTERVAL_MS, onError);
}
