import { INTO_OUTBOX, toReference } from "../../../queries/events/events.ts";
import { type MarkRead, READER, SET_READ } from "../../../queries/messages/conversation-state.ts";
import { type Statement, sql } from "../../../sql.ts";
import { type BulkRow, IS_UNUSED, KEY_INPUT, some } from "./bulk.ts";

/** Handles read positions at the last message of a conversation: clients mark an open conversation as read to its end. */
const toStatement = (rows: string): Statement<{ n: number }> =>
  sql`WITH input AS (SELECT * FROM json_to_recordset(${rows}) AS rows (${KEY_INPUT}, user_id TEXT COLLATE "C",
      conversation_id TEXT COLLATE "C", message_id TEXT COLLATE "C", is_private BIGINT, now BIGINT, payload TEXT)),
    found AS MATERIALIZED (
      SELECT input.*, COALESCE(k.last_read_id, '') AS was_read, COALESCE(k.disclosed_read_id, '') AS was_disclosed,
        CASE WHEN input.is_private = 1 THEN COALESCE(k.disclosed_read_id, '') ELSE input.message_id END AS disclosed,
        ${READER} AS reader_id, p.maybe_unread
      FROM input CROSS JOIN members s
        LEFT JOIN places p ON p.user_id = input.user_id AND p.conversation_id = input.conversation_id
        LEFT JOIN marks k ON k.user_id = input.user_id AND k.conversation_id = input.conversation_id
      WHERE s.conversation_id = input.conversation_id AND s.user_id = input.user_id AND input.message_id > s.since_id
        AND ${some(sql`SELECT v.id FROM conversations v WHERE v.id = input.conversation_id AND v.last_id = input.message_id`)}
        AND ${IS_UNUSED}),
    new_marks AS (INSERT INTO marks (user_id, conversation_id, last_read_id, disclosed_read_id)
      SELECT user_id, conversation_id, message_id, disclosed FROM found
      WHERE was_read <> message_id OR was_disclosed <> disclosed ${SET_READ}),
    own_events AS (${INTO_OUTBOX} SELECT user_id, 'conversation.updated', conversation_id, now, payload
      FROM found WHERE was_read <> message_id),
    reader_events AS (${INTO_OUTBOX} SELECT reader_id, 'conversation.updated', conversation_id, now, payload
      FROM found WHERE was_disclosed <> disclosed AND reader_id IS NOT NULL),
    -- Also after a read that moves nothing: what was unread may have been deleted.
    new_places AS (INSERT INTO places (user_id, conversation_id, maybe_unread)
      SELECT user_id, conversation_id, 0 FROM found WHERE maybe_unread = 1
      ON CONFLICT (user_id, conversation_id) DO UPDATE SET maybe_unread = 0)
    SELECT n FROM found`;

export function markRead({ userId, conversationId, messageId, isPrivate, now }: MarkRead): BulkRow {
  return {
    toStatement,
    values: {
      user_id: userId,
      conversation_id: conversationId,
      message_id: messageId,
      is_private: isPrivate ? 1 : 0,
      now,
      payload: toReference(conversationId, conversationId),
    },
    places: [`${userId} ${conversationId}`],
    toResult: () => undefined,
  };
}
