import { ParleyError } from "../../../errors.ts";
import { type Reader, sql } from "../../sql.ts";
import { checkVersion, type Expected } from "../../version.ts";
import { all, batch, eraseSome, get, run, type Write, write } from "../../write.ts";
import { forgetEventsOf } from "../events/events.ts";
import { eraseUploadsOf } from "../files/upload-resumable.ts";
import { forgetInviter, leaveGroups } from "../groups/group-leaving.ts";
import { continueJoining } from "../people/conversation-joining.ts";
import { continueDeparture, leaveConversation } from "../people/conversation-leaving.ts";
import { declineAll } from "../people/invitations.ts";
import { forgetPeer, forgetWaiting, noteErasedName } from "../people/peers.ts";
import { forgetTokensOf } from "../people/tokens.ts";
import { type NewEntry, recordEntry } from "../record/audit-trail.ts";
import { forgetClientIdsOf } from "../record/client-ids.ts";
import { forgetKeysOf } from "../record/idempotency.ts";
import { eraseAvatar } from "../storage/content-erase.ts";
import { forgetDeletedWebhooks, forgetWebhooksOf } from "../webhooks/deliveries.ts";

/** A deleted user with rows left to erase. */
interface ErasedUser {
  user_id: string;
  username_key: string;
  /** The conversation of notes to self. */
  conversation_id: string;
}

/** The input of one step of the eraser. */
interface EraseInput {
  now: number;
  /** The maximum number of rows to erase. */
  limit: number;
  /** The id of the first system message about it in a group. */
  messageId: string;
}

/** A contact, its owner's membership and a row of its peer. */
const ROWS_OF_A_CONTACT = 3;

export interface DeleteUser {
  id: string;
  expected: Expected;
  deletedAt: number;
  /** How many rows are erased at once; the eraser does the rest. */
  limit: number;
  /** The id of the first system message about it in a group. */
  messageId: string;
  entry: NewEntry;
}

/**
 * Deletes the user with tokens, contacts, webhooks and notes, and removes the user from every conversation. From then on nobody
 * can see the rows that are left to the eraser. Throws `user_not_found` and `precondition_failed`.
 */
export const deleteUser = write(
  { publishesEvents: true, revokesTokens: true },
  function* ({ id, expected, deletedAt, limit, messageId, entry }: DeleteUser): Write<void> {
    const user = yield* get<ErasedUser & { username: string; version: number }>(
      sql`SELECT id AS user_id, username, username_key, conversation_id, version FROM users WHERE id = ${id}`,
    );
    if (!user) throw new ParleyError("user_not_found");
    checkVersion(expected, user.version);
    const lastEntry = yield* forgetTokensOf(id, entry);
    yield* batch([
      noteErasedName(user.username_key, deletedAt),
      sql`UPDATE webhooks SET disabled_at = ${deletedAt} WHERE user_id = ${id} AND disabled_at IS NULL`,
      sql`DELETE FROM storage WHERE user_id = ${id}`,
      sql`DELETE FROM reservations WHERE user_id = ${id}`,
      sql`DELETE FROM activity WHERE user_id = ${id}`,
      ...eraseAvatar(id, deletedAt),
      sql`DELETE FROM profile_changes WHERE user_id = ${id}`,
      sql`DELETE FROM users WHERE id = ${id}`,
      recordEntry(lastEntry, "user.deleted", id, { username: user.username }),
    ]);
    yield* eraseUser(user, { now: deletedAt, limit, messageId });
  },
);

/** Part of other writes: erases at most `limit` rows of the user, and marks the user for the eraser if any are left. */
function* eraseUser(user: ErasedUser, step: EraseInput): Write<void> {
  if (yield* eraseRowsOf(user, step)) return;
  yield* run(
    sql`INSERT INTO erasing (user_id, username_key, conversation_id)
      VALUES (${user.user_id}, ${user.username_key}, ${user.conversation_id})`,
  );
}

/** Erases rows of the user, and returns true if none are left. */
function* eraseRowsOf(user: ErasedUser, { now, limit, messageId }: EraseInput): Write<boolean> {
  // Each step starts again from the first part, because conversations that the user has not left yet may get new messages. Events
  // come first, because webhooks for all users get deliveries of existing events.
  const parts = [
    (left: number) => forgetEventsOf(user.user_id, left),
    (left: number) => forgetWebhooksOf(user.user_id, left, now),
    // Before the conversations: leaving one would release these ids one by one.
    (left: number) => forgetClientIdsOf(user.user_id, left),
    (left: number) => declineAll(user.username_key, now, left),
    (left: number) => leaveContacts(user, left, now),
    (left: number) => leaveGroups(user, messageId, now, left),
    // After the groups, into which a request that began before the deletion may have added members.
    (left: number) => forgetInviter(user.user_id, left),
    (left: number) => leaveConversation(user.conversation_id, user.user_id, now, left),
    (left: number) =>
      eraseSome("blocks", ["owner_id", "username_key"], sql`owner_id = ${user.user_id}`, left),
    // Rows of the user in conversations of others.
    (left: number) =>
      eraseSome("reactions", ["message_id", "place", "nth"], sql`user_id = ${user.user_id}`, left),
    (left: number) =>
      eraseSome("withheld", ["user_id", "conversation_id", "from_id"], sql`user_id = ${user.user_id}`, left),
    // After the messages that were withheld before joining.
    (left: number) =>
      eraseSome("preparing", ["conversation_id", "user_id"], sql`user_id = ${user.user_id}`, left),
    (left: number) => forgetKeysOf(user.user_id, left),
    (left: number) => eraseUploadsOf(user.user_id, left, now),
  ];
  let left = limit;
  for (const erase of parts) {
    left -= yield* erase(left);
    if (left <= 0) return false;
  }
  return true;
}

/** Deletes contacts of the user. Returns the number of erased rows; fewer than `limit` means that no contacts are left. */
function* leaveContacts(user: ErasedUser, limit: number, now: number): Write<number> {
  const contacts = yield* all<{ id: string; conversation_id: string; username_key: string }>(
    sql`SELECT id, conversation_id, username_key FROM contacts WHERE owner_id = ${user.user_id} ORDER BY id
      LIMIT ${Math.ceil(limit / ROWS_OF_A_CONTACT)} + 0`,
  );
  let left = limit;
  for (const { id, conversation_id, username_key } of contacts) {
    if (left <= 0) break;
    const gone = [
      forgetPeer(user.user_id, user.username_key, username_key),
      forgetWaiting(conversation_id, username_key),
      sql`DELETE FROM contacts WHERE owner_id = ${user.user_id} AND id = ${id}`,
    ];
    left -= yield* leaveConversation(conversation_id, user.user_id, now, left, gone);
    left -= ROWS_OF_A_CONTACT;
  }
  return limit - Math.max(left, 0);
}

/**
 * Runs one step of the eraser: erases at most `limit` rows. Returns false if nothing is left. Deleted items stay marked
 * until their last step, so that a crash between two steps loses nothing.
 */
export function* eraseStep(step: EraseInput): Write<boolean> {
  const { limit, now } = step;
  if (yield* continueJoining(limit)) return true;
  if (yield* continueDeparture(now, limit)) return true;
  if ((yield* forgetDeletedWebhooks(limit)) > 0) return true;
  const user = yield* get<ErasedUser>(
    sql`SELECT user_id, username_key, conversation_id FROM erasing ORDER BY user_id LIMIT 1`,
  );
  if (!user) return false;
  if (yield* eraseRowsOf(user, step)) yield* run(sql`DELETE FROM erasing WHERE user_id = ${user.user_id}`);
  return true;
}

/** Reports whether anything is left to erase. */
export async function hasRemains(db: Reader): Promise<boolean> {
  const remains = sql`SELECT 1 AS one FROM departing UNION ALL SELECT 1 FROM joining UNION ALL SELECT 1 FROM deleted_webhooks
    UNION ALL SELECT 1 FROM erasing LIMIT 1`;
  return (await db.get(remains)) !== undefined;
}

export const eraseWrites = { deleteUser, eraseStep };
