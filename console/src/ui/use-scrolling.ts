// Measures the visible part of a long list and keeps it in place.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { SharedFile } from "../files/file-actions.ts";
import { type Line, toLine } from "../files/file-order.ts";

/** Render the list again after scrolling this many pixels. */
const STEP = 120;

type BoxRef = { current: HTMLElement | null };

/** Calls `measure` with a box now, and after each scroll or change of size. */
export function useMeasure(box: BoxRef, measure: (element: HTMLElement) => void): void {
  const latest = useRef(measure);
  latest.current = measure;
  useLayoutEffect(() => {
    const element = box.current!;
    const call = () => latest.current(element);
    call();
    const observer = new ResizeObserver(call);
    observer.observe(element);
    element.addEventListener("scroll", call, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", call);
    };
  }, [box]);
}

/** Returns the visible part of a box. `width`: of its first child. */
export function useSeen(box: BoxRef): { top: number; height: number; width: number } {
  const [seen, setSeen] = useState({ top: 0, height: 800, width: 0 });
  useMeasure(box, ({ scrollTop, clientHeight: height, firstElementChild }) => {
    const top = Math.floor(scrollTop / STEP) * STEP;
    const width = firstElementChild!.clientWidth;
    setSeen((old) =>
      old.top === top && old.height === height && old.width === width ? old : { top, height, width },
    );
  });
  return seen;
}

/** Keeps the file at the top edge in place while others come and go above. A different list starts at its top. */
export function useKeptPlace(
  box: BoxRef,
  files: readonly SharedFile[],
  lines: readonly Line[],
  what: string,
): void {
  const anchor = useRef({ id: "", below: 0 });
  const latest = useRef({ files, lines });
  latest.current = { files, lines };
  useLayoutEffect(() => {
    box.current!.scrollTop = 0;
    anchor.current = { id: "", below: 0 };
  }, [what]);
  useLayoutEffect(() => {
    const element = box.current!;
    const note = () => {
      const { files, lines } = latest.current;
      const line = lines.find(
        ({ heading, top, height }) => heading === "" && top + height > element.scrollTop,
      );
      const id = element.scrollTop > 0 && line ? files[line.start]!.id : "";
      anchor.current = { id, below: line ? element.scrollTop - line.top : 0 };
    };
    element.addEventListener("scroll", note, { passive: true });
    return () => element.removeEventListener("scroll", note);
  }, [box]);
  useLayoutEffect(() => {
    const { id, below } = anchor.current;
    const line =
      id &&
      toLine(
        lines,
        files.findIndex((file) => file.id === id),
      );
    if (line) box.current!.scrollTop = line.top + below;
  }, [lines]);
}
