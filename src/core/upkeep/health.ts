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
export const DEGRADATIONS = ["storage_full"] as const;

/**
 * Returns the current conditions in which the service does only a part of its work. Throws `unavailable` if a disk has failed, if
 * the database or file storage does not answer, or if the storage is full and the settings say that the server is then not ready.
 */
export async function checkReady(core: Core): Promise<(typeof DEGRADATIONS)[number][]> {
  for (const part of PARTS) await CHECKS[part](core);
  if (!core.space.isFull()) return [];
  if (!core.space.isReadyWhenFull)
    throw new ParleyError("unavailable", "The storage is full. The operator must free or add space.");
  return ["storage_full"];
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
