import { type Reader, run, type Statement, statement, type Write } from "./sql.ts";
import { releaseSent } from "./storage.ts";

const IS_MEMBER = "SELECT 1 AS one FROM members WHERE conversation_id = ? AND user_id = ?";

export async function isMember(db: Reader, conversationId: string, userId: string): Promise<boolean> {
  return (await db.get(IS_MEMBER, conversationId, userId)) !== undefined;
}

/** Part of other writes: a conversation with its first member. It is there as long as it has one. */
export function* createConversation(id: string, userId: string, createdAt: number): Write<void> {
  yield* run(
    "INSERT INTO members (conversation_id, user_id, joined_at) VALUES (?, ?, ?)",
    id,
    userId,
    createdAt,
  );
}

/** Attachments of a conversation that no member sees. */
const UNSEEN = `conversation_id = ? AND NOT EXISTS (
  SELECT 1 FROM members m JOIN grants g ON g.user_id = m.user_id AND g.attachment_id = attachments.id
  WHERE m.conversation_id = attachments.conversation_id)`;

/**
 * Part of other writes: the user leaves the conversation and sees nothing of it from then on. What no other member sees
 * goes, with the last member all of it, and a tombstone stays for each file until its bytes are erased. `further` is done
 * when the user has left.
 */
export function* leaveConversation(
  id: string,
  userId: string,
  now: number,
  further: readonly Statement[] = [],
): Write<void> {
  yield [
    releaseSent(userId, id),
    statement("DELETE FROM grants WHERE user_id = ? AND conversation_id = ?", userId, id),
    statement("DELETE FROM members WHERE conversation_id = ? AND user_id = ?", id, userId),
    statement(
      `INSERT INTO tombstones (blob_key, created_at)
       SELECT blob_key, ? FROM attachments WHERE blob_key <> id AND ${UNSEEN}`,
      now,
      id,
    ),
    statement(
      `DELETE FROM small_files WHERE attachment_id IN (SELECT id FROM attachments WHERE ${UNSEEN})`,
      id,
    ),
    statement(`DELETE FROM attachments WHERE ${UNSEEN}`, id),
    statement(
      `DELETE FROM messages WHERE conversation_id = ?
       AND NOT EXISTS (SELECT 1 FROM members m WHERE m.conversation_id = messages.conversation_id)`,
      id,
    ),
    statement(
      `DELETE FROM departures WHERE conversation_id = ?
       AND NOT EXISTS (SELECT 1 FROM members m WHERE m.conversation_id = departures.conversation_id)`,
      id,
    ),
    ...further,
  ];
}
