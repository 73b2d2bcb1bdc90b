import type { Core } from "../core/node/core.ts";
import { type Job, startJob } from "./job.ts";

/** The activity of a user becomes visible to others, on all nodes, after at most this interval and one commit. */
const INTERVAL_MS = 1000;

/** Stores when users were last active, in at most one commit per second for all requests. */
export function startActivity(core: Core, onError: (error: unknown) => void): Job {
  async function writeDown(): Promise<void> {
    const seen = core.activity.take();
    if (seen.length === 0) return;
    await core.db.write("recordActivity", { seen }).catch((error) => {
      core.activity.putBack(seen);
      throw error;
    });
  }
  const job = startJob(writeDown, INTERVAL_MS, onError);
  return {
    wake: job.wake,
    async stop() {
      await job.stop();
      await writeDown().catch(onError);
    },
  };
}
