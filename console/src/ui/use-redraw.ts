import { useCallback, useLayoutEffect, useState } from "preact/hooks";

/** Returns a function that renders again. It is always the same one. */
export function useRedraw(): () => void {
  const [, setCount] = useState(0);
  return useCallback(() => setCount((count) => count + 1), []);
}

/** Renders again when `source` changes. */
export function useWatched(source: { watch: (watcher: () => void) => () => void }): void {
  const redraw = useRedraw();
  useLayoutEffect(() => source.watch(redraw), [source]);
}
