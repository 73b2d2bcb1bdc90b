import { ping } from "../../db/queries/upkeep/ping.ts";
import type { Core } from "../node/core.ts";

/** The parts that the service needs, each with its check, which throws `unavailable`. */
const CHECKS = {
  disk: ({ fuse }: Core) => fuse.check(),
  database: ({ db }: Core) => ping(db),
  store: ({ blobs }: Core) => blobs.checkReady?.(),
};
type Part = keyof typeof CHECKS;
export const PARTS = Object.keys(CHECKS) as Part[];

/** Throws `unavailable` if a disk has failed, or the database or file storage does not answer. */
export async function checkReady(core: Core): Promise<void> {
  for (const part of PARTS) await CHECKS[part](core);
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
