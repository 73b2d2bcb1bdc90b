import { renderRows } from "../core/events/events.ts";
import type { Core } from "../core/node/core.ts";
import { hasUnnumbered } from "../db/queries/events/events.ts";
import { type Job, startJob } from "./job.ts";

/** How often the jobs poll for changes that send no notification: revoked tokens, events of other processes. */
const INTERVAL_MS = 250;
/** Events numbered in one write. */
const BATCH = 1000;

/**
 * Numbers new events, on one node for all, and hands them to the streams of this node. These are two jobs, so that
 * slow streams of one node do not delay events on other nodes.
 */
export function startEvents(core: Core, onError: (error: unknown) => void): Job {
  const { db, eventHub } = core;
  async function number(isStopped: () => boolean): Promise<void> {
    while (!isStopped() && (await hasUnnumbered(db)) && (await db.claim("events"))) {
      await db.write("numberEvents", { limit: BATCH });
      streams.wake();
    }
  }
  const look = () => eventHub.look(core, (change) => renderRows(core, change));
  const streams = startJob(look, INTERVAL_MS, onError);
  const numbering = db.numbersEvents ? undefined : startJob(number, INTERVAL_MS, onError);
  return {
    wake() {
      numbering?.wake();
      if (eventHub.hasListeners()) streams.wake();
    },
    async stop() {
      await Promise.all([numbering?.stop(), streams.stop()]);
    },
  };
}
