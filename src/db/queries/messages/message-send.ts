import { ParleyError } from "../../../errors.ts";
import { laterId, timeOfId } from "../../../util/ids.ts";
import { list, type Statement, sql } from "../../sql.ts";
import { all, batch, get, type Write, write } from "../../write.ts";
import { publishReference } from "../events/events.ts";
import { hasBlocked } from "../people/blocks.ts";
import { getUser, type SenderRow } from "../people/users.ts";
import { type NewEntry, recordEntry } from "../record/audit-trail.ts";
import { type ClientId, takeClientId } from "../record/client-ids.ts";
import { queueBody } from "../search/search.ts";
import { addFile, type NewFile } from "../storage/files.ts";
import { positionOf } from "../visibility/seats.ts";
import { audience, sees } from "../visibility/visibility.ts";
import { EXTEND_RUN, runBefore } from "./message-withhold.ts";

/** A message as it is sent; the sender is a member of the conversation. */
export interface SendMessage {
  /** The id of the message, unless the conversation already has a later one. */
  newId: string;
  /** Null for the sender's notes to self. */
  conversationId: string | null;
  senderId: string;
  text: string | null;
  /** JSON text. */
  data: string | null;
  /** Ids of members. */
  mentions: readonly string[];
  replyToId: string | null;
  clientId: ClientId | null;
  files: readonly NewFile[];
  /** Milliseconds. */
  now: number;
  /** The audit entry, if somebody else acts as the sender. */
  entry: NewEntry | null;
}

export const MARK_READ = sql`ON CONFLICT (user_id, conversation_id) DO UPDATE SET last_read_id = excluded.last_read_id`;
/** Moves a conversation up in an inbox, never down, even if clocks differ. */
export const MOVE_UP = sql`ON CONFLICT (user_id, conversation_id) DO UPDATE
  SET position = CASE WHEN places.position > excluded.position THEN places.position ELSE excluded.position END,
    maybe_unread = excluded.maybe_unread`;

/** The facts that a write assigns to a new message. They are stored for replays, so they contain no text of users. */
export interface SentMessage {
  id: string;
  conversation_id: string;
  sender: SenderRow;
}

/** The sender's seat, with facts for the new message. */
interface SenderSeat extends Omit<SenderRow, "id"> {
  conversation_id: string;
  last_id: string | null;
  username_key: string;
}

/**
 * Sends a message with its files, all or nothing. Its id is greater than all earlier ones in the conversation, even if the
 * clocks of nodes differ. Throws `conversation_not_found`, `message_not_found` for the message replied to,
 * `invalid_parameter` for a mention of a user who is not a member, and `client_id_conflict`.
 */
export const createMessage = write(
  { publishesEvents: true, serializeBy: ({ conversationId }) => conversationId ?? undefined },
  function* (input: SendMessage): Write<SentMessage> {
    const { senderId, clientId, files, now } = input;
    const seat = yield* findSenderSeat(input);
    const conversationId = seat.conversation_id;
    if (input.replyToId !== null) yield* checkReply(conversationId, senderId, input.replyToId);
    if (input.mentions.length > 0) yield* checkMentions(conversationId, input.mentions);
    const id = laterId(input.newId, seat.last_id ?? "");
    const message = { id, conversationId, senderId };
    if (clientId !== null) yield* takeClientId(message, clientId, now);
    const bodyId = yield* insertBody(input.text, input.data);
    let statements = [
      sql`INSERT INTO conversations (id, last_id) VALUES (${conversationId}, ${id})
        ON CONFLICT (id) DO UPDATE SET last_id = excluded.last_id`,
      withholdFrom(message, seat.username_key),
      sql`INSERT INTO messages (conversation_id, id, sender_id, type, body_id, has_files, mentions, reply_to_id,
          created_at, version, client_id)
        VALUES (${conversationId}, ${id}, ${senderId}, 'text', ${bodyId}, ${files.length > 0 ? 1 : 0},
          ${input.mentions.join(" ") || null}, ${input.replyToId}, ${timeOfId(id)}, 1, ${clientId?.id ?? null})`,
      ...queueBody(bodyId, input.text),
      publishReference("message.created", now, conversationId, id, id),
      moveUp(message),
      sql`INSERT INTO marks (user_id, conversation_id, last_read_id) VALUES (${senderId}, ${conversationId}, ${id})
        ${MARK_READ}`,
      ...(input.entry ? [recordEntry(input.entry, "message.created", id)] : []),
    ];
    for (const file of files) {
      yield* addFile(file, conversationId, id, now, statements);
      statements = [];
    }
    yield* batch(statements);
    const { username, display_name, avatar_url, avatar_id, kind } = seat;
    const sender = { id: senderId, username, display_name, avatar_url, avatar_id, kind };
    return { id, conversation_id: conversationId, sender };
  },
);

function* findSenderSeat({ conversationId, senderId }: SendMessage): Write<SenderSeat> {
  // A deleted user stays a member until these rows are erased.
  const seat = yield* get<SenderSeat>(
    sql`SELECT m.conversation_id, u.username, u.display_name, u.avatar_url, u.avatar_id, u.kind, u.username_key,
        (SELECT c.last_id FROM conversations c WHERE c.id = m.conversation_id) AS last_id
      FROM members m JOIN users u ON u.id = m.user_id
      WHERE m.conversation_id = ${conversationId ?? sql`u.conversation_id`} AND m.user_id = ${senderId}`,
  );
  if (seat) return seat;
  if (conversationId === null) yield* getUser(senderId);
  throw new ParleyError("conversation_not_found", undefined, { param: "conversation_id" });
}

function* checkReply(conversationId: string, senderId: string, messageId: string): Write<void> {
  const seen = yield* get(
    sql`SELECT m.id FROM messages m JOIN members s ON s.conversation_id = m.conversation_id AND s.user_id = ${senderId}
      WHERE m.conversation_id = ${conversationId} AND m.id = ${messageId} AND ${sees(sql`m.id`)}`,
  );
  if (!seen) throw new ParleyError("message_not_found", undefined, { param: "reply_to_id" });
}

/** Part of other writes. Throws `invalid_parameter`. A contact who has left counts as a member, so that nobody notices. */
export function* checkMentions(conversationId: string, userIds: readonly string[]): Write<void> {
  const members = yield* all<{ id: string }>(
    sql`SELECT u.id FROM users u WHERE u.id IN (${list(userIds)}) AND (
      EXISTS (SELECT 1 FROM members m WHERE m.conversation_id = ${conversationId} AND m.user_id = u.id)
      OR EXISTS (SELECT 1 FROM departures d WHERE d.conversation_id = ${conversationId} AND d.user_id = u.id
        AND NOT EXISTS (SELECT 1 FROM members m WHERE m.conversation_id = d.conversation_id AND m.group_id IS NOT NULL)))`,
  );
  if (members.length === userIds.length) return;
  throw new ParleyError("invalid_parameter", "mentions must be ids of members of the conversation (usr_…).", {
    param: "mentions",
  });
}

/** Part of other writes: stores text and data, and returns the id of the body; null if there is neither. */
export function* insertBody(text: string | null, data: string | null): Write<number | null> {
  if (text === null && data === null) return null;
  const body = yield* get<{ id: number }>(
    sql`INSERT INTO message_bodies (text, data) VALUES (${text}, ${data}) RETURNING id`,
  );
  return body!.id;
}

interface Sent {
  id: string;
  conversationId: string;
  senderId: string;
}

/**
 * Withholds a new message from members who have blocked its sender. Extends the last run if the member sees no message after
 * it, so that a flood is one row.
 */
function withholdFrom({ id, conversationId, senderId }: Sent, senderKey: string): Statement {
  return sql`INSERT INTO withheld (user_id, conversation_id, from_id, to_id)
    SELECT s.user_id, s.conversation_id, COALESCE(${runBefore(sql`${id}`)}, ${id}), ${id}
    FROM members s WHERE s.conversation_id = ${conversationId} AND s.user_id <> ${senderId}
      AND ${hasBlocked(senderKey)}
    ${EXTEND_RUN}`;
}

/** Moves the conversation to the top of the inbox of everybody who sees the message. */
function moveUp({ id, conversationId, senderId }: Sent): Statement {
  return sql`INSERT INTO places (user_id, conversation_id, position, maybe_unread)
    SELECT s.user_id, s.conversation_id, ${positionOf(id)}, CASE WHEN s.user_id = ${senderId} THEN 0 ELSE 1 END
    ${audience(conversationId, sql`${id}`)}
    ${MOVE_UP}`;
}

export const sendWrites = { createMessage };
