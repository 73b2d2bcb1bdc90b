import { keptSince } from "../core/events/events.ts";
import type { Core } from "../core/node/core.ts";
import { oldestEvents } from "../db/queries/events/events.ts";
import { hasExpiredUploads } from "../db/queries/files/upload-resumable.ts";
import { hasTokensExpiredBefore } from "../db/queries/people/tokens.ts";
import { hasEntriesBefore } from "../db/queries/record/audit-trail.ts";
import { hasLapsedClientIds } from "../db/queries/record/client-ids.ts";
import { hasLapsedKeys } from "../db/queries/record/idempotency.ts";
import { hasLapsedIntents } from "../db/queries/storage/intents.ts";
import { hasLapsedReservations } from "../db/queries/storage/storage-used.ts";
import { isBlobKnown } from "../db/queries/upkeep/integrity.ts";
import { allCarriedSecrets } from "../db/queries/upkeep/tables.ts";
import { hasOldDeliveries } from "../db/queries/webhooks/deliveries.ts";
import { idBound } from "../util/ids.ts";
import { type Job, startJob } from "./job.ts";

const INTERVAL_MS = 10 * 60 * 1000;
const DAY_MS = 24 * 60 * 60 * 1000;
/** An expired token stays listed for this long, so that its owner can see why it is refused. */
const EXPIRED_TOKENS_DAYS = 7;
/** Rows erased in one write. */
const BATCH = 500;
/** Every sixth run, about once an hour, starts a new pass over all recipients of events. */
const RUNS_OF_A_WALK = 6;
/** Recipients per query, and queries per run. */
const RECIPIENTS = 500;
const QUERIES = 20;

/**
 * Settles what crashes and unknown outcomes left in file storage, and erases expired rows: at start and on a timer.
 * `auditDays` is how long to keep audit entries; 0 keeps them for ever.
 */
export function startSweep(core: Core, auditDays: number, onError: (error: unknown) => void): Job {
  async function eraseOld(now: number, isStopped: () => boolean): Promise<void> {
    const expired = now - EXPIRED_TOKENS_DAYS * DAY_MS;
    while (!isStopped() && (await hasTokensExpiredBefore(core.db, expired)))
      await core.db.write("forgetExpiredTokens", { before: expired, limit: BATCH });
    const kept = keptSince(core);
    while (!isStopped() && (await hasOldDeliveries(core.db, kept)))
      await core.db.write("forgetDeliveries", { before: kept, limit: BATCH });
    if (auditDays === 0) return;
    const before = idBound("aud", now - auditDays * DAY_MS);
    while (!isStopped() && (await hasEntriesBefore(core.db, before)))
      await core.db.write("forgetEntries", { before, limit: BATCH });
  }

  let runs = 0;
  /** The last recipient of the current pass; null: the pass is done. */
  let walked: string | null = null;

  async function forgetOldEvents(isStopped: () => boolean): Promise<void> {
    if (runs++ % RUNS_OF_A_WALK === 0) walked ??= "";
    const before = keptSince(core);
    for (let left = QUERIES; left > 0 && walked !== null && !isStopped(); left--) {
      const recipients = await oldestEvents(core.db, walked, RECIPIENTS);
      for (const { recipient_id: recipientId, oldest } of recipients) {
        const forget = () => core.db.write("forgetEvents", { recipientId, before, limit: BATCH });
        if (oldest === null || oldest >= before) continue;
        while (!isStopped() && (await forget()) === BATCH);
      }
      walked = recipients.length < RECIPIENTS ? null : recipients.at(-1)!.recipient_id;
    }
  }

  async function sweep(isStopped: () => boolean): Promise<void> {
    if (!(await core.db.claim("sweep"))) return;
    const now = core.clock();
    if ((await allCarriedSecrets(core.db)).some(({ until }) => until <= now))
      await core.db.write("forgetSecrets", { now });
    if (await hasLapsedIntents(core.db, now)) {
      await core.db.write("lapseIntents", { now });
      core.wakeEraser();
    }
    if (await hasLapsedReservations(core.db, now)) await core.db.write("lapseReservations", { now });
    while (!isStopped() && (await hasExpiredUploads(core.db, now))) {
      await core.db.write("expireUploads", { now, limit: BATCH });
      core.wakeEraser();
    }
    while (!isStopped() && (await hasLapsedKeys(core.db, now)))
      await core.db.write("forgetKeys", { now, limit: BATCH });
    while (!isStopped() && (await hasLapsedClientIds(core.db, now)))
      await core.db.write("forgetClientIds", { now, limit: BATCH });
    await eraseOld(now, isStopped);
    await forgetOldEvents(isStopped);
    await core.blobs.intents?.sweep((key) => isBlobKnown(core.db, key), onError, isStopped);
  }
  return startJob(sweep, INTERVAL_MS, onError);
}
