import { useEffect, useRef } from "preact/hooks";

const MINUTE_MS = 60_000;

/** Calls `act` each minute while `isOn` and the window is in view, and when it comes into view. */
export function useEveryMinute(isOn: boolean, act: () => void): void {
  const latest = useRef(act);
  latest.current = act;
  useEffect(() => {
    if (!isOn) return;
    const run = () => document.hidden || latest.current();
    const timer = setInterval(run, MINUTE_MS);
    document.addEventListener("visibilitychange", run);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", run);
    };
  }, [isOn]);
}
