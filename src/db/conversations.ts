import { type Reader, run, statement, type Write } from "./sql.ts";

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

/**
 * Part of other writes: the user leaves the conversation and sees nothing of it from then on. With the last
 * member gone its rows go, and a tombstone stays for each file until its bytes are erased.
 */
export function* leaveConversation(id: string, userId: string, now: number): Write<void> {
  const [, , members] = yield [
    statement("DELETE FROM grants WHERE user_id = ? AND conversation_id = ?", userId, id),
    statement("DELETE FROM members WHERE conversation_id = ? AND user_id = ?", id, userId),
    statement("SELECT 1 AS one FROM members WHERE conversation_id = ? LIMIT 1", id),
  ];
  if (members!.length > 0) return;
  yield [
    statement(
      `INSERT INTO tombstones (blob_key, created_at)
       SELECT blob_key, ? FROM attachments WHERE conversation_id = ? AND blob_key <> id`,
      now,
      id,
    ),
    statement(
      "DELETE FROM small_files WHERE attachment_id IN (SELECT id FROM attachments WHERE conversation_id = ?)",
      id,
    ),
    statement("DELETE FROM attachments WHERE conversation_id = ?", id),
    statement("DELETE FROM messages WHERE conversation_id = ?", id),
  ];
}
