import type { Core } from "../core/node/core.ts";
import { findClockSkew } from "../core/upkeep/health.ts";
import { type Job, startJob } from "./job.ts";

const INTERVAL_MS = 10_000;
/** Between two runs, the clock may differ by this from the time that has passed: corrections are smaller. */
const MAX_JUMP_MS = 60_000;

interface Reports {
  /** Called once the clock differs too much from that of the database server, in milliseconds. */
  onSkew(skewMs: number): void;
  /** Called when the clock was set by this many milliseconds, or the machine slept. */
  onJump(jumpMs: number): void;
}

/** Watches the clock: ids carry its times, and links and tokens expire by it. */
export function startClockWatch(core: Core, { onSkew, onJump }: Reports): Job {
  let [time, counted] = [core.clock(), performance.now()];
  let wasSkewed = false;
  return startJob(
    async () => {
      const jump = core.clock() - time - (performance.now() - counted);
      [time, counted] = [core.clock(), performance.now()];
      if (Math.abs(jump) > MAX_JUMP_MS) onJump(Math.round(jump));
      const skew = findClockSkew(core);
      if (skew !== null && !wasSkewed) onSkew(Math.round(skew));
      wasSkewed = skew !== null;
    },
    INTERVAL_MS,
    () => {},
  );
}
