import { readlinkSync } from "node:fs";
import { constants, setPriority } from "node:os";
import { basename } from "node:path";

/**
 * Lowers the priority of the calling thread, so that other threads run first. Does nothing on systems without
 * priorities per thread.
 */
export function lowerThreadPriority(): void {
  // On other systems this would set the priority of the whole process.
  if (process.platform !== "linux") return;
  try {
    setPriority(
      Number(basename(readlinkSync("/proc/thread-self"))),
      constants.priority.PRIORITY_BELOW_NORMAL,
    );
  } catch {
    // Without it the thread only competes with the others.
  }
}
