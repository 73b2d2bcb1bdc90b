/** Whether events arrive as they happen. `ready` also says that everything up to now was delivered. */
export type StreamState = "connecting" | "ready" | "reconnecting";

/** Returns a function that reports each change of the state, from whether events arrive. */
export function stateReporter(
  onState: ((state: StreamState) => void) | undefined,
): (isReady: boolean) => void {
  let state: StreamState | undefined;
  return (isReady) => {
    const waiting = state === undefined || state === "connecting" ? "connecting" : "reconnecting";
    const next = isReady ? "ready" : waiting;
    if (next === state) return;
    state = next;
    onState?.(next);
  };
}
