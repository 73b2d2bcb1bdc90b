import { ParleyError } from "../../../errors.ts";
import { foldedKey } from "../../../util/text.ts";
import { type Page, pageClause } from "../../page.ts";
import { EMPTY, list, padded, type Reader, type Statement, sql } from "../../sql.ts";
import { all, batch, get, type Write } from "../../write.ts";
import { type NewEntry, recordEntry } from "../record/audit-trail.ts";
import { createConversation, positionOf } from "../visibility/seats.ts";
import { type CreateToken, createToken } from "./tokens.ts";

export type UserKind = "person" | "bot";

export interface UserRow extends SenderRow {
  phone_number: string | null;
  /** JSON text of an object for the app; null if there is none. */
  data: string | null;
  conversation_id: string;
  created_at: number;
  version: number;
  /** Messages per minute; 0 means no limit, null that of the server. */
  message_limit: number | null;
  /** When an administrator paused the user (milliseconds); null if the user is not paused. */
  paused_at: number | null;
}

/** A user as other users see them. */
export interface SenderRow {
  id: string;
  username: string;
  display_name: string | null;
  /** Not shown while `avatar_id` is set. */
  avatar_url: string | null;
  /** The id of the picture stored here; null if there is none. */
  avatar_id: string | null;
  kind: UserKind;
}

export const SENDER = sql`users.id, users.username, users.display_name, users.avatar_url, users.avatar_id, users.kind`;

/** A user as administrators see them. */
export interface DetailedUserRow extends UserRow {
  /** 1 if the user has everybody back who adds the user as a contact, otherwise 0. */
  accepts_everyone: number;
  /** Bytes of the user's files. */
  used: number;
  /** When the user last made a request (milliseconds); null if never. */
  seen_at: number | null;
}

const COLUMNS = sql`${SENDER}, phone_number, data, conversation_id, created_at, version, message_limit, paused_at`;
const DETAILS = sql`${COLUMNS}, accepts_everyone,
  COALESCE((SELECT s.used FROM storage s WHERE s.user_id = users.id), 0) AS used,
  (SELECT a.seen_at FROM activity a WHERE a.user_id = users.id) AS seen_at`;

export function findUserByName(db: Reader, usernameKey: string): Promise<DetailedUserRow | undefined> {
  return db.get<DetailedUserRow>(sql`SELECT ${DETAILS} FROM users WHERE username_key = ${usernameKey}`);
}

export function findDetailedUser(db: Reader, id: string): Promise<DetailedUserRow | undefined> {
  return db.get<DetailedUserRow>(sql`SELECT ${DETAILS} FROM users WHERE id = ${id}`);
}

/** Returns those of the users who exist. */
export function findDetailedUsers(db: Reader, ids: readonly string[]): Promise<DetailedUserRow[]> {
  return db.all<DetailedUserRow>(sql`SELECT ${DETAILS} FROM users WHERE id IN (${list(padded(ids))})`);
}

export function findUserById(db: Reader, id: string): Promise<UserRow | undefined> {
  return db.get<UserRow>(sql`SELECT ${COLUMNS} FROM users WHERE id = ${id}`);
}

export function allUsers(db: Reader): Promise<DetailedUserRow[]> {
  return db.all<DetailedUserRow>(sql`SELECT ${DETAILS} FROM users ORDER BY id DESC`);
}

/** Returns those of the users who are not erased. */
export function findSenders(db: Reader, ids: readonly string[]): Promise<SenderRow[]> {
  return db.all(sql<SenderRow>`SELECT ${SENDER} FROM users WHERE id IN (${list(padded(ids))})`);
}

/** All users, or the one with this username. */
interface UserFilter {
  usernameKey?: string | undefined;
}

/** Returns the rows of a page, and one more if there is one. */
export function listUserRows(db: Reader, filter: UserFilter, page: Page): Promise<DetailedUserRow[]> {
  return db.all(usersQuery(filter, page));
}

export function usersQuery(filter: UserFilter, page: Page): Statement<DetailedUserRow> {
  return sql`SELECT ${DETAILS} FROM users WHERE ${isListed(filter)} ${pageClause(page)}`;
}

function isListed({ usernameKey }: UserFilter): Statement {
  return usernameKey === undefined ? EMPTY : sql`username_key = ${usernameKey} AND`;
}

export interface UserNames {
  id: string;
  username: string;
  display_name: string | null;
}

/** Returns the names of users in the order of the list, at most `limit`. */
export function listUserNames(db: Reader, filter: UserFilter, page: Page): Promise<UserNames[]> {
  return db.all(userNamesQuery(filter, page));
}

export function userNamesQuery(filter: UserFilter, { limit, ...walk }: Page): Statement<UserNames> {
  const range = pageClause({ ...walk, limit: limit - 1 });
  return sql`SELECT id, username, display_name FROM users WHERE ${isListed(filter)} ${range}`;
}

export interface CreateUser {
  id: string;
  username: string;
  usernameKey: string;
  phoneNumber: string | null;
  displayName: string | null;
  avatarUrl: string | null;
  /** JSON text. */
  data: string | null;
  kind: UserKind;
  acceptsEveryone: boolean;
  messageLimit: number | null;
  /** Profile fields that claims of a JWT leave alone, separated by spaces. */
  setFields: string;
  /** The user's own conversation: notes to self. */
  conversationId: string;
  createdAt: number;
  entry: NewEntry;
}

/** The parts of a new user or token that its input does not have. */
export interface Made {
  id: string;
  createdAt: number;
}

/** Throws `username_taken`. Inserts first, like `createContact`. */
export function* createUser(input: CreateUser): Write<Made> {
  const folded = foldedKey(input.username);
  const created = yield* get(
    sql`INSERT INTO users
        (id, username, username_key, folded_key, phone_number, display_name, avatar_url, data, kind, accepts_everyone,
          message_limit, set_fields, conversation_id, created_at)
      VALUES (${input.id}, ${input.username}, ${input.usernameKey}, ${folded}, ${input.phoneNumber},
        ${input.displayName}, ${input.avatarUrl}, ${input.data}, ${input.kind}, ${input.acceptsEveryone ? 1 : 0},
        ${input.messageLimit}, ${input.setFields}, ${input.conversationId}, ${input.createdAt})
      ON CONFLICT DO NOTHING RETURNING id`,
  );
  if (!created) {
    const existing = yield* get<{ id: string }>(
      sql`SELECT id FROM users WHERE username_key = ${input.usernameKey}
        UNION ALL SELECT id FROM users WHERE folded_key = ${folded} LIMIT 1`,
    );
    throw new ParleyError("username_taken", undefined, {
      param: "username",
      members: { existing_id: existing!.id },
    });
  }
  yield* createConversation(input.conversationId, input.id, input.createdAt);
  yield* batch([
    sql`INSERT INTO storage (user_id, used) VALUES (${input.id}, 0)`,
    sql`INSERT INTO places (user_id, conversation_id, position)
      VALUES (${input.id}, ${input.conversationId}, ${positionOf(input.conversationId)})`,
    recordEntry(input.entry, "user.created", input.id, { username: input.username }),
  ]);
  return { id: input.id, createdAt: input.createdAt };
}

/** Part of other writes. Throws `invalid_token` if the user was deleted after the token was checked. */
export function* getUser(id: string): Write<UserRow> {
  const user = yield* get<UserRow>(sql`SELECT ${COLUMNS} FROM users WHERE id = ${id}`);
  if (!user) throw new ParleyError("invalid_token");
  return user;
}

/** A name of a request: its form for comparison, and its place in the field `members`; null for the field `username`. */
interface RequestedName {
  usernameKey: string;
  index: number | null;
}

/** Part of other writes: returns the users with these names, in their order. Throws `user_not_found` for the first name that is nobody's. */
export function* getNamed(names: readonly RequestedName[]): Write<NamedRow[]> {
  return inOrder(names, yield* all(namedQuery(names)));
}

/** Finds the same. */
export async function findNamed(db: Reader, names: readonly RequestedName[]): Promise<NamedRow[]> {
  return inOrder(names, await db.all(namedQuery(names)));
}

interface NamedRow {
  id: string;
  username_key: string;
}

function namedQuery(names: readonly RequestedName[]): Statement<NamedRow> {
  const keys = names.map(({ usernameKey }) => usernameKey);
  return sql`SELECT id, username_key FROM users WHERE username_key IN (${list(padded(keys))})`;
}

function inOrder(names: readonly RequestedName[], users: readonly NamedRow[]): NamedRow[] {
  const byKey = new Map(users.map((user) => [user.username_key, user]));
  return names.map(({ usernameKey, index }) => {
    const user = byKey.get(usernameKey);
    if (user) return user;
    if (index === null) throw new ParleyError("user_not_found", undefined, { param: "username" });
    const detail = `The name with the index ${index} in members is nobody's username.`;
    throw new ParleyError("user_not_found", detail, { param: "members", members: { index } });
  });
}

/** Creates the user and its token if there are no users; otherwise returns false. */
function* createFirstUser(input: { user: CreateUser; token: CreateToken }): Write<boolean> {
  if (yield* get(sql`SELECT 1 AS one FROM users LIMIT 1`)) return false;
  yield* createUser(input.user);
  yield* createToken(input.token);
  return true;
}

export const userWrites = { createUser, createFirstUser };
