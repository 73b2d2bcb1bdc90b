import { ping } from "../../db/queries/ping.ts";
import type { Core } from "../core.ts";

/** Throws `unavailable` if a disk has failed, or the database or file storage does not answer. */
export async function checkReady(core: Core): Promise<void> {
  core.fuse.check();
  await ping(core.db);
  await core.blobs.checkReady?.();
}
