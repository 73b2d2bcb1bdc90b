import type { Core } from "../core/node/core.ts";
import { newEntry } from "../core/record/audit-trail.ts";
import type { Downloads } from "../db/queries/record/audit-trail.ts";
import { type Job, startJob } from "./job.ts";

const INTERVAL_MS = 1000;

/** Writes downloads by link into the audit trail. `onLost` gets the number of downloads that could not be recorded. */
export function startDownloads(
  core: Core,
  onError: (error: unknown) => void,
  onLost: (count: number) => void,
): Job {
  /** Entries of a failed write. They are retried unchanged, because that write may have committed. */
  let unwritten: Downloads[] = [];

  async function record(): Promise<void> {
    if (unwritten.length === 0) {
      const { counted, lost } = core.downloadLog.take();
      if (lost > 0) onLost(lost);
      unwritten = counted.map(({ attachmentId, address, count }) => ({
        entry: newEntry(core, null),
        attachmentId,
        details: { address, count },
      }));
    }
    if (unwritten.length === 0) return;
    await core.db.write("recordDownloads", { downloads: unwritten });
    unwritten = [];
  }

  const job = startJob(record, INTERVAL_MS, onError);
  return {
    wake: job.wake,
    /** Call after the last download. */
    async stop() {
      await job.stop();
      try {
        // The first call retries a failed write, the second writes what was counted since.
        await record();
        await record();
      } catch (error) {
        onError(error);
      }
      const { counted, lost } = core.downloadLog.take();
      const left = [...unwritten.map(({ details }) => details), ...counted];
      const count = left.reduce((sum, each) => sum + each.count, lost);
      if (count > 0) onLost(count);
    },
  };
}
