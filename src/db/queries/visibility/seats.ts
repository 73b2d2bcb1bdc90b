import { type QuickReader, sql } from "../../sql.ts";
import { run, type Write } from "../../write.ts";
import type { Seat } from "./visibility.ts";

/** Part of other writes: creates a conversation by adding its first member. It exists as long as it has members. */
export function* createConversation(id: string, userId: string, createdAt: number): Write<void> {
  yield* run(
    sql`INSERT INTO members (conversation_id, user_id, joined_at) VALUES (${id}, ${userId}, ${createdAt})`,
  );
}

/** Finds the user's membership of a conversation. */
export async function findSeat(
  db: QuickReader,
  conversationId: string,
  userId: string,
): Promise<Seat | undefined> {
  const found = await db.getValues(
    sql<
      [since_id: string]
    >`SELECT since_id FROM members WHERE conversation_id = ${conversationId} AND user_id = ${userId}`,
  );
  return found && { user_id: userId, conversation_id: conversationId, since_id: found[0] };
}

/** Returns the position in an inbox that belongs to this id of a message or conversation. Ids sort by time. */
export function positionOf(id: string): string {
  return id.slice(4);
}
