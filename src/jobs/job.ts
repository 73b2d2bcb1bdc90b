/** Work of the background: one run at a time, when woken and on a timer. */
export interface Job {
  wake(): void;
  /** Lets a run that is under way end. */
  stop(): Promise<void>;
}

/**
 * Runs `work` now, every `intervalMs` and when woken. `onError` is told of a failed run; the next tries again. What made
 * the run before fail, too, is not told again.
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
