import { OperatorError } from "../../errors.ts";
import { systemClock } from "../../util/clock.ts";
import type { Io } from "../io.ts";
import { counted } from "../text.ts";

/** Delay of the first line of progress. The delay doubles for each further line. */
const FIRST_LINE_MS = 10_000;

/** Counts what a long command has read, prints progress, and stops the command on SIGTERM or Ctrl-C. */
export interface Watch {
  files: number;
  bytes: number;
  /** Throws `OperatorError` on SIGTERM or Ctrl-C. */
  onFile(): void;
  /** Like `onFile`. */
  onChunk(chunk: Uint8Array): void;
}

export function createWatch(io: Io): Watch {
  let wait = FIRST_LINE_MS;
  let next = systemClock() + wait;
  function report(): void {
    if (io.stop.aborted) throw new OperatorError("Stopped before completion.");
    if (systemClock() < next) return;
    io.warn(`… ${amount(watch)} so far`);
    wait *= 2;
    next = systemClock() + wait;
  }
  const watch: Watch = {
    files: 0,
    bytes: 0,
    onFile() {
      watch.files++;
      report();
    },
    onChunk(chunk) {
      watch.bytes += chunk.length;
      report();
    },
  };
  return watch;
}

/** Formats a count of files and bytes: "3 files, 1.5 MiB". */
export function amount(count: { files: number; bytes: number }): string {
  return `${counted(count.files, "file")}, ${(count.bytes / 2 ** 20).toFixed(1)} MiB`;
}
