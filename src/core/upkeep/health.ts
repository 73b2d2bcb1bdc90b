import { ping } from "../../db/queries/upkeep/ping.ts";
import { ParleyError } from "../../errors.ts";
import type { Core } from "../node/core.ts";

/** The parts that the service needs, each with its check, which throws `unavailable`. */
const CHECKS = {
  disk: ({ fuse }: Core) => fuse.check(),
  database: ({ db }: Core) => ping(db),
  store: ({ blobs }: Core) => blobs.checkReady?.(),
};
type Part = keyof typeof CHECKS;
export const PARTS = Object.keys(CHECKS) as Part[];

/** Conditions in which the service does only a part of its work. */
export const DEGRADATIONS = ["storage_full", "clock_skew"] as const;

/** By how much the clock may differ from that of the database server. Nodes then differ by at most twice as much. */
const MAX_SKEW_MS = 5000;

/**
 * Returns the current conditions in which the service does only a part of its work. Throws `unavailable` if a disk has failed, if
 * the database or file storage does not answer, or if the storage is full and the settings say that the server is then not ready.
 */
export async function checkReady(core: Core): Promise<(typeof DEGRADATIONS)[number][]> {
  for (const part of PARTS) await CHECKS[part](core);
  const isFull = core.space.isFull();
  if (isFull && !core.space.isReadyWhenFull)
    throw new ParleyError("unavailable", "The storage is full. The operator must free or add space.");
  const is = { storage_full: isFull, clock_skew: findClockSkew(core) !== null };
  return DEGRADATIONS.filter((each) => is[each]);
}

/** Returns by how many milliseconds the clock is ahead of that of the database server; null if that is within the bound. */
export function findClockSkew(core: Core): number | null {
  const skew = measureClockSkew(core);
  return Math.abs(skew) > MAX_SKEW_MS ? skew : null;
}

/** Returns by how many milliseconds the clock is ahead of that of the database server; 0 if that is unknown or the same. */
export function measureClockSkew({ clock, db }: Core): number {
  const time = db.serverTime();
  return time === null ? 0 : clock() - time;
}

/** Reports whether a part works. */
export async function isUp(core: Core, part: Part): Promise<boolean> {
  try {
    await CHECKS[part](core);
    return true;
  } catch {
    return false;
  }
}
