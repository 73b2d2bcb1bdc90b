import { actOf } from "../core/audit.ts";
import type { Core } from "../core/core.ts";
import type { Downloads } from "../db/audit.ts";
import { type Job, startJob } from "./job.ts";

const INTERVAL_MS = 1000;

/**
 * Writes what was downloaded by link into the audit trail. `onLost` is told of how many downloads the trail has no line.
 */
export function startDownloads(
  core: Core,
  onError: (error: unknown) => void,
  onLost: (count: number) => void,
): Job {
  /** Of a write that failed: done again as it was, because it may have been done after all. */
  let unwritten: Downloads[] = [];

  async function record(): Promise<void> {
    if (unwritten.length === 0) {
      const { counted, lost } = core.downloadLog.take();
      if (lost > 0) onLost(lost);
      unwritten = counted.map(({ attachmentId, address, count }) => ({
        act: actOf(core, null),
        attachmentId,
        details: { address, count },
      }));
    }
    if (unwritten.length === 0) return;
    await core.db.write("recordDownloads", { downloads: unwritten });
    unwritten = [];
  }

  const job = startJob(record, INTERVAL_MS, onError);
  core.downloadLog.onFull = job.wake;
  return {
    wake: job.wake,
    /** To be called when no more downloads come. */
    async stop() {
      await job.stop();
      try {
        // First what a failed write may have left, then what has come since.
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
