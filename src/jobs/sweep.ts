import type { Core } from "../core/core.ts";
import { hasActsBefore } from "../db/audit.ts";
import { hasLapsedKeys } from "../db/idempotency.ts";
import { isBlobKnown } from "../db/integrity.ts";
import { hasLapsedIntents } from "../db/intents.ts";
import { hasLapsedReservations } from "../db/storage.ts";
import { carriedSecrets } from "../db/tables.ts";
import { hasTokensExpiredBefore } from "../db/tokens.ts";
import { idBound } from "../util/ids.ts";
import { type Job, startJob } from "./job.ts";

const INTERVAL_MS = 10 * 60 * 1000;
const DAY_MS = 24 * 60 * 60 * 1000;
/** For so long a token that has expired is still listed, so that whoever looks sees why it is refused. */
const EXPIRED_TOKENS_DAYS = 7;
/** Rows that are erased in one write. */
const BATCH = 500;

/**
 * Settles what a crash or an unknown outcome left in the blob store, and erases what is too old, at start and on a timer.
 * `auditDays` is how long the audit trail is kept; 0: for ever.
 */
export function startSweep(core: Core, auditDays: number, onError: (error: unknown) => void): Job {
  async function eraseOld(now: number, isStopped: () => boolean): Promise<void> {
    const expired = now - EXPIRED_TOKENS_DAYS * DAY_MS;
    while (!isStopped() && (await hasTokensExpiredBefore(core.db, expired)))
      await core.db.write("forgetExpiredTokens", { before: expired, limit: BATCH });
    if (auditDays === 0) return;
    const before = idBound("aud", now - auditDays * DAY_MS);
    while (!isStopped() && (await hasActsBefore(core.db, before)))
      await core.db.write("forgetActs", { before, limit: BATCH });
  }

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
    while (!isStopped() && (await hasLapsedKeys(core.db, now)))
      await core.db.write("forgetKeys", { now, limit: BATCH });
    await eraseOld(now, isStopped);
    await core.blobs.sweep?.((key) => isBlobKnown(core.db, key), onError, isStopped);
  }
  return startJob(sweep, INTERVAL_MS, onError);
}
