import { ParleyApiError } from "./errors.ts";

const FIRST_PAUSE_MS = 250;
export const LONGEST_PAUSE_MS = 8_000;
/** The longest Retry-After that is waited for. The caller finds a longer one in `retryAfter`. */
const LONGEST_WAIT_SECONDS = 60;

/** Whether the server may have executed the failed request. */
export function isLost({ code }: ParleyApiError): boolean {
  return code === "connection_failed" || code === "outcome_unknown";
}

/** Whether a retry of the same request may succeed. */
export function isPassing(error: unknown): error is ParleyApiError {
  if (!(error instanceof ParleyApiError) || (error.retryAfter ?? 0) > LONGEST_WAIT_SECONDS) return false;
  // `idempotency_in_progress`: the first attempt still runs, and its connection was lost.
  return (
    isLost(error) || error.status === 429 || error.status === 503 || error.code === "idempotency_in_progress"
  );
}

/** Whether the server is unreachable, failing or overloaded, which may pass. */
export function isOutage(error: unknown): error is ParleyApiError {
  return (
    error instanceof ParleyApiError && (error.status === 0 || error.status === 429 || error.status >= 500)
  );
}

/** Returns the pause before the next attempt in milliseconds, with jitter; `failures` counts from 1. */
export function pauseBefore(error: ParleyApiError, failures: number): number {
  const spread = 0.5 + Math.random() / 2;
  if (error.retryAfter !== undefined) return error.retryAfter * 1000 + spread * FIRST_PAUSE_MS;
  return Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (failures - 1)) * spread;
}

/** Waits. Throws the signal's reason when it is aborted. */
export function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(signal!.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, ms);
    if (signal?.aborted) abort();
    else signal?.addEventListener("abort", abort, { once: true });
  });
}
