/** Background work: one run at a time, on a timer and when woken. */
export interface Job {
  wake(): void;
  /** Resolves once the current run has ended. */
  stop(): Promise<void>;
}

/**
 * Runs `work` now, every `intervalMs` and when woken. Reports a failed run to `onError` and retries it with the next
 * run; reports the same error only once in a row.
 */
export function startJob(
  work: (isStopped: () => boolean) => Promise<void>,
  intervalMs: number,
  onError: (error: unknown) => void,
): Job {
  let active = false;
  let running = Promise.resolve();
  let woken = false;
  let stopped = false;
  let lastReported: string | undefined;

  async function runWhileWoken(): Promise<void> {
    while (woken && !stopped) {
      woken = false;
      try {
        await work(() => stopped);
        lastReported = undefined;
      } catch (error) {
        if (String(error) !== lastReported) onError(error);
        lastReported = String(error);
      }
    }
    active = false;
  }

  function wake(): void {
    woken = true;
    if (stopped || active) return;
    active = true;
    running = runWhileWoken();
  }

  const timer = setInterval(wake, intervalMs);
  wake();
  return {
    wake,
    async stop() {
      stopped = true;
      clearInterval(timer);
      await running;
    },
  };
}
