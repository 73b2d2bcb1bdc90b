import { BulkRow } from "./bulk.ts";
import { forgetEvents, numberEvents } from "./queries/events/events.ts";
import { createAttachment, deleteAttachment, renameAttachment } from "./queries/files/attachments.ts";
import { setPlaceholder } from "./queries/files/picture-placeholders.ts";
import { clearUnscanned, recordRefusedFile, withdrawAttachment } from "./queries/files/scans.ts";
import {
  advanceUpload,
  createUpload,
  deleteUpload,
  expireUploads,
  finishUpload,
  reserveForUpload,
  takeUpload,
} from "./queries/files/upload-resumable.ts";
import { joinGroup, prepareJoin } from "./queries/groups/group-joining.ts";
import { leaveGroup } from "./queries/groups/group-leaving.ts";
import { inviteMember, removeMember } from "./queries/groups/group-members.ts";
import { updateMember } from "./queries/groups/group-roles.ts";
import { createGroup, updateGroup } from "./queries/groups/groups.ts";
import { markRead, updateConversation } from "./queries/messages/marks.ts";
import { deleteMessage, hideMessage, updateMessage } from "./queries/messages/message-read.ts";
import { createMessage } from "./queries/messages/message-send.ts";
import { addReaction, removeReaction } from "./queries/messages/reactions.ts";
import { recordActivity } from "./queries/people/activity.ts";
import { setBlock } from "./queries/people/blocks.ts";
import { setContactKeys, setNameRule } from "./queries/people/contact-keys.ts";
import { blockContact, createContact, deleteContact, updateContact } from "./queries/people/contacts.ts";
import { createIdentity } from "./queries/people/identities.ts";
import { createToken, deleteIdentities, deleteTokens, forgetExpiredTokens } from "./queries/people/tokens.ts";
import { createFirstUser, createUser } from "./queries/people/users.ts";
import { forgetEntries, recordDownloads } from "./queries/record/audit-trail.ts";
import { findResult, forgetKeys, type IdempotentRequest, storeResult } from "./queries/record/idempotency.ts";
import { indexMessages, rebuildIndex } from "./queries/search/search.ts";
import { createIntent, dropIntent, lapseIntents, renewIntent } from "./queries/storage/intents.ts";
import {
  dropReservations,
  lapseReservations,
  releaseStorage,
  reserveStorage,
} from "./queries/storage/storage-used.ts";
import { dropTombstones } from "./queries/storage/tombstones.ts";
import { repairContact } from "./queries/upkeep/contact-repair.ts";
import { deleteUser, eraseStep } from "./queries/upkeep/erasing.ts";
import { dropHold, placeHold, renewHold } from "./queries/upkeep/holds.ts";
import { beginMove, endMove, forgetSecrets, importRows } from "./queries/upkeep/tables.ts";
import {
  addTestDelivery,
  forgetDeliveries,
  redeliver,
  settleDelivery,
  skipDelivery,
} from "./queries/webhooks/deliveries.ts";
import { addBacklog, addDeliveries } from "./queries/webhooks/hand-out.ts";
import {
  createPushKey,
  createPushSubscription,
  deletePushSubscription,
  endPushSubscription,
  settlePush,
  skipPush,
} from "./queries/webhooks/push-subscriptions.ts";
import { createWebhook, deleteWebhook, rotateSecret, updateWebhook } from "./queries/webhooks/webhooks.ts";
import { type Declaration, doRow, type Write, write } from "./write.ts";

/** Each by its name. */
const single = {
  addBacklog,
  addDeliveries,
  addReaction,
  addTestDelivery,
  advanceUpload,
  beginMove,
  blockContact,
  clearUnscanned,
  createAttachment,
  createContact,
  createFirstUser,
  createGroup,
  createIdentity,
  createIntent,
  createMessage,
  createPushKey,
  createPushSubscription,
  createToken,
  createUpload,
  createUser,
  createWebhook,
  deleteAttachment,
  deleteContact,
  deleteIdentities,
  deleteMessage,
  deletePushSubscription,
  deleteTokens,
  deleteUpload,
  deleteUser,
  deleteWebhook,
  dropHold,
  dropIntent,
  dropReservations,
  dropTombstones,
  endMove,
  endPushSubscription,
  eraseStep,
  expireUploads,
  finishUpload,
  forgetEntries,
  forgetDeliveries,
  forgetEvents,
  forgetExpiredTokens,
  forgetKeys,
  forgetSecrets,
  hideMessage,
  importRows,
  indexMessages,
  inviteMember,
  joinGroup,
  lapseIntents,
  lapseReservations,
  leaveGroup,
  markRead,
  numberEvents,
  placeHold,
  prepareJoin,
  rebuildIndex,
  recordActivity,
  recordDownloads,
  recordRefusedFile,
  redeliver,
  releaseStorage,
  removeMember,
  removeReaction,
  renameAttachment,
  renewHold,
  renewIntent,
  repairContact,
  reserveForUpload,
  reserveStorage,
  rotateSecret,
  setBlock,
  setContactKeys,
  setNameRule,
  setPlaceholder,
  settleDelivery,
  settlePush,
  skipDelivery,
  skipPush,
  takeUpload,
  updateContact,
  updateConversation,
  updateGroup,
  updateMember,
  updateMessage,
  updateWebhook,
  withdrawAttachment,
};

type Single = typeof single;
export type SingleName = keyof Single;
type Result<N extends SingleName> = ReturnType<Single[N]> extends Write<infer T> ? T : never;

/** A write that only the first request with an Idempotency-Key runs. */
interface IdempotentWrite<N extends SingleName> {
  name: N;
  input: Parameters<Single[N]>[0];
  request: IdempotentRequest;
}

type DeclaredWrite = ((input: unknown) => Write<unknown>) & Declaration<unknown>;

/** Does a write that is the row of a bulk, unless the key was used; otherwise nothing, and returns undefined. */
function* doFirstRow(steps: Write<unknown>, key: IdempotentRequest): Write<{ result: unknown } | undefined> {
  const first = steps.next();
  const row = first.done ? undefined : first.value[0];
  const found = row instanceof BulkRow && (yield* doRow(row.unlessUsed(key)));
  if (!found) return undefined;
  const last = steps.next([[found]]);
  if (!last.done) throw new TypeError("A write whose row was found has more steps.");
  return { result: last.value };
}

/** The result must be plain JSON. Throws what the write throws, and `idempotency_key_reused`. */
const runIdempotent = write(
  {
    publishesEvents: true,
    serializeBy: ({ name, input }) => (single[name] as DeclaredWrite).serializeBy?.(input),
  },
  function* <N extends SingleName>({
    name,
    input,
    request,
  }: IdempotentWrite<N>): Write<{ result: Result<N>; replayed: boolean }> {
    const write = single[name] as DeclaredWrite;
    let found = request.replayOnly ? undefined : yield* doFirstRow(write(input), request);
    if (!found) {
      const stored = yield* findResult(request);
      if (stored !== undefined) return { result: JSON.parse(stored), replayed: true };
      found = { result: yield* write(input) };
    }
    yield* storeResult(request, JSON.stringify(found.result));
    return { result: found.result as Result<N>, replayed: false };
  },
);

/** All writes of the service, by name. */
export const writes = { ...single, runIdempotent };

/** Returns the write of this name, with what it declares. */
export function getWrite(name: keyof typeof writes): DeclaredWrite {
  return writes[name] as DeclaredWrite;
}
