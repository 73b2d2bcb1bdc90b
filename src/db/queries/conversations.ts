import { type Reader, run, sql, type Write } from "../sql.ts";
import type { Seat } from "./visibility.ts";

/** Part of other writes: creates a conversation by its first member. It exists as long as it has one. */
export function* createConversation(id: string, userId: string, createdAt: number): Write<void> {
  yield* run(
    sql`INSERT INTO members (conversation_id, user_id, joined_at) VALUES (${id}, ${userId}, ${createdAt})`,
  );
}

/** Finds the user's membership of a conversation. */
export function findSeat(db: Reader, conversationId: string, userId: string): Promise<Seat | undefined> {
  return db.get<Seat>(
    sql`SELECT user_id, conversation_id, since_id FROM members
      WHERE conversation_id = ${conversationId} AND user_id = ${userId}`,
  );
}

/** Returns the position in an inbox that the message or conversation of this id gives: ids sort by their time. */
export function positionOf(id: string): string {
  return id.slice(4);
}
