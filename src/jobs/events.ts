import type { Core } from "../core/core.ts";
import { renderRows } from "../core/events/events.ts";
import { hasUnnumbered } from "../db/queries/events.ts";
import { type Job, startJob } from "./job.ts";

/** How often the job polls for changes without a notification: revoked tokens, events of other processes. */
const INTERVAL_MS = 250;
/** Events numbered in one write. */
const BATCH = 200;

/** Numbers new events, on one node for all, and wakes the listeners of this node. */
export function startEvents(core: Core, onError: (error: unknown) => void): Job {
  const { db, eventHub } = core;
  async function run(isStopped: () => boolean): Promise<void> {
    for (let more = true; more && !isStopped(); ) {
      more = !db.numbersEvents && (await hasUnnumbered(db)) && (await db.claim("events"));
      if (more) await db.write("numberEvents", { limit: BATCH });
      // In every iteration: under constant writes the loop may not end for a while.
      await eventHub.look(core, (change) => renderRows(core, change));
    }
  }
  const job = startJob(run, INTERVAL_MS, onError);
  return {
    wake() {
      if (!db.numbersEvents || eventHub.hasListeners()) job.wake();
    },
    stop: job.stop,
  };
}
