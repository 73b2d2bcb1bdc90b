import { readlinkSync } from "node:fs";
import { constants, setPriority } from "node:os";
import { basename } from "node:path";

/** Lets all other threads have the processor before the calling one. Does nothing where threads have no priorities of their own. */
export function lowerThreadPriority(): void {
  // Elsewhere the priority would be that of the process.
  if (process.platform !== "linux") return;
  try {
    setPriority(
      Number(basename(readlinkSync("/proc/thread-self"))),
      constants.priority.PRIORITY_BELOW_NORMAL,
    );
  } catch {
    // It is only slower to give way.
  }
}
