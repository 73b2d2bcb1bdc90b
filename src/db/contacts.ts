import { ParleyError } from "../errors.ts";
import { toSeconds } from "../util/clock.ts";
import { searchKey } from "../util/text.ts";
import { type Act, recordAct, recordActIf } from "./audit.ts";
import { leaveConversation } from "./conversations.ts";
import { tell, tellOfNewContact } from "./events.ts";
import type { Page } from "./page.ts";
import { hidePresence, joinPeer, noteDeparture, PEER, showPresence } from "./peers.ts";
import { get, type QuickReader, type Statement, statement, type Value, type Write } from "./sql.ts";
import { requireUser } from "./users.ts";
import { checkVersion, type Expected } from "./version.ts";

/**
 * The JSON text of a contact as it was made; when the contact was last seen, null: nothing is to be told; and from when on
 * that counts. Both are milliseconds.
 */
export type ListedContact = [body: string, seenAt: number | null, since: number | null];
export type ContactRow = [...ListedContact, version: number];

/** A contact is stored as it is served but for this one member; a quote in a name has a backslash before it. */
const NEVER_ACTIVE = '"last_active_at":null';

/** The contact as JSON text, as its owner retrieves it. */
export function contactOf(row: ListedContact): string {
  const seen = lastActive(row);
  return seen === null ? row[0] : row[0].replace(NEVER_ACTIVE, `"last_active_at":${seen}`);
}

const MINUTE_MS = 60_000;

/** Unix seconds: the minute's start, but not before the contact was made; null: nothing is to be told. */
export function lastActive([, seenAt, since]: ListedContact): number | null {
  if (seenAt === null) return null;
  return toSeconds(Math.max(seenAt - (seenAt % MINUTE_MS), since!));
}

/** Which contacts of the owner; without a condition all. */
export interface ContactFilter {
  usernameKey?: string | undefined;
  phoneDigits?: string | undefined;
  /** In the form of `searchKey`. */
  wordPrefix?: string | undefined;
  blocked?: boolean | undefined;
}

const LISTED = `c.body, (SELECT a.seen_at FROM activity a WHERE a.user_id = c.peer_id AND a.seen_at > c.peer_since)
  AS seen_at, c.peer_since`;
const WHERE = "FROM contacts c WHERE c.owner_id = ? AND c.id = ?";
const FIND = `SELECT ${LISTED}, c.version ${WHERE}`;
const OWN = `SELECT ${LISTED}, c.version, c.conversation_id, c.username_key ${WHERE}`;

export function findContact(db: QuickReader, ownerId: string, id: string): Promise<ContactRow | undefined> {
  return db.getValues(FIND, ownerId, id);
}

/** One page in the order of the walk, and one row more where there is one. */
export function listContacts(
  db: QuickReader,
  ownerId: string,
  filter: ContactFilter,
  page: Page,
): Promise<ListedContact[]> {
  const { sql, params } = contactsQuery(ownerId, filter, page);
  return db.allValues(sql, ...params);
}

/** Each condition but the word has an index that ends in the id, so a page costs the same wherever it begins. */
export function contactsQuery(ownerId: string, filter: ContactFilter, page: Page): Statement {
  const conditions = ["c.owner_id = ?"];
  const params: Value[] = [ownerId];
  if (filter.usernameKey !== undefined) {
    conditions.push("c.username_key = ?");
    params.push(filter.usernameKey);
  }
  if (filter.phoneDigits !== undefined) {
    conditions.push("c.phone_digits = ?");
    params.push(filter.phoneDigits);
  }
  if (filter.wordPrefix !== undefined) {
    // The form of search keys has no punctuation, so none of LIKE's own characters either.
    conditions.push("c.search_key LIKE ?");
    params.push(`% ${filter.wordPrefix}%`);
  }
  if (filter.blocked !== undefined) conditions.push(`c.blocked_at IS ${filter.blocked ? "NOT " : ""}NULL`);
  const walk = page.newer ? "c.id > ? ORDER BY c.id ASC" : "c.id < ? ORDER BY c.id DESC";
  return {
    sql: `SELECT ${LISTED} FROM contacts c WHERE ${conditions.join(" AND ")} AND ${walk} LIMIT ? + 0`,
    params: [...params, page.cursor, page.limit + 1],
  };
}

export interface CreateContact {
  id: string;
  ownerId: string;
  usernameKey: string;
  phoneDigits: string;
  searchKey: string;
  /** Of the conversation that is made, where the contact has none with the owner. */
  conversationId: string;
  /** JSON text. */
  body: string;
  createdAt: number;
  /** How many contacts a user may have; 0: any number. */
  maxContacts: number;
  /** Of the line in the audit trail, aud_…; the owner is who acts. Flat, as this is what is written most often. */
  actId: string;
  tokenId: string | null;
}

// The peer is there from the first, so that what a contact without one needs is done in the same round trip.
const CREATE = `INSERT INTO contacts
    (owner_id, id, username_key, phone_digits, search_key, conversation_id, version, body, peer_id)
  SELECT ?, ?, ?, ?, ?, ?, 1, ?, ${PEER} WHERE EXISTS (SELECT 1 FROM users WHERE id = ?)
  ON CONFLICT (owner_id, username_key) DO NOTHING RETURNING peer_id`;
const JOIN = `INSERT INTO members (conversation_id, user_id, joined_at)
  SELECT conversation_id, owner_id, ? FROM contacts WHERE owner_id = ? AND id = ? AND peer_id IS NULL`;
const IS_THERE = "FROM contacts WHERE owner_id = ? AND id = ?";

/**
 * Returns the contact as JSON text. Throws `contact_exists` where the owner has a contact of that username. It inserts
 * first and asks for the reason where nothing was inserted: one round trip, and on PostgreSQL no two creates that merely
 * looked at the same page.
 */
export function* createContact(input: CreateContact): Write<string> {
  const { ownerId, id, usernameKey, phoneDigits, searchKey, conversationId, body, createdAt } = input;
  const act = { id: input.actId, at: createdAt, actorId: ownerId, tokenId: input.tokenId };
  if (input.maxContacts > 0 && (yield* countContacts(ownerId, input.maxContacts)) >= input.maxContacts) {
    yield* refuseExisting(ownerId, usernameKey);
    throw new ParleyError(
      "count_limit_reached",
      `You may have ${input.maxContacts} contacts. Delete one, or ask the operator to raise PARLEY_MAX_CONTACTS.`,
    );
  }
  const [created] = yield [
    statement(
      CREATE,
      ownerId,
      id,
      usernameKey,
      phoneDigits,
      searchKey,
      conversationId,
      body,
      usernameKey,
      ownerId,
      ownerId,
    ),
    statement(JOIN, createdAt, ownerId, id),
    tellOfNewContact(createdAt, ownerId, id, "AND peer_id IS NULL"),
    recordActIf(statement(IS_THERE, ownerId, id), act, "contact.created", id),
  ];
  const [row] = created as { peer_id: string | null }[];
  if (row) return row.peer_id === null ? body : yield* joinPeer(input);
  yield* requireUser(ownerId);
  yield* refuseExisting(ownerId, usernameKey);
  throw new ParleyError("unavailable");
}

function* refuseExisting(ownerId: string, usernameKey: string): Write<void> {
  const existing = yield* get<{ id: string }>(
    "SELECT id FROM contacts WHERE owner_id = ? AND username_key = ?",
    ownerId,
    usernameKey,
  );
  if (!existing) return;
  throw new ParleyError("contact_exists", `You have a contact of that username: ${existing.id}.`, {
    param: "username",
    members: { existing_id: existing.id },
  });
}

/** Counts no further than it must. */
function* countContacts(ownerId: string, limit: number): Write<number> {
  const found = yield* get<{ count: number }>(
    "SELECT COUNT(*) AS count FROM (SELECT 1 FROM contacts WHERE owner_id = ? LIMIT ? + 0) AS counted",
    ownerId,
    limit,
  );
  return found!.count;
}

interface UpdateContact {
  ownerId: string;
  id: string;
  /** Undefined: it stays as it is. */
  displayName: string | null | undefined;
  expected: Expected;
  act: Act;
}

/** The row as it is after the update. Throws `contact_not_found` and `precondition_failed`. */
export function* updateContact(input: UpdateContact): Write<ContactRow> {
  const row = yield* get<OwnContact>(OWN, input.ownerId, input.id);
  if (!row) throw new ParleyError("contact_not_found");
  const { body, seen_at, peer_since, version } = row;
  checkVersion(input.expected, version);
  if (input.displayName === undefined) return [body, seen_at, peer_since, version];
  const contact = JSON.parse(body) as { username: string; display_name: string | null };
  const was = contact.display_name;
  if (was === input.displayName) return [body, seen_at, peer_since, version];
  contact.display_name = input.displayName;
  const updated = JSON.stringify(contact);
  yield [
    statement(
      "UPDATE contacts SET search_key = ?, body = ?, version = ? WHERE owner_id = ? AND id = ?",
      searchKey(contact.username, input.displayName),
      updated,
      version + 1,
      input.ownerId,
      input.id,
    ),
    tell(
      "contact.updated",
      input.act.at,
      input.ownerId,
      row.conversation_id,
      contactOf([updated, seen_at, peer_since]),
    ),
    recordAct(input.act, "contact.renamed", input.id, { from: was, to: input.displayName }),
  ];
  return [updated, seen_at, peer_since, version + 1];
}

interface DeleteContact {
  ownerId: string;
  id: string;
  deletedAt: number;
  expected: Expected;
  act: Act;
}

/** Deletes the contact, and for its owner the conversation with it. Throws as the update does. */
export function* deleteContact(input: DeleteContact): Write<void> {
  const { ownerId, id } = input;
  const contact = yield* get<OwnContact>(OWN, ownerId, id);
  if (!contact) throw new ParleyError("contact_not_found");
  checkVersion(input.expected, contact.version);
  yield [
    tell(
      "contact.deleted",
      input.deletedAt,
      ownerId,
      contact.conversation_id,
      contactOf([contact.body, contact.seen_at, contact.peer_since]),
    ),
    statement("DELETE FROM contacts WHERE owner_id = ? AND id = ?", ownerId, id),
    hidePresence(ownerId, contact.username_key),
    recordAct(input.act, "contact.deleted", id, { username: JSON.parse(contact.body).username }),
  ];
  yield* leaveConversation(contact.conversation_id, ownerId, input.deletedAt, [
    noteDeparture(contact.conversation_id, ownerId),
  ]);
}

interface BlockContact {
  ownerId: string;
  id: string;
  /** Milliseconds; null: unblocked. */
  blockedAt: number | null;
}

/** From now on what the contact sends does not reach the owner, or does again. Throws `contact_not_found`. */
export function* blockContact({ ownerId, id, blockedAt }: BlockContact): Write<void> {
  const contact = yield* get<{ username_key: string }>(
    "UPDATE contacts SET blocked_at = ? WHERE owner_id = ? AND id = ? RETURNING username_key",
    blockedAt,
    ownerId,
    id,
  );
  if (!contact) throw new ParleyError("contact_not_found");
  yield [
    blockedAt === null
      ? showPresence(ownerId, contact.username_key)
      : hidePresence(ownerId, contact.username_key),
  ];
}

interface OwnContact {
  body: string;
  seen_at: number | null;
  peer_since: number | null;
  version: number;
  conversation_id: string;
  username_key: string;
}
