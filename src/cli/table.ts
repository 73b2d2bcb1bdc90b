import stringWidth from "string-width";
import type { Io } from "./io.ts";
import { harmless } from "./text.ts";

/** So many rows are held back, until it is known how wide they are. */
const BATCH = 100;

/** Narrower than this no column is made for a terminal. */
const NARROWEST = 8;

/** Rows for people, in columns. */
interface Table {
  add(cells: readonly string[]): void;
  /** Prints what is left, and at least the header. */
  end(): void;
}

/**
 * A table that is printed while it is made, however long it gets. Its columns may become wider on the way, but on a terminal no
 * wider than that.
 */
export function startTable(io: Io, header: readonly string[]): Table {
  const widths = header.map(() => 0);
  let waiting: (readonly string[])[] = [header];
  let isBegun = false;
  function flush(): void {
    for (const cells of waiting)
      for (const [i, cell] of cells.entries()) widths[i] = Math.max(widths[i]!, stringWidth(cell));
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

/** The widest become narrower until all fit; but never the first, which is the id that other commands want. */
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

/** By the columns that a terminal shows it in. */
function pad(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - stringWidth(text)));
}

/** As much of a text as fits. */
export function cut(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  let kept = "";
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    if (stringWidth(kept + segment) > width - 1) break;
    kept += segment;
  }
  return `${kept}…`;
}
