import { OperatorError } from "../errors.ts";
import { systemClock } from "../util/clock.ts";
import type { Io } from "./io.ts";
import { counted } from "./text.ts";

/** The first line of progress; each next one comes after twice the time. */
const FIRST_LINE_MS = 10_000;

/** Counts what a long command has read, tells of it now and then, and ends it where the process is asked to end. */
export interface Watch {
  files: number;
  bytes: number;
  /** Throws `OperatorError` when the process is asked to end. */
  onFile(): void;
  /** As `onFile`. */
  onChunk(chunk: Uint8Array): void;
}

export function createWatch(io: Io): Watch {
  let wait = FIRST_LINE_MS;
  let next = systemClock() + wait;
  function tell(): void {
    if (io.stop.aborted) throw new OperatorError("Stopped before the end.");
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
      tell();
    },
    onChunk(chunk) {
      watch.bytes += chunk.length;
      tell();
    },
  };
  return watch;
}

/** "3 files, 1.5 MiB". */
export function amount(count: { files: number; bytes: number }): string {
  return `${counted(count.files, "file")}, ${(count.bytes / 2 ** 20).toFixed(1)} MiB`;
}
