import type { Core } from "../core/node/core.ts";
import { type Job, startJob } from "./job.ts";

/** A request's time becomes visible to other users, on all nodes, after at most this and one commit. */
const INTERVAL_MS = 1000;

/** Stores when users were last active: at most one commit a second, however many requests there were. */
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
