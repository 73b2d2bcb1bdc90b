// A table with one tab stop: the arrow keys move between rows, links and buttons. On a phone, rows are cards.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { useOneTabStop } from "../ui/one-tab-stop.ts";

export interface Column<Item> {
  label: string;
  cell: (item: Item) => ComponentChildren;
  /**
   * `name` names the row, `actions` holds its buttons, `minor` is hidden in narrow tables, and `plain` has no label
   * on a card.
   */
  kind?: "name" | "number" | "actions" | "minor" | "plain";
}

export function Table<Item extends { id: string }>(props: {
  label: string;
  columns: readonly Column<Item>[];
  items: readonly Item[];
  /** Whether other items are loading. */
  isBusy: boolean;
}) {
  const { columns, items } = props;
  const body = useRef<HTMLTableSectionElement>(null);
  const onFocus = useKeptFocus(body);
  useOneTabStop(body, "tr");
  return (
    <table class="admin-table" role="grid" aria-label={props.label} aria-busy={props.isBusy}>
      <thead>
        <tr>
          {columns.map(({ label, kind }) => (
            <th key={label} scope="col" class={kind && `cell-${kind}`}>
              {kind === "actions" ? <span class="visually-hidden">{label}</span> : label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody ref={body} onFocusCapture={onFocus}>
        {items.map((item) => (
          <tr key={item.id}>
            {columns.map(({ label, kind, cell }) =>
              kind === "name" ? (
                <th key={label} scope="row">
                  {cell(item)}
                </th>
              ) : (
                <td key={label} class={kind && `cell-${kind}`} data-label={label}>
                  {cell(item)}
                </td>
              ),
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** When the focused row goes away, focuses the next one. */
function useKeptFocus(body: { current: HTMLTableSectionElement | null }): (event: FocusEvent) => void {
  const last = useRef<{ row: Element; at: number } | undefined>(undefined);
  useLayoutEffect(() => {
    const { row, at } = last.current ?? { at: 0 };
    if (!row || row.isConnected || document.activeElement !== document.body) return;
    const { rows } = body.current!;
    rows[Math.min(at, rows.length - 1)]?.querySelector<HTMLElement>("a, button")?.focus();
  });
  return ({ target }) => {
    const row = (target as Element).closest("tr");
    if (row) last.current = { row, at: [...body.current!.rows].indexOf(row) };
  };
}
