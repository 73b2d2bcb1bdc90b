import { ParleyError } from "../errors.ts";
import { searchKey } from "../util/text.ts";
import { leaveConversation } from "./conversations.ts";
import type { Page } from "./page.ts";
import { get, type QuickReader, run, type Statement, statement, type Value, type Write } from "./sql.ts";
import { requireUser } from "./users.ts";
import { checkVersion, type Expected } from "./version.ts";

/** The JSON text of a contact as it is served, and the version of its row. */
export type ContactRow = [body: string, version: number];

/** Which contacts of the owner; without a condition all. */
export interface ContactFilter {
  usernameKey?: string | undefined;
  phoneDigits?: string | undefined;
  /** In the form of `searchKey`. */
  wordPrefix?: string | undefined;
  blocked?: boolean | undefined;
}

const FIND = "SELECT body, version FROM contacts WHERE owner_id = ? AND id = ?";

export function findContact(db: QuickReader, ownerId: string, id: string): Promise<ContactRow | undefined> {
  return db.getValues(FIND, ownerId, id);
}

/** The bodies of one page in the order of the walk, and one more where there is one. */
export async function listContacts(
  db: QuickReader,
  ownerId: string,
  filter: ContactFilter,
  page: Page,
): Promise<string[]> {
  const { sql, params } = contactsQuery(ownerId, filter, page);
  return (await db.allValues<[string]>(sql, ...params)).map(([body]) => body);
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
    sql: `SELECT body FROM contacts WHERE ${conditions.join(" AND ")} AND ${walk} LIMIT ? + 0`,
    params: [...params, page.cursor, page.limit + 1],
  };
}

export interface CreateContact {
  id: string;
  ownerId: string;
  usernameKey: string;
  phoneDigits: string;
  searchKey: string;
  conversationId: string;
  /** JSON text. */
  body: string;
  createdAt: number;
}

const CREATE = `INSERT INTO contacts
    (owner_id, id, username_key, phone_digits, search_key, conversation_id, version, body)
  SELECT ?, ?, ?, ?, ?, ?, 1, ? WHERE EXISTS (SELECT 1 FROM users WHERE id = ?)
  ON CONFLICT (owner_id, username_key) DO NOTHING RETURNING id`;
const JOIN = `INSERT INTO members (conversation_id, user_id, joined_at)
  SELECT conversation_id, owner_id, ? FROM contacts WHERE owner_id = ? AND id = ?`;

/**
 * Throws `contact_exists` where the owner has a contact of that username. It inserts first and asks for the reason
 * where nothing was inserted: one round trip, and on PostgreSQL no two creates that merely looked at the same page.
 */
export function* createContact(input: CreateContact): Write<void> {
  const { ownerId, id, usernameKey, phoneDigits, searchKey, conversationId, body, createdAt } = input;
  const [created] = yield [
    statement(CREATE, ownerId, id, usernameKey, phoneDigits, searchKey, conversationId, body, ownerId),
    statement(JOIN, createdAt, ownerId, id),
  ];
  if (created!.length > 0) return;
  yield* requireUser(ownerId);
  const existing = yield* get<{ id: string }>(
    "SELECT id FROM contacts WHERE owner_id = ? AND username_key = ?",
    ownerId,
    usernameKey,
  );
  throw new ParleyError("contact_exists", `You have a contact of that username: ${existing!.id}.`, {
    param: "username",
    members: { existing_id: existing!.id },
  });
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
  const { body, version } = yield* ownContact(input);
  checkVersion(input.expected, version);
  if (input.displayName === undefined) return [body, version];
  const contact = JSON.parse(body) as { username: string; display_name: string | null };
  contact.display_name = input.displayName;
  const updated: ContactRow = [JSON.stringify(contact), version + 1];
  yield* run(
    "UPDATE contacts SET search_key = ?, body = ?, version = ? WHERE owner_id = ? AND id = ?",
    searchKey(contact.username, input.displayName),
    ...updated,
    input.ownerId,
    input.id,
  );
  return updated;
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

interface OwnContact {
  conversation_id: string;
  body: string;
  version: number;
}

function* ownContact(input: { ownerId: string; id: string }): Write<OwnContact> {
  const row = yield* get<OwnContact>(
    "SELECT conversation_id, body, version FROM contacts WHERE owner_id = ? AND id = ?",
    input.ownerId,
    input.id,
  );
  if (!row) throw new ParleyError("contact_not_found");
  return row;
}
