import type { Limits } from "../../config/limits.ts";
import type { Core } from "../../core/node/core.ts";
import type { Log } from "../../util/log.ts";
import type { Metrics } from "./metrics.ts";
import type { RateLimits } from "./rate-limits.ts";

/** Has everything that the HTTP layer needs. */
export interface HttpContext {
  core: Core;
  limits: Limits;
  log: Log;
  metrics: Metrics;
  rates: RateLimits;
}
