// Loaded into a server before its own code (--import): writes how late its event loop was, in milliseconds by
// percentile, to the file that LOOP_DELAY_FILE names, at each SIGUSR2. Each begins anew.
import { writeFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { isMainThread } from "node:worker_threads";

const RESOLUTION_MS = 1;
const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
delays.enable();

// It is loaded into each thread, and only the first has a loop that requests wait for, and gets signals.
if (isMainThread) process.on("SIGUSR2", write);

function write(): void {
  const inMs = (nanoseconds: number) => nanoseconds / 1e6;
  const percentiles = [50, 99, 99.9, 100].map((each) => [each, inMs(delays.percentile(each))]);
  writeFileSync(process.env.LOOP_DELAY_FILE!, JSON.stringify(Object.fromEntries(percentiles)));
  delays.reset();
}
