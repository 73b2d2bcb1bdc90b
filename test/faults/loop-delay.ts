// Loaded into a server before its code (--import). At each SIGUSR2 it writes the event loop delay in milliseconds, by
// percentile, to the file LOOP_DELAY_FILE, and starts anew.
import { writeFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { isMainThread } from "node:worker_threads";

const RESOLUTION_MS = 1;
const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
delays.enable();

// This module is loaded into each thread, but only the main one handles requests and gets signals.
if (isMainThread) process.on("SIGUSR2", write);

function write(): void {
  const inMs = (nanoseconds: number) => nanoseconds / 1e6;
  const percentiles = [50, 99, 99.9, 100].map((each) => [each, inMs(delays.percentile(each))]);
  writeFileSync(process.env.LOOP_DELAY_FILE!, JSON.stringify(Object.fromEntries(percentiles)));
  delays.reset();
}
