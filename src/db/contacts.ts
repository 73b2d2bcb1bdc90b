import { ParleyError } from "../errors.ts";
import { searchKey } from "../util/text.ts";
import { createConversation, leaveConversation } from "./conversations.ts";
import type { Page } from "./page.ts";
import { get, type Reader, run, type Statement, type Value, type Write } from "./sql.ts";
import { requireUser } from "./users.ts";
import { checkVersion, type Expected } from "./version.ts";

export interface ContactRow {
  id: string;
  username: string;
  phone_number: string;
  avatar_url: string | null;
  display_name: string | null;
  conversation_id: string;
  created_at: number;
  version: number;
}

/** Which contacts of the owner; without a condition all. */
export interface ContactFilter {
  usernameKey?: string | undefined;
  phoneDigits?: string | undefined;
  /** In the form of `searchKey`. */
  wordPrefix?: string | undefined;
  blocked?: boolean | undefined;
}

const COLUMNS = "id, username, phone_number, avatar_url, display_name, conversation_id, created_at, version";
const FIND = `SELECT ${COLUMNS} FROM contacts WHERE owner_id = ? AND id = ?`;

export function findContact(db: Reader, ownerId: string, id: string): Promise<ContactRow | undefined> {
  return db.get<ContactRow>(FIND, ownerId, id);
}

/** One page in the order of the walk, and one row more where there is one. */
export function listContacts(
  db: Reader,
  ownerId: string,
  filter: ContactFilter,
  page: Page,
): Promise<ContactRow[]> {
  const { sql, params } = contactsQuery(ownerId, filter, page);
  return db.all<ContactRow>(sql, ...params);
}

/** Each condition but the word has an index that ends in the id, so a page costs the same wherever it begins. */
export function contactsQuery(ownerId: string, filter: ContactFilter, page: Page): Statement {
  const conditions = ["owner_id = ?"];
  const params: Value[] = [ownerId];
  if (filter.usernameKey !== undefined) {
    conditions.push("username_key = ?");
    params.push(filter.usernameKey);
  }
  if (filter.phoneDigits !== undefined) {
    conditions.push("phone_digits = ?");
    params.push(filter.phoneDigits);
  }
  if (filter.wordPrefix !== undefined) {
    // The form of search keys has no punctuation, so none of LIKE's own characters either.
    conditions.push("search_key LIKE ?");
    params.push(`% ${filter.wordPrefix}%`);
  }
  if (filter.blocked !== undefined) conditions.push(`blocked_at IS ${filter.blocked ? "NOT " : ""}NULL`);
  const walk = page.newer ? "id > ? ORDER BY id ASC" : "id < ? ORDER BY id DESC";
  return {
    sql: `SELECT ${COLUMNS} FROM contacts WHERE ${conditions.join(" AND ")} AND ${walk} LIMIT ?`,
    params: [...params, page.cursor, page.limit + 1],
  };
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
  searchKey: string;
  conversationId: string;
  createdAt: number;
}

/** Throws `contact_exists` where the owner has a contact of that username. */
export function* createContact(input: CreateContact): Write<void> {
  yield* requireUser(input.ownerId);
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
       display_name, search_key, conversation_id, created_at, version)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)`,
    input.ownerId,
    input.id,
    input.username,
    input.usernameKey,
    input.phoneNumber,
    input.phoneDigits,
    input.avatarUrl,
    input.displayName,
    input.searchKey,
    input.conversationId,
    input.createdAt,
  );
}

interface UpdateContact {
  ownerId: string;
  id: string;
  /** Undefined: it stays as it is. */
  displayName: string | null | undefined;
  expected: Expected;
}

/** The row as it is after the update. Throws `contact_not_found` and `precondition_failed`. */
export function* updateContact(input: UpdateContact): Write<ContactRow> {
  const contact = yield* ownContact(input);
  checkVersion(input.expected, contact.version);
  if (input.displayName === undefined) return contact;
  const row = yield* get<ContactRow>(
    `UPDATE contacts SET display_name = ?, search_key = ?, version = version + 1 WHERE owner_id = ? AND id = ?
     RETURNING ${COLUMNS}`,
    input.displayName,
    searchKey(contact.username, input.displayName),
    input.ownerId,
    input.id,
  );
  return row!;
}

interface DeleteContact {
  ownerId: string;
  id: string;
  deletedAt: number;
  expected: Expected;
}

/** Deletes the contact, and for its owner the conversation with it. Throws as the update does. */
export function* deleteContact(input: DeleteContact): Write<void> {
  const { version, conversation_id } = yield* ownContact(input);
  checkVersion(input.expected, version);
  yield* run("DELETE FROM contacts WHERE owner_id = ? AND id = ?", input.ownerId, input.id);
  yield* leaveConversation(conversation_id, input.ownerId, input.deletedAt);
}

function* ownContact(input: { ownerId: string; id: string }): Write<ContactRow> {
  const row = yield* get<ContactRow>(FIND, input.ownerId, input.id);
  if (!row) throw new ParleyError("contact_not_found");
  return row;
}
