// Makes a list or grid whose rows have several buttons one tab stop. Arrow keys move inside.
import { useLayoutEffect } from "preact/hooks";
import { hasModifier } from "./keys.ts";

const CONTROLS = "button:not(:disabled), a[href]";

/** `row`: the selector of the rows of `list`. */
export function useOneTabStop(list: { current: HTMLElement | null }, row: string): void {
  useLayoutEffect(() => {
    const box = list.current!;
    let current: HTMLElement | undefined;
    const assign = () => {
      const all = listControls(box);
      if (!current || !all.includes(current)) current = all[0];
      for (const each of all) each.tabIndex = each === current ? 0 : -1;
    };
    const onFocusIn = ({ target }: FocusEvent) => {
      current = target as HTMLElement;
      assign();
    };
    const onKeyDown = (event: KeyboardEvent) => {
      const from = (event.target as Element).closest<HTMLElement>(CONTROLS);
      if (!from || event.defaultPrevented || hasModifier(event)) return;
      const to = find(listControls(box), from, event.key, row);
      if (!to) return;
      to.focus();
      event.preventDefault();
    };
    assign();
    const observer = new MutationObserver(assign);
    observer.observe(box, { childList: true, subtree: true });
    box.addEventListener("focusin", onFocusIn);
    box.addEventListener("keydown", onKeyDown);
    return () => {
      observer.disconnect();
      box.removeEventListener("focusin", onFocusIn);
      box.removeEventListener("keydown", onKeyDown);
    };
  }, [list, row]);
}

function listControls(within: Element): HTMLElement[] {
  return [...within.querySelectorAll<HTMLElement>(CONTROLS)];
}

/** Returns the control that a key leads to: left and right in page order, up and down to another row. */
function find(all: HTMLElement[], from: HTMLElement, key: string, row: string): HTMLElement | undefined {
  const at = all.indexOf(from);
  if (key === "ArrowRight") return all[at + 1];
  if (key === "ArrowLeft") return all[at - 1];
  if (key === "Home") return all[0];
  if (key === "End") return all.at(-1);
  if (key !== "ArrowDown" && key !== "ArrowUp") return undefined;
  const own = from.closest(row);
  const step = key === "ArrowDown" ? 1 : -1;
  const place = own ? listControls(own).indexOf(from) : 0;
  let next = at + step;
  while (all[next] && all[next]!.closest(row) === own) next += step;
  const controls = all[next] ? listControls(all[next]!.closest(row)!) : [];
  return controls[Math.min(place, controls.length - 1)];
}
