import { ParleyError } from "../errors.ts";
import { createConversation, leaveConversation } from "./conversations.ts";
import type { Page } from "./page.ts";
import { get, type Reader, run, type Write } from "./sql.ts";

export interface ContactRow {
  id: string;
  username: string;
  phone_number: string;
  avatar_url: string | null;
  display_name: string | null;
  conversation_id: string;
  created_at: number;
}

const COLUMNS = "id, username, phone_number, avatar_url, display_name, conversation_id, created_at";
const FIND = `SELECT ${COLUMNS} FROM contacts WHERE owner_id = ? AND id = ?`;
const OLDER = `SELECT ${COLUMNS} FROM contacts WHERE owner_id = ? AND id < ? ORDER BY id DESC LIMIT ?`;
const NEWER = `SELECT ${COLUMNS} FROM contacts WHERE owner_id = ? AND id > ? ORDER BY id ASC LIMIT ?`;

export function findContact(db: Reader, ownerId: string, id: string): Promise<ContactRow | undefined> {
  return db.get<ContactRow>(FIND, ownerId, id);
}

/** One page in the order of the walk, and one row more where there is one. */
export function listContacts(db: Reader, ownerId: string, page: Page): Promise<ContactRow[]> {
  return db.all<ContactRow>(page.newer ? NEWER : OLDER, ownerId, page.cursor, page.limit + 1);
}

export interface CreateContact {
  id: string;
  ownerId: string;
  username: string;
  usernameKey: string;
  phoneNumber: string;
  phoneDigits: string;
  avatarUrl: string | null;
  displayName: string | null;
  conversationId: string;
  createdAt: number;
}

/** Throws `contact_exists` where the owner has a contact of that username. */
export function* createContact(input: CreateContact): Write<void> {
  const existing = yield* get<{ id: string }>(
    "SELECT id FROM contacts WHERE owner_id = ? AND username_key = ?",
    input.ownerId,
    input.usernameKey,
  );
  if (existing) {
    throw new ParleyError("contact_exists", `You have a contact of that username: ${existing.id}.`, {
      param: "username",
      members: { existing_id: existing.id },
    });
  }
  yield* createConversation(input.conversationId, input.ownerId, input.createdAt);
  yield* run(
    `INSERT INTO contacts (owner_id, id, username, username_key, phone_number, phone_digits, avatar_url,
       display_name, conversation_id, created_at, version) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)`,
    input.ownerId,
    input.id,
    input.username,
    input.usernameKey,
    input.phoneNumber,
    input.phoneDigits,
    input.avatarUrl,
    input.displayName,
    input.conversationId,
    input.createdAt,
  );
}

interface UpdateContact {
  ownerId: string;
  id: string;
  displayName: string | null;
}

/** The row as it is after the update; undefined where the owner has no such contact. */
export function* updateContact(input: UpdateContact): Write<ContactRow | undefined> {
  return yield* get<ContactRow>(
    `UPDATE contacts SET display_name = ?, version = version + 1 WHERE owner_id = ? AND id = ?
     RETURNING ${COLUMNS}`,
    input.displayName,
    input.ownerId,
    input.id,
  );
}

interface DeleteContact {
  ownerId: string;
  id: string;
  deletedAt: number;
}

/** Deletes the contact, and for its owner the conversation with it. False where there is no such contact. */
export function* deleteContact(input: DeleteContact): Write<boolean> {
  const contact = yield* get<{ conversation_id: string }>(
    "DELETE FROM contacts WHERE owner_id = ? AND id = ? RETURNING conversation_id",
    input.ownerId,
    input.id,
  );
  if (!contact) return false;
  yield* leaveConversation(contact.conversation_id, input.ownerId, input.deletedAt);
  return true;
}
