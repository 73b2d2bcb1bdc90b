import { eventWrites } from "./queries/events/events.ts";
import { attachmentWrites } from "./queries/files/attachments.ts";
import { placeholderWrites } from "./queries/files/picture-placeholders.ts";
import { scanWrites } from "./queries/files/scans.ts";
import { uploadWrites } from "./queries/files/upload-resumable.ts";
import { addingWrites } from "./queries/groups/group-adding.ts";
import { joiningWrites } from "./queries/groups/group-joining.ts";
import { leavingWrites } from "./queries/groups/group-leaving.ts";
import { memberWrites } from "./queries/groups/group-members.ts";
import { roleWrites } from "./queries/groups/group-roles.ts";
import { groupWrites } from "./queries/groups/groups.ts";
import { markWrites } from "./queries/messages/conversation-state.ts";
import { sendWrites } from "./queries/messages/message-send.ts";
import { messageWrites } from "./queries/messages/messages.ts";
import { reactionWrites } from "./queries/messages/reactions.ts";
import { accountWrites } from "./queries/people/accounts.ts";
import { activityWrites } from "./queries/people/activity.ts";
import { avatarWrites } from "./queries/people/avatars.ts";
import { blockWrites } from "./queries/people/blocks.ts";
import { contactKeyWrites } from "./queries/people/contact-keys.ts";
import { contactWrites } from "./queries/people/contacts.ts";
import { foldedKeyWrites } from "./queries/people/folded-keys.ts";
import { identityWrites } from "./queries/people/identities.ts";
import { profileReaderWrites } from "./queries/people/profile-readers.ts";
import { profileWrites } from "./queries/people/profiles.ts";
import { tokenWrites } from "./queries/people/tokens.ts";
import { userWrites } from "./queries/people/users.ts";
import { type Action, auditWrites, type NewEntry, recordEntry } from "./queries/record/audit-trail.ts";
import { clientIdWrites } from "./queries/record/client-ids.ts";
import {
  findResult,
  type IdempotentRequest,
  idempotencyWrites,
  storeResult,
} from "./queries/record/idempotency.ts";
import { searchWrites } from "./queries/search/search.ts";
import { intentWrites } from "./queries/storage/intents.ts";
import { storageWrites } from "./queries/storage/storage-used.ts";
import { tombstoneWrites } from "./queries/storage/tombstones.ts";
import { repairWrites } from "./queries/upkeep/contact-repair.ts";
import { eraseWrites } from "./queries/upkeep/erasing.ts";
import { holdWrites } from "./queries/upkeep/holds.ts";
import { tableWrites } from "./queries/upkeep/tables.ts";
import { deliveryWrites } from "./queries/webhooks/deliveries.ts";
import { handOutWrites } from "./queries/webhooks/hand-out.ts";
import { pushWrites } from "./queries/webhooks/push-subscriptions.ts";
import { webhookWrites } from "./queries/webhooks/webhooks.ts";
import { type Declaration, run, type Write, write } from "./write.ts";

const single = {
  ...eventWrites,
  ...attachmentWrites,
  ...placeholderWrites,
  ...scanWrites,
  ...uploadWrites,
  ...addingWrites,
  ...joiningWrites,
  ...leavingWrites,
  ...memberWrites,
  ...roleWrites,
  ...groupWrites,
  ...markWrites,
  ...messageWrites,
  ...sendWrites,
  ...reactionWrites,
  ...activityWrites,
  ...avatarWrites,
  ...blockWrites,
  ...contactKeyWrites,
  ...foldedKeyWrites,
  ...contactWrites,
  ...accountWrites,
  ...identityWrites,
  ...tokenWrites,
  ...userWrites,
  ...profileWrites,
  ...profileReaderWrites,
  ...auditWrites,
  ...clientIdWrites,
  ...idempotencyWrites,
  ...searchWrites,
  ...intentWrites,
  ...storageWrites,
  ...tombstoneWrites,
  ...repairWrites,
  ...eraseWrites,
  ...holdWrites,
  ...tableWrites,
  ...deliveryWrites,
  ...handOutWrites,
  ...pushWrites,
  ...webhookWrites,
};

type Single = typeof single;
export type SingleName = keyof Single;
type Result<N extends SingleName> = ReturnType<Single[N]> extends Write<infer T> ? T : never;

/** A write that runs only for the first request with an Idempotency-Key. */
interface IdempotentWrite<N extends SingleName> {
  name: N;
  input: Parameters<Single[N]>[0];
  request: IdempotentRequest;
}

type DeclaredWrite = ((input: unknown) => Write<unknown>) & Declaration<unknown>;

/** Runs a write once for each key. Its result must be plain JSON. Throws what the write throws, and `idempotency_key_reused`. */
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
    const stored = yield* findResult(request);
    if (stored !== undefined) return { result: JSON.parse(stored), replayed: true };
    const result = yield* (single[name] as DeclaredWrite)(input);
    yield* storeResult(request, JSON.stringify(result));
    return { result: result as Result<N>, replayed: false };
  },
);

/** A write that somebody else does as a user, and its audit entry. */
interface ActedWrite<N extends SingleName> {
  name: N;
  input: Parameters<Single[N]>[0];
  entry: NewEntry;
  action: Action;
  objectId: string;
  details: object | undefined;
}

/** Runs a write that has no audit entry if users do it themselves, and records one. Throws what the write throws. */
const runActed = write(
  {
    publishesEvents: true,
    serializeBy: ({ name, input }) => (single[name] as DeclaredWrite).serializeBy?.(input),
  },
  function* <N extends SingleName>(acted: ActedWrite<N>): Write<Result<N>> {
    const { name, input, entry, action, objectId, details } = acted;
    const result = yield* (single[name] as DeclaredWrite)(input);
    yield* run(recordEntry(entry, action, objectId, details));
    return result as Result<N>;
  },
);

/** All writes of the service, by name. */
export const writes = { ...single, runIdempotent, runActed };

/** Returns the write of this name, with its declaration. */
export function getWrite(name: keyof typeof writes): DeclaredWrite {
  return writes[name] as DeclaredWrite;
}
