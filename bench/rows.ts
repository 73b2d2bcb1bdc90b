// All that the bench does to Parley's database behind its back.
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** The id of a contact that was filled in; ids sort by their numbers. */
export function filledId(number: number): string {
  return `con_0${String(number).padStart(25, "0")}`;
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
  return new DatabaseSync(join(dataFolder, "parley.db"), { timeout: 5000 });
}

/** Adds contacts to one user, as creation would have left them but for their conversations, numbered from `first`. */
export function fillContacts(dataFolder: string, ownerId: string, first: number, count: number): void {
  const db = open(dataFolder);
  db.exec("PRAGMA cache_size = -1000000; PRAGMA synchronous = OFF; BEGIN");
  const insert = db.prepare(
    `INSERT INTO contacts (owner_id, id, username_key, phone_digits, search_key, conversation_id, version, body)
       VALUES (?, ?, ?, ?, ?, ?, 1, ?)`,
  );
  for (let i = first; i < first + count; i++) {
    const name = filledName(i);
    const digits = filledDigits(i);
    const conversation = `cnv_0${String(i).padStart(25, "0")}`;
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
