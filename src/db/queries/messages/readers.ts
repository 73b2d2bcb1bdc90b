import { type Page, pageClause } from "../../page.ts";
import { type Reader, type Statement, sql } from "../../sql.ts";
import type { MessageRow } from "./messages.ts";

type ReadMessage = Pick<MessageRow, "id" | "conversation_id" | "sender_id">;

/** Returns the ids of a page of the users who have read the message, as far as the asking member may know, and one more. */
export function listReaders(
  db: Reader,
  message: ReadMessage,
  askerId: string,
  page: Page,
): Promise<{ id: string }[]> {
  return db.all(readersQuery(message, askerId, page));
}

/**
 * Selects the members whose disclosed read position has reached the message. In a group it must not matter whether the message is
 * withheld from them: the sender would learn who has blocked them. In a direct conversation the condition is that of
 * `contact_read_id`.
 */
export function readersQuery(
  { id, conversation_id, sender_id }: ReadMessage,
  askerId: string,
  page: Page,
): Statement<{ id: string }> {
  const isPeer = sql`EXISTS (SELECT 1 FROM contacts c
    WHERE c.owner_id = me.user_id AND c.id = me.contact_id AND c.peer_id = s.user_id)`;
  return sql`SELECT s.user_id AS id FROM members me
    JOIN members s ON s.conversation_id = me.conversation_id
    JOIN marks k ON k.user_id = s.user_id AND k.conversation_id = s.conversation_id AND k.disclosed_read_id >= ${id}
    JOIN users u ON u.id = s.user_id
    WHERE me.conversation_id = ${conversation_id} AND me.user_id = ${askerId} AND s.user_id <> ${sender_id}
      AND (s.user_id = me.user_id OR (me.group_id IS NOT NULL AND s.since_id < ${id}) OR ${isPeer})
      AND ${pageClause(page, sql`s.user_id`)}`;
}
