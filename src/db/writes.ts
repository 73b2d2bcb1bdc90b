import { recordActivity } from "./activity.ts";
import { createAttachment, deleteAttachment, renameAttachment } from "./attachments.ts";
import { forgetActs, recordDownloads } from "./audit.ts";
import { blockContact, createContact, deleteContact, updateContact } from "./contacts.ts";
import { addDeliveries, addTestDelivery, forgetDeliveries, redeliver, settleDelivery } from "./deliveries.ts";
import { forgetEvents, numberEvents } from "./events.ts";
import { dropHold, placeHold, renewHold } from "./holds.ts";
import { findResult, forgetKeys, keepResult, type Once } from "./idempotency.ts";
import { createIdentity } from "./identities.ts";
import { createIntent, dropIntent, lapseIntents, renewIntent } from "./intents.ts";
import type { Write } from "./sql.ts";
import { lapseReservations, releaseStorage, reserveStorage } from "./storage.ts";
import { beginMove, endMove, forgetSecrets, importRows } from "./tables.ts";
import { createToken, deleteIdentities, deleteTokens, forgetExpiredTokens } from "./tokens.ts";
import { dropTombstones } from "./tombstones.ts";
import { createFirstUser, createUser, deleteUser } from "./users.ts";
import { createWebhook, deleteWebhook, rotateSecret, updateWebhook } from "./webhooks.ts";

/** Writes by which tokens go. */
export const revoking: ReadonlySet<string> = new Set(["deleteIdentities", "deleteTokens", "deleteUser"]);

/** Writes that leave events, or number them, or end who listens to them, or give webhooks something to do. */
export const telling: ReadonlySet<string> = new Set([
  ...["createContact", "updateContact", "deleteContact"],
  ...["createAttachment", "renameAttachment", "deleteAttachment"],
  ...["addTestDelivery", "redeliver", "settleDelivery", "updateWebhook"],
  ...["doOnce", "numberEvents", ...revoking],
]);

/** Each by its name. */
const single = {
  addDeliveries,
  addTestDelivery,
  beginMove,
  blockContact,
  createAttachment,
  createContact,
  createFirstUser,
  createIdentity,
  createIntent,
  createToken,
  createUser,
  createWebhook,
  deleteAttachment,
  deleteContact,
  deleteIdentities,
  deleteTokens,
  deleteUser,
  deleteWebhook,
  dropHold,
  dropIntent,
  dropTombstones,
  endMove,
  forgetActs,
  forgetDeliveries,
  forgetEvents,
  forgetExpiredTokens,
  forgetKeys,
  forgetSecrets,
  importRows,
  lapseIntents,
  lapseReservations,
  numberEvents,
  placeHold,
  recordActivity,
  recordDownloads,
  redeliver,
  releaseStorage,
  renameAttachment,
  renewHold,
  renewIntent,
  reserveStorage,
  rotateSecret,
  settleDelivery,
  updateContact,
  updateWebhook,
};

type Single = typeof single;
export type SingleName = keyof Single;
type Result<N extends SingleName> = ReturnType<Single[N]> extends Write<infer T> ? T : never;

/** A write that is done once for the same request, however often that comes. */
interface DoOnce<N extends SingleName> {
  name: N;
  input: Parameters<Single[N]>[0];
  once: Once;
}

/** The result must be plain JSON. Throws what the write throws, and `idempotency_key_reused`. */
function* doOnce<N extends SingleName>(input: DoOnce<N>): Write<{ result: Result<N>; replayed: boolean }> {
  const kept = yield* findResult(input.once);
  if (kept !== undefined) return { result: JSON.parse(kept), replayed: true };
  const result = yield* (single[input.name] as (input: unknown) => Write<Result<N>>)(input.input);
  yield* keepResult(input.once, JSON.stringify(result));
  return { result, replayed: false };
}

/** Every write that the service does, by name. */
export const writes = { ...single, doOnce };

/** Whose files, tokens, webhooks or contacts a write counts; undefined: nobody's. Two writes for the same user cross each other. */
export function countedUser(name: keyof typeof writes, input: unknown): string | undefined {
  if (name === "doOnce") {
    const inner = input as DoOnce<SingleName>;
    return countedUser(inner.name, inner.input);
  }
  if (name === "createAttachment") return (input as { uploader_id: string }).uploader_id;
  if (name === "createWebhook") return (input as { row: { user_id: string } }).row.user_id;
  if (name === "deleteAttachment" || name === "reserveStorage" || name === "createToken")
    return (input as { userId: string }).userId;
  if (name === "createContact") {
    const { ownerId, maxContacts } = input as { ownerId: string; maxContacts: number };
    return maxContacts > 0 ? ownerId : undefined;
  }
  return undefined;
}
