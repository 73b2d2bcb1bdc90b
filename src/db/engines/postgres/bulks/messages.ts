import { timeOfId } from "../../../../util/ids.ts";
import { INTO_OUTBOX } from "../../../queries/events/events.ts";
import { type CreateAttachment, toFileMessage } from "../../../queries/files/attachments.ts";
import {
  MARK_READ,
  MOVE_UP,
  type SendMessage,
  type SentMessage,
} from "../../../queries/messages/message-send.ts";
import { EXTEND_RUN, runBefore } from "../../../queries/messages/message-withhold.ts";
import type { SenderRow } from "../../../queries/people/users.ts";
import { INTO_AUDIT } from "../../../queries/record/audit-trail.ts";
import type { NewFile } from "../../../queries/storage/files.ts";
import { positionOf } from "../../../queries/visibility/seats.ts";
import { sees } from "../../../queries/visibility/visibility.ts";
import { EMPTY, type Statement, sql } from "../../../sql.ts";
import { type BulkRow, IS_UNUSED, KEY_INPUT, none, some, toBytea } from "./bulk.ts";

// Bulks handle the usual messages: of senders for whom nobody acts, without mentions, with at most one file, which is stored in the
// database, and with an id that is later than all in the conversation. Whether a message is a usual one does not depend on who has
// blocked its sender: otherwise the sender could detect blocks by the time.

const INPUT = sql`${KEY_INPUT}, id TEXT COLLATE "C", target_id TEXT COLLATE "C", sender_id TEXT COLLATE "C", text TEXT,
  data TEXT, reply_to_id TEXT COLLATE "C", position TEXT COLLATE "C", created_at BIGINT, now BIGINT,
  client_id TEXT COLLATE "C", fingerprint BYTEA`;
const FILE_INPUT = sql`, file_id TEXT COLLATE "C", filename TEXT, file_type TEXT, file_size BIGINT, sha256 BYTEA, blob_key TEXT,
  crc32 BIGINT, width BIGINT, height BIGINT, file_created_at BIGINT, bytes BYTEA, act_id TEXT COLLATE "C", act_at BIGINT,
  actor_id TEXT COLLATE "C", token_id TEXT COLLATE "C", acted_by_id TEXT COLLATE "C"`;

const TARGET = sql`COALESCE(input.target_id, u.conversation_id)`;
const IS_USUAL = sql`u.id = input.sender_id
  AND ${some(sql`SELECT m.user_id FROM members m WHERE m.conversation_id = ${TARGET} AND m.user_id = u.id`)}
  AND ${none(sql`SELECT c.id FROM conversations c WHERE c.id = ${TARGET} AND c.last_id >= input.id`)}
  AND (input.reply_to_id IS NULL OR ${some(sql`SELECT r.id FROM messages r
    JOIN members s ON s.conversation_id = r.conversation_id AND s.user_id = input.sender_id
    WHERE r.conversation_id = ${TARGET} AND r.id = input.reply_to_id AND ${sees(sql`r.id`)}`)})
  AND (input.client_id IS NULL OR ${none(sql`SELECT i.user_id FROM client_ids i
    WHERE i.user_id = input.sender_id AND i.client_id = input.client_id`)})
  AND ${IS_UNUSED}`;

const BLOCK = sql`SELECT b.owner_id FROM blocks b WHERE b.owner_id = s.user_id AND b.username_key = found.username_key`;
/** Selects the members who see a message that is later than all others: those from whom no block withholds it. */
const TO_AUDIENCE = sql`members s WHERE s.conversation_id = found.conversation_id
  AND (s.user_id = found.sender_id OR ${none(BLOCK)})`;
const TO_BLOCKERS = sql`members s WHERE s.conversation_id = found.conversation_id
  AND s.user_id <> found.sender_id AND ${some(BLOCK)}`;

function reference(id: Statement): Statement {
  return sql`'{"id":"' || ${id} || '","conversation_id":"' || found.conversation_id || '"}'`;
}

interface Found extends Omit<SenderRow, "id"> {
  n: number;
  conversation_id: string;
}

/** Stores messages. Those of one conversation are ordered by id, so the last one becomes its last message. */
function storeMessages(
  rows: string,
  fileInput: Statement,
  hasFile: Statement,
  more: Statement,
): Statement<Found> {
  return sql`WITH input AS (SELECT * FROM json_to_recordset(${rows}) AS rows (${INPUT}${fileInput})),
    found AS MATERIALIZED (
      SELECT input.*, ${TARGET} AS conversation_id, u.username, u.username_key, u.display_name, u.avatar_url, u.avatar_id,
        u.kind, CASE WHEN input.text IS NOT NULL OR input.data IS NOT NULL THEN nextval('message_bodies_id_seq') END AS new_body_id
      FROM input CROSS JOIN users u WHERE ${IS_USUAL}),
    new_bodies AS (INSERT INTO message_bodies (id, text, data)
      SELECT new_body_id, text, data FROM found WHERE new_body_id IS NOT NULL),
    new_unindexed AS (INSERT INTO unindexed (body_id) SELECT new_body_id FROM found WHERE text IS NOT NULL),
    new_messages AS (
      INSERT INTO messages
        (conversation_id, id, sender_id, type, body_id, has_files, reply_to_id, created_at, version, client_id)
      SELECT conversation_id, id, sender_id, 'text', new_body_id, ${hasFile}, reply_to_id, created_at, 1, client_id
      FROM found),
    new_client_ids AS (INSERT INTO client_ids (user_id, client_id, fingerprint, conversation_id, message_id)
      SELECT sender_id, client_id, fingerprint, conversation_id, id FROM found WHERE client_id IS NOT NULL),
    ${WITHHOLD},
    new_last AS (INSERT INTO conversations (id, last_id)
      SELECT DISTINCT ON (conversation_id) conversation_id, id FROM found ORDER BY conversation_id, id DESC
      ON CONFLICT (id) DO UPDATE SET last_id = excluded.last_id),
    new_places AS (INSERT INTO places (user_id, conversation_id, position, maybe_unread)
      SELECT DISTINCT ON (s.user_id, found.conversation_id) s.user_id, found.conversation_id, found.position,
        CASE WHEN s.user_id = found.sender_id THEN 0 ELSE 1 END
      FROM found, ${TO_AUDIENCE} ORDER BY s.user_id, found.conversation_id, found.id DESC ${MOVE_UP}),
    new_marks AS (INSERT INTO marks (user_id, conversation_id, last_read_id)
      SELECT DISTINCT ON (sender_id, conversation_id) sender_id, conversation_id, id FROM found
      ORDER BY sender_id, conversation_id, id DESC ${MARK_READ}),
    ${more}
    SELECT n, conversation_id, username, display_name, avatar_url, avatar_id, kind FROM found`;
}

/** Withholds successive messages as one run. `seen` counts the earlier messages of the conversation that the member sees. */
const WITHHOLD = sql`new_withheld AS (INSERT INTO withheld (user_id, conversation_id, from_id, to_id)
  SELECT s.user_id, s.conversation_id, CASE WHEN s.seen = 0 THEN COALESCE(${runBefore(sql`s.from_id`)}, s.from_id)
      ELSE s.from_id END, s.to_id
    FROM (SELECT r.user_id, r.conversation_id, r.seen, MIN(r.id) AS from_id, MAX(r.id) AS to_id
      FROM (SELECT s.user_id, found.conversation_id, found.id, found.ordinal - ROW_NUMBER()
          OVER (PARTITION BY s.user_id, found.conversation_id ORDER BY found.id) AS seen
        FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY conversation_id ORDER BY id) AS ordinal FROM found) found,
          ${TO_BLOCKERS}) r
      GROUP BY r.user_id, r.conversation_id, r.seen) s
    WHERE true ${EXTEND_RUN})`;

const toMessages = (rows: string): Statement<Found> =>
  storeMessages(
    rows,
    EMPTY,
    sql`0`,
    sql`new_events AS (
      ${INTO_OUTBOX} SELECT s.user_id, 'message.created', found.conversation_id, found.now, ${reference(sql`found.id`)}
      FROM found, ${TO_AUDIENCE} ORDER BY found.id)`,
  );

const toFileMessages = (rows: string): Statement<Found> =>
  storeMessages(
    rows,
    FILE_INPUT,
    sql`1`,
    sql`new_attachments AS (
      INSERT INTO attachments (id, conversation_id, message_id, uploader_id, filename, file_type, file_size, sha256,
        blob_key, crc32, created_at, version, width, height)
      SELECT file_id, conversation_id, id, sender_id, filename, file_type, file_size, sha256, blob_key, crc32,
        file_created_at, 1, width, height FROM found),
    new_small_files AS (INSERT INTO small_files (attachment_id, bytes) SELECT file_id, bytes FROM found),
    new_grants AS (INSERT INTO grants (user_id, attachment_id, conversation_id)
      SELECT s.user_id, found.file_id, found.conversation_id FROM found, ${TO_AUDIENCE}),
    new_used AS (UPDATE storage SET used = used + found.file_size FROM found WHERE storage.user_id = found.sender_id),
    new_entries AS (
      ${INTO_AUDIT} SELECT act_id, act_at, actor_id, token_id, acted_by_id, 'attachment.created', file_id, NULL
      FROM found),
    new_events AS (
      ${INTO_OUTBOX} SELECT s.user_id, e.type, found.conversation_id, found.now,
        CASE WHEN e.nth = 1 THEN ${reference(sql`found.id`)} ELSE ${reference(sql`found.file_id`)} END
      FROM found, (VALUES (1, 'message.created'), (2, 'attachment.created')) e (nth, type) CROSS JOIN ${TO_AUDIENCE}
      ORDER BY found.id, e.nth)`,
  );

/** Returns the row of a message that may be a usual one; undefined for others. */
export function createMessage(message: SendMessage): BulkRow | undefined {
  const { newId, conversationId, senderId, text, data, replyToId, clientId, files, now } = message;
  if (message.mentions.length > 0 || files.length > 1 || message.entry) return undefined;
  const values = {
    id: newId,
    target_id: conversationId,
    sender_id: senderId,
    text,
    data,
    reply_to_id: replyToId,
    position: positionOf(newId),
    created_at: timeOfId(newId),
    now,
    client_id: clientId?.id ?? null,
    fingerprint: clientId && toBytea(clientId.fingerprint),
  };
  // Of two messages with one id, the second finds the first.
  const identified = clientId ? [`${senderId} ${clientId.id}`] : [];
  const toResult = ({ n: _, conversation_id, ...sender }: Found): SentMessage => ({
    id: newId,
    conversation_id,
    sender: { id: senderId, ...sender },
  });
  const conversation = conversationId ?? senderId;
  const [file] = files;
  if (!file)
    return { toStatement: toMessages, values, places: identified, commonPlace: conversation, toResult };
  const { bytes, hasIntent, reservation, filesPerDay, isUnscanned } = file;
  if (bytes === null || hasIntent || reservation || filesPerDay > 0 || isUnscanned) return undefined;
  return {
    toStatement: toFileMessages,
    values: { ...values, ...toFileValues(file, bytes) },
    // The write changes the uploader's used storage.
    places: [conversation, senderId, ...identified],
    toResult,
  };
}

function toFileValues({ entry, ...file }: NewFile, bytes: Uint8Array) {
  return {
    file_id: file.id,
    filename: file.filename,
    file_type: file.fileType,
    file_size: file.fileSize,
    sha256: toBytea(file.sha256),
    blob_key: file.blobKey,
    crc32: file.crc32,
    width: file.pictureSize?.width ?? null,
    height: file.pictureSize?.height ?? null,
    file_created_at: file.createdAt,
    bytes: toBytea(bytes),
    act_id: entry.id,
    act_at: entry.at,
    actor_id: entry.actorId,
    token_id: entry.tokenId,
    acted_by_id: entry.actedById,
  };
}

/** Returns the row of a file that is sent as a message; undefined if it takes the steps. */
export function createAttachment(input: CreateAttachment): BulkRow | undefined {
  if (input.target.messageId !== undefined) return undefined;
  const row = createMessage(toFileMessage(input));
  return row && { ...row, toResult: () => ({ id: input.file.id, message_id: input.newMessageId }) };
}
