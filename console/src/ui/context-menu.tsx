// The menu of one row of a list: by the other button of the mouse, a long press, or the key for menus.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { type Anchor, MenuItems } from "./menu.tsx";

const LONG_PRESS_MS = 500;
/** How far a finger may move during a long press, in pixels. */
const MAX_SHIFT = 10;
/** Keep the browser's menu, which opens and copies links and corrects words. */
const OWN_MENU = "a[href], input, textarea";

interface Opened {
  id: string;
  anchor: Anchor;
  /** What had the focus before. */
  focused: HTMLElement | null;
}

export function ContextMenu(props: {
  label: string;
  /** The list. */
  box: { current: HTMLElement | null };
  /** Selects its rows, which have ids. */
  rows: string;
  /** Returns the items of a row; null if there are none. */
  items: (id: string) => ComponentChildren;
  /** Handles a long press on a part of a row; returns whether it did. Otherwise the menu opens. */
  onPress?: (id: string, target: Element) => boolean;
}) {
  const [opened, setOpened] = useState<Opened>();
  const latest = useRef(props);
  latest.current = props;
  useLayoutEffect(() => {
    const { box, rows } = props;
    return listen(box.current!, rows, {
      press: (id, target) => latest.current.onPress?.(id, target) ?? false,
      open: (id, anchor) => {
        if (!latest.current.items(id)) return false;
        setOpened({ id, anchor, focused: document.activeElement as HTMLElement | null });
        return true;
      },
    });
  }, [props.box, props.rows]);
  const items = opened && props.items(opened.id);
  if (!items) return null;
  const { anchor, focused } = opened;
  const leave = () => setOpened(undefined);
  const close = () => {
    leave();
    focused?.focus();
  };
  return (
    <MenuItems
      key={`${opened.id} ${anchor.left} ${anchor.top}`}
      label={props.label}
      anchor={anchor}
      onClose={close}
      onLeave={leave}
    >
      {items}
    </MenuItems>
  );
}

interface Handlers {
  /** Handles a long press on something in a row; returns whether it did. */
  press: (id: string, target: Element) => boolean;
  /** Opens the menu of a row; returns whether it has one. */
  open: (id: string, anchor: Anchor) => boolean;
}

/** Returns a function that stops listening. */
function listen(box: HTMLElement, rows: string, { press, open }: Handlers): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let start = { x: 0, y: 0 };
  let isSelected = false;
  /** The click at the end of a long press must do nothing else. */
  let isPressed = false;
  const findRow = (target: Element) => (target.closest(OWN_MENU) ? null : target.closest(rows));
  const openAt = (target: Element, left: number, top: number) => {
    const row = findRow(target);
    return row !== null && open(row.id, { left, top, bottom: top });
  };
  const end = () => clearTimeout(timer);
  const listeners: Record<string, (event: never) => void> = {
    pointerdown: (event: PointerEvent) => {
      end();
      isPressed = false;
      // Some systems select a word before they ask for the menu.
      isSelected = !getSelection()!.isCollapsed;
      if (event.pointerType !== "touch" || !event.isPrimary) return;
      const { clientX: x, clientY: y } = event;
      start = { x, y };
      const target = event.target as Element;
      timer = setTimeout(() => {
        const row = findRow(target);
        isPressed = (row !== null && press(row.id, target)) || openAt(target, x, y);
      }, LONG_PRESS_MS);
    },
    pointermove: ({ clientX, clientY }: PointerEvent) => {
      if (Math.hypot(clientX - start.x, clientY - start.y) > MAX_SHIFT) end();
    },
    pointerup: end,
    pointercancel: end,
    contextmenu: (event: PointerEvent) => {
      const { pointerType, clientX, clientY } = event;
      const target = event.target as Element;
      if (pointerType === "touch") {
        if (findRow(target)) event.preventDefault();
      } else if (!event.shiftKey && !isSelected && openAt(target, clientX, clientY)) event.preventDefault();
    },
    keydown: (event: KeyboardEvent) => {
      if (event.key !== "ContextMenu" && !(event.key === "F10" && event.shiftKey)) return;
      const target = event.target as Element;
      const activeId = target.getAttribute("aria-activedescendant");
      const row = (activeId === null ? target : document.getElementById(activeId))?.closest(rows);
      if (!row) return;
      const { left, top, bottom } = row.getBoundingClientRect();
      if (open(row.id, { left, top, bottom })) event.preventDefault();
    },
  };
  const stop = new AbortController();
  const { signal } = stop;
  for (const [type, listener] of Object.entries(listeners))
    box.addEventListener(type, listener as (event: Event) => void, { signal });
  const swallow = (event: Event) => {
    if (!isPressed) return;
    isPressed = false;
    event.stopPropagation();
    event.preventDefault();
  };
  box.addEventListener("click", swallow, { signal, capture: true });
  return () => {
    end();
    stop.abort();
  };
}
