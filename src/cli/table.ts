import type { Io } from "./io.ts";
import { harmless } from "./text.ts";
import { textWidth } from "./width.ts";

/** Rows to hold back in order to measure the columns. */
const BATCH = 100;

/** The narrowest a column gets on a terminal. */
const NARROWEST = 8;

/** Rows in aligned columns. */
interface Table {
  add(cells: readonly string[]): void;
  /** Prints the remaining rows, and at least the header. */
  end(): void;
}

/**
 * Starts a table that prints rows as they arrive, so any number of rows is fine. Columns may become wider later. On a
 * terminal they are cut to its width.
 */
export function startTable(io: Io, header: readonly string[]): Table {
  const widths = header.map(() => 0);
  let waiting: (readonly string[])[] = [header];
  let isBegun = false;
  function flush(): void {
    for (const cells of waiting)
      for (const [i, cell] of cells.entries()) widths[i] = Math.max(widths[i]!, textWidth(cell));
    const shown = io.columns === undefined ? widths : fitting(widths, io.columns);
    for (const cells of waiting)
      io.print(
        cells
          .map((cell, i) => pad(cut(cell, shown[i]!), shown[i]!))
          .join("  ")
          .trimEnd(),
      );
    waiting = [];
    isBegun = true;
  }
  return {
    add(cells) {
      waiting.push(cells.map(harmless));
      if (waiting.length > BATCH) flush();
    },
    end() {
      if (waiting.length > 0 || !isBegun) flush();
    },
  };
}

export function printTable(io: Io, header: readonly string[], rows: Iterable<readonly string[]>): void {
  const table = startTable(io, header);
  for (const row of rows) table.add(row);
  table.end();
}

/** Narrows the widest columns until all fit. The first column stays: it is the id that other commands take. */
function fitting(widths: readonly number[], columns: number): readonly number[] {
  const [first = 0, ...others] = widths;
  const room = columns - first - 2 * others.length;
  for (let sum = others.reduce((a, b) => a + b, 0); sum > room; sum--) {
    const widest = Math.max(...others);
    if (widest <= NARROWEST) break;
    others[others.indexOf(widest)]!--;
  }
  return [first, ...others];
}

/** Pads a text to a width in terminal columns. */
function pad(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - textWidth(text)));
}

/** Cuts a text to a width in terminal columns. */
export function cut(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  let kept = "";
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    if (textWidth(kept + segment) > width - 1) break;
    kept += segment;
  }
  return `${kept}…`;
}
