import type { Core } from "../core/node/core.ts";
import { findProfileChange } from "../db/queries/people/profile-readers.ts";
import { type Job, startJob } from "./job.ts";

/** How often the job looks for changes that another process made, or whose events a failed run did not publish. */
const INTERVAL_MS = 1000;
/** Readers in one write. */
const READERS = 500;

/** Informs the readers of a user's profile of its changes. */
export function startProfiles(core: Core, onError: (error: unknown) => void): Job {
  /** The user of the last slice. The next slice is another user's, so that a user with many readers delays nobody. */
  let last = "";

  async function publish(isStopped: () => boolean): Promise<void> {
    while (!isStopped()) {
      const userId = (await findProfileChange(core.db, last)) ?? (await findProfileChange(core.db, ""));
      if (userId === undefined || core.fuse.blown || !(await core.db.claim("profiles"))) return;
      last = userId;
      await core.db.write("publishProfile", { userId, limit: READERS, now: core.clock() });
    }
  }
  return startJob(publish, INTERVAL_MS, onError);
}
