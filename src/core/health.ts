import { ping } from "../db/ping.ts";
import type { Core } from "./core.ts";

/** Throws `unavailable` where the service cannot do its work: a disk has failed, or the database or the store of the files does not answer. */
export async function checkReady(core: Core): Promise<void> {
  core.fuse.check();
  await ping(core.db);
  await core.blobs.checkReady?.();
}
