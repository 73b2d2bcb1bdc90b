// The rows that the bench writes to Parley's database directly.
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { idOfBits } from "../src/util/ids.ts";

/** The id of a contact that was filled in; ids sort by their numbers. */
export function filledId(number: number): string {
  return `con_0${String(number).padStart(25, "0")}`;
}

function filledConversation(number: number): string {
  return `cnv_0${String(number).padStart(25, "0")}`;
}

/** Usernames spread over all their index, in no order: multiplied by an odd number no two become the same. */
export function filledName(number: number): string {
  return `user ${(Math.imul(number, 0x9e3779b1) >>> 0).toString(16).padStart(8, "0")}`;
}

/** Phone numbers, spread in the same way. */
export function filledDigits(number: number): string {
  return String(Math.imul(number, 0x9e3779b1) >>> 0).padStart(10, "0");
}

function open(dataFolder: string): DatabaseSync {
  return new DatabaseSync(join(dataFolder, "parley.db"), { timeout: 60_000 });
}

/** Adds contacts to one user, as creation would have left them but for their conversations, numbered from `first`. */
export function fillContacts(dataFolder: string, ownerId: string, first: number, count: number): void {
  const db = open(dataFolder);
  db.exec("PRAGMA cache_size = -1000000; PRAGMA synchronous = OFF; BEGIN IMMEDIATE");
  const insert = db.prepare(
    `INSERT INTO contacts (owner_id, id, username_key, phone_digits, search_key, conversation_id, version, body)
       VALUES (?, ?, ?, ?, ?, ?, 1, ?)`,
  );
  for (let i = first; i < first + count; i++) {
    const name = filledName(i);
    const digits = filledDigits(i);
    const conversation = filledConversation(i);
    const body = {
      id: filledId(i),
      username: name,
      phone_number: `+${digits}`,
      avatar_url: "https://example.com/avatars/1.png",
      display_name: "Some Name",
      conversation_id: conversation,
      last_active_at: null,
      created_at: 1_700_000_000 + i,
    };
    insert.run(ownerId, body.id, name, digits, ` ${name} some name`, conversation, JSON.stringify(body));
  }
  db.exec("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)");
  db.close();
}

/** When the first message that was filled in was sent: one each millisecond. */
const FIRST_MESSAGE_AT = 1_700_000_000_000;

/** The id of a file that was filled in; ids sort by their numbers. */
export function filledFileId(number: number): string {
  return `att_0${String(number).padStart(25, "0")}`;
}

/** Adds files to the notes of one user, as uploads would have left them but for their bytes, numbered from `first`. */
export function fillFiles(dataFolder: string, username: string, first: number, count: number): void {
  const db = open(dataFolder);
  db.exec("PRAGMA cache_size = -1000000; PRAGMA synchronous = OFF; BEGIN IMMEDIATE");
  const { id, conversation_id } = db
    .prepare("SELECT id, conversation_id FROM users WHERE username_key = ?")
    .get(username) as { id: string; conversation_id: string };
  const file = db.prepare(
    `INSERT INTO attachments (id, message_id, conversation_id, uploader_id, filename, file_type, file_size, sha256, blob_key,
         created_at, version)
       VALUES (?, ?, ?, ?, ?, 'application/pdf', 1000, ?, ?, ?, 1)`,
  );
  const grant = db.prepare("INSERT INTO grants (user_id, attachment_id, conversation_id) VALUES (?, ?, ?)");
  for (let i = first; i < first + count; i++) {
    const fileId = filledFileId(i);
    const name = `Report_${filledDigits(i)}-final.pdf`;
    const sha256 = new Uint8Array(32);
    file.run(fileId, filledMessageId(i), conversation_id, id, name, sha256, fileId, FIRST_MESSAGE_AT + i);
    grant.run(id, fileId, conversation_id);
  }
  db.exec("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)");
  db.close();
}

/** The id of a message that was filled in; ids sort by their numbers. */
export function filledMessageId(number: number): string {
  return idOfBits("msg", FIRST_MESSAGE_AT + number, 0n);
}

/** A conversation to fill with messages, as sending would have left them. */
export interface Talk {
  conversationId: string;
  senderId: string;
  /** Who receives them. */
  readerId: string;
  /** The number of the first message. */
  first: number;
  count: number;
  /** The number of each further message is greater by this; otherwise by 1. */
  step?: number;
  /** The reader has blocked the sender before these, the last ones. */
  withheld?: number;
}

const filledText = (number: number) => `This is message ${number}, as long as most that people write.`;

const ROWS_AT_ONCE = 100_000;

/** Adds messages to conversations, after all that are there. */
export function fillMessages(dataFolder: string, talks: readonly Talk[], textOf = filledText): void {
  const db = open(dataFolder);
  db.exec("PRAGMA cache_size = -1000000; PRAGMA synchronous = OFF; BEGIN IMMEDIATE");
  // The server rebuilds the search index, as nothing here is in it.
  db.exec(
    "INSERT INTO message_index (message_index) VALUES ('delete-all'); DELETE FROM reindexing; INSERT INTO reindexing VALUES (0)",
  );
  const body = db.prepare("INSERT INTO message_bodies (text) VALUES (?)");
  const message = db.prepare(
    `INSERT INTO messages (conversation_id, id, sender_id, type, body_id, has_files, created_at, version)
       VALUES (?, ?, ?, 'text', ?, 0, ?, 1)`,
  );
  const conversation = db.prepare(
    `INSERT INTO conversations (id, last_id) VALUES (?, ?)
       ON CONFLICT (id) DO UPDATE SET last_id = excluded.last_id`,
  );
  const place = db.prepare(
    `INSERT INTO places (user_id, conversation_id, position, maybe_unread) VALUES (?, ?, ?, ?)
       ON CONFLICT (user_id, conversation_id) DO UPDATE
       SET position = excluded.position, maybe_unread = excluded.maybe_unread`,
  );
  const mark = db.prepare("INSERT INTO marks (user_id, conversation_id, last_read_id) VALUES (?, ?, ?)");
  const withhold = db.prepare(
    "INSERT INTO withheld (user_id, conversation_id, from_id, to_id) VALUES (?, ?, ?, ?)",
  );
  for (const { conversationId, senderId, readerId, first, count, step = 1, withheld = 0 } of talks) {
    for (let i = 0, number = first; i < count; i++, number += step) {
      const { lastInsertRowid } = body.run(textOf(number));
      message.run(
        conversationId,
        filledMessageId(number),
        senderId,
        lastInsertRowid,
        FIRST_MESSAGE_AT + number,
      );
      // The server writes, too.
      if (number % ROWS_AT_ONCE === 0) db.exec("COMMIT; BEGIN");
    }
    const last = filledMessageId(first + (count - 1) * step);
    const lastSeen = filledMessageId(first + (count - 1) * step - withheld);
    conversation.run(conversationId, last);
    place.run(senderId, conversationId, last.slice(4), 0);
    place.run(readerId, conversationId, lastSeen.slice(4), 1);
    mark.run(senderId, conversationId, last);
    mark.run(readerId, conversationId, filledMessageId(first + count - 10 - withheld));
    if (withheld > 0) withhold.run(readerId, conversationId, filledMessageId(first + count - withheld), last);
  }
  db.exec("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)");
  db.close();
}

/** Makes a user and somebody else members of the conversations of the user's contacts from `first`; returns their ids. */
export function fillConversations(
  dataFolder: string,
  userId: string,
  otherId: string,
  first: number,
  count: number,
): string[] {
  const db = open(dataFolder);
  const member = db.prepare(
    "INSERT INTO members (conversation_id, user_id, joined_at, contact_id, contact_joined) VALUES (?, ?, 1, ?, ?)",
  );
  const conversations: string[] = [];
  db.exec("BEGIN");
  for (let i = first; i < first + count; i++) {
    const id = filledConversation(i);
    member.run(id, userId, filledId(i), 1);
    member.run(id, otherId, null, 0);
    conversations.push(id);
  }
  db.exec("COMMIT");
  db.close();
  return conversations;
}

/** Blocks every so many of the contacts that were filled in. */
export function blockFilled(dataFolder: string, step: number): void {
  const db = open(dataFolder);
  db.prepare("UPDATE contacts SET blocked_at = 1 WHERE CAST(substr(id, 6) AS INTEGER) % ? = 0").run(step);
  db.close();
}

/** The ids of attachments of more bytes than this. */
export function largeAttachments(dataFolder: string, bytes: number): string[] {
  const db = open(dataFolder);
  const rows = db.prepare("SELECT id FROM attachments WHERE file_size > ? ORDER BY id").all(bytes);
  db.close();
  return rows.map((row) => row.id as string);
}

/** How many deleted files are still to be erased. */
export function filesToErase(dataFolder: string): number {
  const db = open(dataFolder);
  const { count } = db.prepare("SELECT count(*) AS count FROM tombstones").get() as { count: number };
  db.close();
  return count;
}
