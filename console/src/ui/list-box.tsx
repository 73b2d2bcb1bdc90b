// A list box that renders only the rows in view, so that 100,000 scroll as fast as ten.
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ContextMenu } from "./context-menu.tsx";
import { hasModifier } from "./keys.ts";
import type { Pages } from "./use-pages.ts";
import { useMeasure } from "./use-scrolling.ts";

/** Extra rows outside the view, to avoid gaps while scrolling. */
const SPARE = 8;
/** How many rows before the end to load the next page. */
const AHEAD = 60;

/** A list that may have more items. */
export type Listed<Item> = { items: readonly Item[] } & Pick<Pages<Item>, "hasMore" | "loading" | "more">;

export function ListBox<Item>(props: {
  label: string;
  pages: Listed<Item>;
  /** In pixels. */
  rowHeight: number;
  /** Returns an id that is unique on the page. */
  toId: (item: Item) => string;
  /** The id of the open item. */
  openId: string;
  onOpen: (item: Item) => void;
  /** Returns the items of the context menu. */
  menu?: (item: Item) => ComponentChildren;
  /** Takes what is dragged over an item and dropped on it. */
  onDrag?: (event: DragEvent, item: Item) => void;
  children: (item: Item) => ComponentChildren;
}) {
  const { pages, rowHeight, toId, onOpen } = props;
  const { items } = pages;
  const box = useRef<HTMLDivElement>(null);
  const { first, count } = useWindow(box, rowHeight);
  // Rows move when messages arrive. The active row must stay on its item.
  const [active, setActive] = useState({ id: "", at: 0 });
  const found = useMemo(() => items.findIndex((each) => toId(each) === active.id), [items, active.id]);
  const at = found >= 0 ? found : Math.min(active.at, items.length - 1);
  const start = Math.max(0, Math.min(first, items.length - 1) - SPARE);
  const end = Math.min(items.length, first + count + SPARE);
  useEffect(() => {
    if (first + count + AHEAD > items.length) pages.more();
  });
  const move = (to: number) => {
    const next = Math.max(0, Math.min(items.length - 1, to));
    setActive({ id: toId(items[next]!), at: next });
    reveal(box.current!, next * rowHeight, rowHeight);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (hasModifier(event)) return;
    const steps: Record<string, number> = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      PageDown: at + count - 1,
      PageUp: at - count + 1,
      Home: 0,
      End: items.length - 1,
    };
    const to = steps[event.key];
    if (to !== undefined) move(to);
    else if ((event.key === "Enter" || event.key === " ") && items[at]) onOpen(items[at]);
    else return;
    event.preventDefault();
  };
  const list = (
    <div
      ref={box}
      class="list-box"
      role="listbox"
      tabIndex={0}
      aria-label={props.label}
      aria-busy={pages.loading}
      aria-activedescendant={items[at] && at >= start && at < end ? toId(items[at]) : undefined}
      onKeyDown={onKeyDown}
    >
      <div class="list-rows" role="presentation" style={{ height: `${items.length * rowHeight}px` }}>
        {items.slice(start, end).map((item, offset) => {
          const id = toId(item);
          const place = start + offset;
          return (
            <div
              key={id}
              id={id}
              class={place === at ? "list-row active" : "list-row"}
              role="option"
              aria-selected={id === props.openId}
              aria-posinset={place + 1}
              aria-setsize={pages.hasMore ? -1 : items.length}
              style={{ height: `${rowHeight}px`, transform: `translateY(${place * rowHeight}px)` }}
              onDragOver={(event) => props.onDrag?.(event, item)}
              onDrop={(event) => props.onDrag?.(event, item)}
              onClick={() => {
                setActive({ id, at: place });
                onOpen(item);
              }}
            >
              {props.children(item)}
            </div>
          );
        })}
      </div>
    </div>
  );
  return (
    <>
      {list}
      {props.menu && <ItemMenu box={box} items={items} toId={toId} menu={props.menu} />}
    </>
  );
}

function ItemMenu<Item>(props: {
  box: { current: HTMLElement | null };
  items: readonly Item[];
  toId: (item: Item) => string;
  menu: (item: Item) => ComponentChildren;
}) {
  const toItems = (id: string) => {
    const item = props.items.find((each) => props.toId(each) === id);
    return item && props.menu(item);
  };
  return <ContextMenu label="Actions" box={props.box} rows=".list-row" items={toItems} />;
}

function reveal(box: HTMLElement, top: number, height: number): void {
  if (top < box.scrollTop) box.scrollTop = top;
  else if (top + height > box.scrollTop + box.clientHeight) box.scrollTop = top + height - box.clientHeight;
}

/** Returns the rows in view. Renders again when another row scrolls in, not on each pixel. */
export function useWindow(
  box: { current: HTMLElement | null },
  rowHeight: number,
): { first: number; count: number } {
  const [rows, setRows] = useState({ first: 0, count: 20 });
  useMeasure(box, ({ scrollTop, clientHeight }) => {
    const first = Math.floor(scrollTop / rowHeight);
    const count = Math.ceil(clientHeight / rowHeight) + 1;
    setRows((old) => (old.first === first && old.count === count ? old : { first, count }));
  });
  return rows;
}
