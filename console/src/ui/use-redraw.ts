import { useCallback, useLayoutEffect, useState } from "preact/hooks";

/** Returns a function that renders again. The function is always the same. */
export function useRedraw(): () => void {
  const [, setCount] = useState(0);
  return useCallback(() => setCount((count) => count + 1), []);
}

/** Renders again when `source` changes. */
export function useWatched(source: { watch: (watcher: () => void) => () => void }): void {
  const redraw = useRedraw();
  useLayoutEffect(() => source.watch(redraw), [source]);
}
