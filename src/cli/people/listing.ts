import type { Io } from "../io.ts";
import { startTable } from "../table.ts";
import { harmless, jsonLine } from "../text.ts";

export interface JsonOption {
  json?: boolean;
}

export interface ListOptions extends JsonOption {
  /** The maximum number of items; all by default. */
  limit?: number;
}

/** A column: its header, and its cell for an item. */
export type Column<T> = readonly [header: string, show: (item: T) => string];

/** Returns how many items to request per page. */
export function pageSize({ limit = 100 }: ListOptions): number {
  return Math.min(limit, 100);
}

/** Prints a list while it arrives, until `limit` or until the reader of the output has gone. `empty` is printed on a terminal if there are no items. */
export async function printList<T extends { id: string }>(
  io: Io,
  list: AsyncIterable<T>,
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

/** Prints the fields of one item, one per line, without those that are empty. */
export function printFields(io: Io, fields: readonly (readonly [name: string, value: string])[]): void {
  const width = Math.max(...fields.map(([name]) => name.length)) + 2;
  for (const [name, value] of fields) if (value) io.print(name.padEnd(width) + harmless(value));
}
