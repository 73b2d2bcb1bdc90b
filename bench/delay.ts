// Loaded into the server before its own code: measures the delay of its event loop from one message to the next.
import { monitorEventLoopDelay } from "node:perf_hooks";
import { isMainThread } from "node:worker_threads";

/** Milliseconds. */
export interface Delay {
  p50: number;
  p99: number;
  max: number;
}

const RESOLUTION_MS = 1;
const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
/** The histogram holds the times between the turns of a timer, which are one resolution where nothing delays them. */
const delay = (nanoseconds: number) => Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS);

function obey(order: "start" | "stop"): void {
  if (order === "start") {
    histogram.reset();
    histogram.enable();
    process.send!("started");
    return;
  }
  histogram.disable();
  const { max } = histogram;
  process.send!({
    p50: delay(histogram.percentile(50)),
    p99: delay(histogram.percentile(99)),
    max: delay(max),
  } satisfies Delay);
}

// It is loaded into each thread, and only the first has a loop that requests wait for.
if (isMainThread) {
  process.on("message", obey);
  // The server must be able to end by itself.
  process.channel!.unref();
}
