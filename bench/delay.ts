// Loaded into the server before its own code: measures the delay of its event loop from one message to the next.
import { monitorEventLoopDelay } from "node:perf_hooks";

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

process.on("message", (order: "start" | "stop") => {
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
});
// The server must be able to end by itself.
process.channel!.unref();
