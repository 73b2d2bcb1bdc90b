import type { List } from "../../client/src/index.ts";
import type { Io } from "./io.ts";
import { startTable } from "./table.ts";
import { jsonLine } from "./text.ts";

export interface ListOptions {
  /** How many items at most; all without it. */
  limit?: number;
  json?: boolean;
}

/** A column's header, and what it shows of an item. */
export type Column<T> = readonly [header: string, show: (item: T) => string];

/** How many items to ask for at once. */
export function pageSize({ limit = 100 }: ListOptions): number {
  return Math.min(limit, 100);
}

/** Prints a list while it comes, until there are enough of it or nobody reads on. `empty`: what a person is told of none. */
export async function printList<T extends { id: string }>(
  io: Io,
  list: List<T>,
  columns: readonly Column<T>[],
  { limit = Infinity, json }: ListOptions,
  empty: string,
): Promise<void> {
  const headers = columns.map(([header]) => header);
  const table = json ? undefined : startTable(io, headers);
  let count = 0;
  for await (const item of list) {
    if (io.unread.aborted) return;
    if (table) table.add(columns.map(([, show]) => show(item)));
    else io.print(jsonLine(item));
    count++;
    if (count >= limit) break;
  }
  if (count === 0 && !json && io.columns !== undefined) io.warn(empty);
  else table?.end();
}
