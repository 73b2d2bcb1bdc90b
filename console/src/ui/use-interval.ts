import { useEffect, useRef } from "preact/hooks";

export const MINUTE_MS = 60_000;

/** Calls `act` periodically while `isOn` and the window is visible, and when it becomes visible. */
export function useInterval(act: () => void, ms: number, isOn = true): void {
  const latest = useRef(act);
  latest.current = act;
  useEffect(() => {
    if (!isOn) return;
    const run = () => document.hidden || latest.current();
    const timer = setInterval(run, ms);
    document.addEventListener("visibilitychange", run);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", run);
    };
  }, [ms, isOn]);
}
