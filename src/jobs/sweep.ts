import type { Core } from "../core/core.ts";
import { keptSince } from "../core/events.ts";
import { hasActsBefore } from "../db/audit.ts";
import { hasOldDeliveries } from "../db/deliveries.ts";
import { oldestEvents } from "../db/events.ts";
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
/** A walk through all who have events begins with every sixth run, which is once an hour. */
const RUNS_OF_A_WALK = 6;
/** Recipients that are looked at in one query, and how many of those queries there are in one run. */
const RECIPIENTS = 500;
const QUERIES = 20;

/**
 * Settles what a crash or an unknown outcome left in the blob store, and erases what is too old, at start and on a timer.
 * `auditDays` is how long the audit trail is kept; 0: for ever.
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
    while (!isStopped() && (await hasActsBefore(core.db, before)))
      await core.db.write("forgetActs", { before, limit: BATCH });
  }

  let runs = 0;
  /** The recipient that the walk has come to; null: it is over. */
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
    await forgetOldEvents(isStopped);
    await core.blobs.sweep?.((key) => isBlobKnown(core.db, key), onError, isStopped);
  }
  return startJob(sweep, INTERVAL_MS, onError);
}
