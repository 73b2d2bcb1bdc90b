import { useLayoutEffect } from "preact/hooks";

/** Keeps the height of a box in a CSS variable of the page, by which others leave room for it. */
export function useRoom(box: { current: HTMLElement | null }, variable: `--${string}`): void {
  useLayoutEffect(() => {
    const { style } = document.documentElement;
    const observer = new ResizeObserver(() => {
      style.setProperty(variable, `${box.current!.offsetHeight}px`);
    });
    observer.observe(box.current!);
    return () => {
      observer.disconnect();
      style.removeProperty(variable);
    };
  }, [box, variable]);
}
