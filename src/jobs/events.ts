import type { Core } from "../core/core.ts";
import { hasUnnumbered } from "../db/events.ts";
import { type Job, startJob } from "./job.ts";

/** How often is looked for what nobody told of: revoked tokens, and events of other processes. */
const INTERVAL_MS = 250;
/** Events that are given numbers in one write. */
const BATCH = 200;

/** Gives events their numbers where they have none yet, by one node for all, and wakes those who listen on this one. */
export function startEvents(core: Core, onError: (error: unknown) => void): Job {
  async function run(isStopped: () => boolean): Promise<void> {
    for (let more = true; more && !isStopped(); ) {
      more = (await hasUnnumbered(core.db)) && (await core.db.claim("events"));
      if (more) await core.db.write("numberEvents", { limit: BATCH });
      // Each time: while others write there may always be more.
      await core.eventHub.look(core);
    }
  }
  return startJob(run, INTERVAL_MS, onError);
}
