/** Background work: one run at a time, on a timer and when woken. */
export interface Job {
  wake(): void;
  /** Resolves once the current run has ended. */
  stop(): Promise<void>;
}

/**
 * Runs `work` now, every `intervalMs` and when woken. A failed run is reported to `onError` and retried with the next;
 * the same error twice in a row is reported once.
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
  let told: string | undefined;

  async function runWhileWoken(): Promise<void> {
    while (woken && !stopped) {
      woken = false;
      try {
        await work(() => stopped);
        told = undefined;
      } catch (error) {
        if (String(error) !== told) onError(error);
        told = String(error);
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
