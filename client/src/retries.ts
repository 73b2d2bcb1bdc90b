import { ParleyApiError } from "./errors.ts";

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 8_000;
/** A server that wants a longer pause than this is left to the caller, who finds it in `retryAfter`. */
const LONGEST_WAIT_SECONDS = 60;

/** Whether the request may have been done although it failed. */
export function isLost({ code }: ParleyApiError): boolean {
  return code === "connection_failed" || code === "outcome_unknown";
}

/** Whether the same request may do better a little later. */
export function isPassing(error: unknown): error is ParleyApiError {
  if (!(error instanceof ParleyApiError) || (error.retryAfter ?? 0) > LONGEST_WAIT_SECONDS) return false;
  // The first try of this very request is still under way: its answer was lost before it was done.
  return (
    isLost(error) || error.status === 429 || error.status === 503 || error.code === "idempotency_in_progress"
  );
}

/** How long to wait before the next try, in milliseconds; `failures` counts from 1. Spread, so that not all come at once. */
export function pauseBefore(error: ParleyApiError, failures: number): number {
  const spread = 0.5 + Math.random() / 2;
  if (error.retryAfter !== undefined) return error.retryAfter * 1000 + spread * FIRST_PAUSE_MS;
  return Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (failures - 1)) * spread;
}

/** Waits; throws the signal's reason as soon as it is aborted. */
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
