import { openCore } from "../app.ts";
import { readConfig } from "../config.ts";
import type { Core } from "../core/core.ts";
import type { Io } from "./io.ts";

/** Runs work on the data folder, also beside a running server, and closes it after. */
export async function withCore<T>(io: Io, work: (core: Core) => Promise<T>): Promise<T> {
  const { core, close } = await openCore(readConfig(io.env), () => "");
  try {
    return await work(core);
  } finally {
    await close();
  }
}

/** Rows as a table for people: columns as wide as their longest value. */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [header, ...rows];
  const widths = header.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  return lines
    .map((line) =>
      line
        .map((cell, i) => cell.padEnd(widths[i]!))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
