import type { Core } from "../core/core.ts";
import { hasLapsedKeys } from "../db/idempotency.ts";
import { isBlobKnown } from "../db/integrity.ts";
import { hasLapsedIntents } from "../db/intents.ts";
import { hasLapsedReservations } from "../db/storage.ts";
import { carriedSecrets } from "../db/tables.ts";
import { type Job, startJob } from "./job.ts";

const INTERVAL_MS = 10 * 60 * 1000;
const KEYS_AT_ONCE = 1000;

/** Settles what a crash or an unknown outcome left in the blob store, at start and on a timer. */
export function startSweep(core: Core, onError: (error: unknown) => void): Job {
  async function sweep(isStopped: () => boolean): Promise<void> {
    if (!(await core.db.claim("sweep"))) return;
    const now = core.clock();
    if ((await carriedSecrets(core.db)).some(({ until }) => until <= now))
      await core.db.write("forgetSecrets", { now });
    if (await hasLapsedIntents(core.db, now)) {
      await core.db.write("lapseIntents", { now });
      core.wakeEraser();
    }
    if (await hasLapsedReservations(core.db, now)) await core.db.write("lapseReservations", { now });
    while (!isStopped() && (await hasLapsedKeys(core.db, now))) {
      await core.db.write("forgetKeys", { now, limit: KEYS_AT_ONCE });
    }
    await core.blobs.sweep?.((key) => isBlobKnown(core.db, key), onError, isStopped);
  }
  return startJob(sweep, INTERVAL_MS, onError);
}
