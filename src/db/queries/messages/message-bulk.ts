import { timeOfId } from "../../../util/ids.ts";
import { Bulk, type BulkRow, none, some } from "../../bulk.ts";
import { raw, type Statement, sql } from "../../sql.ts";
import { INTO_OUTBOX } from "../events/events.ts";
import type { SenderRow } from "../people/users.ts";
import { INTO_AUDIT } from "../record/audit-trail.ts";
import type { NewFile } from "../storage/files.ts";
import { positionOf } from "../visibility/seats.ts";
import { sees } from "../visibility/visibility.ts";
import { EXTEND_RUN, runBefore } from "./message-withhold.ts";

// The usual messages, many at once: without mentions, and with an id that is later than all of the conversation. `sending.ts`
// has the others. Which of them a message is does not depend on who has blocked its sender: the sender could tell by the time.

/** A message as it is sent; the sender is a member of the conversation. */
export interface SendMessage {
  /** The id, unless the conversation has a later one already. */
  newId: string;
  /** Null: the sender's notes to self. */
  conversationId: string | null;
  senderId: string;
  text: string | null;
  /** JSON text. */
  data: string | null;
  /** Ids of members. */
  mentions: readonly string[];
  replyToId: string | null;
  files: readonly NewFile[];
  /** Milliseconds. */
  now: number;
}

export const MARK_READ = sql`ON CONFLICT (user_id, conversation_id) DO UPDATE SET last_read_id = excluded.last_read_id`;
/** Never down, whatever the clocks say. */
export const MOVE_UP = sql`ON CONFLICT (user_id, conversation_id) DO UPDATE
  SET position = CASE WHEN places.position > excluded.position THEN places.position ELSE excluded.position END,
    maybe_unread = excluded.maybe_unread`;

const INPUT = {
  id: "TEXT",
  /** Null: the sender's notes to self. */
  target_id: "TEXT",
  sender_id: "TEXT",
  text: "TEXT",
  data: "TEXT",
  reply_to_id: "TEXT",
  position: "TEXT",
  created_at: "BIGINT",
  now: "BIGINT",
} as const;

const FILE_INPUT = {
  file_id: "TEXT",
  filename: "TEXT",
  file_type: "TEXT",
  file_size: "BIGINT",
  sha256: "BYTEA",
  blob_key: "TEXT",
  crc32: "BIGINT",
  width: "BIGINT",
  height: "BIGINT",
  file_created_at: "BIGINT",
  bytes: "BYTEA",
  act_id: "TEXT",
  act_at: "BIGINT",
  actor_id: "TEXT",
  token_id: "TEXT",
} as const;

const TARGET = sql`COALESCE(input.target_id, u.conversation_id)`;

const FOUND = {
  conversation_id: sql<string>`${TARGET}`,
  username: sql<string>`u.username`,
  username_key: sql<string>`u.username_key`,
  display_name: sql<string | null>`u.display_name`,
  avatar_url: sql<string | null>`u.avatar_url`,
  new_body_id: sql<number | null>`CASE WHEN input.text IS NOT NULL OR input.data IS NOT NULL
    THEN next_id(message_bodies) END`,
};

interface Found extends Omit<SenderRow, "id"> {
  conversation_id: string;
  username_key: string;
  new_body_id: number | null;
}

const IS_USUAL = sql`u.id = input.sender_id
  AND ${some(sql`SELECT m.user_id FROM members m WHERE m.conversation_id = ${TARGET} AND m.user_id = u.id`)}
  AND ${none(sql`SELECT c.id FROM conversations c WHERE c.id = ${TARGET} AND c.last_id >= input.id`)}
  AND (input.reply_to_id IS NULL OR ${some(sql`SELECT r.id FROM messages r
    JOIN members s ON s.conversation_id = r.conversation_id AND s.user_id = input.sender_id
    WHERE r.conversation_id = ${TARGET} AND r.id = input.reply_to_id AND ${sees(sql`r.id`)}`)})`;

const BLOCK = sql`SELECT b.owner_id FROM blocks b WHERE b.owner_id = s.user_id AND b.username_key = found.username_key`;
/** Of a message that is later than all before it, every member sees what no block withholds. */
const TO_AUDIENCE = sql`members s WHERE s.conversation_id = found.conversation_id
  AND (s.user_id = found.sender_id OR ${none(BLOCK)})`;
const TO_BLOCKERS = sql`members s WHERE s.conversation_id = found.conversation_id
  AND s.user_id <> found.sender_id AND ${some(BLOCK)}`;

/** Withholds successive messages as one run: `seen` counts those of the conversation before them that the member sees. */
const WITHHOLD = sql`INSERT INTO withheld (user_id, conversation_id, from_id, to_id)
  SELECT s.user_id, s.conversation_id, CASE WHEN s.seen = 0 THEN COALESCE(${runBefore(sql`s.from_id`)}, s.from_id)
      ELSE s.from_id END, s.to_id
    FROM (SELECT r.user_id, r.conversation_id, r.seen, MIN(r.id) AS from_id, MAX(r.id) AS to_id
      FROM (SELECT s.user_id, found.conversation_id AS conversation_id, found.id AS id, found.ordinal - ROW_NUMBER()
          OVER (PARTITION BY s.user_id, found.conversation_id ORDER BY found.id) AS seen
        FROM numbered_found(conversation_id), ${TO_BLOCKERS}) r
      GROUP BY r.user_id, r.conversation_id, r.seen) s
    WHERE true ${EXTEND_RUN}`;

function reference(id: Statement): Statement {
  return sql`'{"id":"' || ${id} || '","conversation_id":"' || found.conversation_id || '"}'`;
}

function storeMessage(hasFile: boolean): Statement[] {
  return [
    sql`INSERT INTO message_bodies (id, text, data) SELECT found.new_body_id, found.text, found.data FROM found
      WHERE found.new_body_id IS NOT NULL`,
    sql`INSERT INTO unindexed (body_id) SELECT found.new_body_id FROM found WHERE found.text IS NOT NULL`,
    sql`INSERT INTO messages (conversation_id, id, sender_id, type, body_id, has_files, reply_to_id, created_at, version)
      SELECT found.conversation_id, found.id, found.sender_id, 'text', found.new_body_id, ${raw(hasFile ? "1" : "0")},
        found.reply_to_id, found.created_at, 1 FROM found`,
    WITHHOLD,
    sql`INSERT INTO conversations (id, last_id)
      SELECT first_of(found.conversation_id) found.conversation_id, found.id FROM found WHERE true
      in_order(found.conversation_id, found.id DESC) ON CONFLICT (id) DO UPDATE SET last_id = excluded.last_id`,
    sql`INSERT INTO places (user_id, conversation_id, position, maybe_unread)
      SELECT first_of(s.user_id, found.conversation_id) s.user_id, found.conversation_id, found.position,
        CASE WHEN s.user_id = found.sender_id THEN 0 ELSE 1 END
      FROM found, ${TO_AUDIENCE} in_order(s.user_id, found.conversation_id, found.id DESC) ${MOVE_UP}`,
    sql`INSERT INTO marks (user_id, conversation_id, last_read_id)
      SELECT first_of(found.sender_id, found.conversation_id) found.sender_id, found.conversation_id, found.id
      FROM found WHERE true in_order(found.sender_id, found.conversation_id, found.id DESC) ${MARK_READ}`,
  ];
}

const MESSAGES = new Bulk({
  input: INPUT,
  found: FOUND,
  tables: sql`users u`,
  condition: IS_USUAL,
  changes: [
    ...storeMessage(false),
    sql`${INTO_OUTBOX} SELECT s.user_id, 'message.created', found.conversation_id, found.now, ${reference(sql`found.id`)}
      FROM found, ${TO_AUDIENCE} in_order(found.id)`,
  ],
});

/** Messages with one file whose bytes are in the database. */
const FILE_MESSAGES = new Bulk({
  input: { ...INPUT, ...FILE_INPUT },
  found: FOUND,
  tables: sql`users u`,
  condition: IS_USUAL,
  changes: [
    ...storeMessage(true),
    sql`INSERT INTO attachments (id, conversation_id, message_id, uploader_id, filename, file_type, file_size, sha256,
        blob_key, crc32, created_at, version, width, height)
      SELECT found.file_id, found.conversation_id, found.id, found.sender_id, found.filename, found.file_type,
        found.file_size, found.sha256, found.blob_key, found.crc32, found.file_created_at, 1, found.width, found.height
      FROM found`,
    sql`INSERT INTO small_files (attachment_id, bytes) SELECT found.file_id, found.bytes FROM found`,
    sql`INSERT INTO grants (user_id, attachment_id, conversation_id)
      SELECT s.user_id, found.file_id, found.conversation_id FROM found, ${TO_AUDIENCE}`,
    sql`UPDATE storage SET used = used + found.file_size FROM found WHERE storage.user_id = found.sender_id`,
    sql`${INTO_AUDIT} SELECT found.act_id, found.act_at, found.actor_id, found.token_id, 'attachment.created',
        found.file_id, NULL FROM found`,
    // Events of a change are together: SQLite keeps the order of tables in a cross join.
    sql`${INTO_OUTBOX} SELECT s.user_id, e.type, found.conversation_id, found.now,
        CASE WHEN e.nth = 1 THEN ${reference(sql`found.id`)} ELSE ${reference(sql`found.file_id`)} END
      FROM found, (SELECT 1 AS nth, 'message.created' AS type UNION ALL SELECT 2, 'attachment.created') e
        CROSS JOIN ${TO_AUDIENCE}
      in_order(found.id, e.nth)`,
  ],
});

/** Returns the row of a message that may be a usual one. */
export function toBulkRow(message: SendMessage): BulkRow<Found> | undefined {
  const { newId, conversationId, senderId, text, data, replyToId, files, now } = message;
  if (message.mentions.length > 0 || files.length > 1) return undefined;
  const input = {
    id: newId,
    target_id: conversationId,
    sender_id: senderId,
    text,
    data,
    reply_to_id: replyToId,
    position: positionOf(newId),
    created_at: timeOfId(newId),
    now,
  };
  const conversation = conversationId ?? senderId;
  const [file] = files;
  if (!file) return MESSAGES.row(input, [], conversation);
  const { bytes, hasIntent, reservation, filesPerDay, isUnscanned } = file;
  if (bytes === null || hasIntent || reservation || filesPerDay > 0 || isUnscanned) return undefined;
  // The uploader's storage is counted.
  return FILE_MESSAGES.row({ ...input, ...toInput(file) }, [conversation, senderId]);
}

function toInput({ entry, ...file }: NewFile) {
  return {
    file_id: file.id,
    filename: file.filename,
    file_type: file.fileType,
    file_size: file.fileSize,
    sha256: file.sha256,
    blob_key: file.blobKey,
    crc32: file.crc32,
    width: file.pictureSize?.width ?? null,
    height: file.pictureSize?.height ?? null,
    file_created_at: file.createdAt,
    bytes: file.bytes,
    act_id: entry.id,
    act_at: entry.at,
    actor_id: entry.actorId,
    token_id: entry.tokenId,
  };
}
