/** Work of the background: one run at a time, when woken and on a timer. */
export interface Job {
  wake(): void;
  /** Lets a run that is under way end. */
  stop(): Promise<void>;
}

/** Runs `work` now, every `intervalMs` and when woken. `onError` is told of a failed run; the next tries again. */
export function startJob(
  work: () => Promise<void>,
  intervalMs: number,
  onError: (error: unknown) => void,
): Job {
  let running: Promise<void> | undefined;
  let woken = false;
  let stopped = false;

  async function runWhileWoken(): Promise<void> {
    while (woken && !stopped) {
      woken = false;
      await work().catch(onError);
    }
    running = undefined;
  }

  function wake(): void {
    woken = true;
    if (!stopped) running ??= runWhileWoken();
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
