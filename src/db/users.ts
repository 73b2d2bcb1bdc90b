import { ParleyError } from "../errors.ts";
import { type Act, recordAct } from "./audit.ts";
import { createConversation, leaveConversation } from "./conversations.ts";
import { forgetWebhooksOf } from "./deliveries.ts";
import { forgetEventsOf } from "./events.ts";
import { type Page, walkOf } from "./page.ts";
import { forgetPeer } from "./peers.ts";
import { all, get, type Reader, type Statement, statement, type Value, type Write } from "./sql.ts";
import { type CreateToken, createToken, forgetTokensOf } from "./tokens.ts";

export interface UserRow {
  id: string;
  username: string;
  phone_number: string | null;
  display_name: string | null;
  avatar_url: string | null;
  conversation_id: string;
  created_at: number;
}

const COLUMNS = "id, username, phone_number, display_name, avatar_url, conversation_id, created_at";

export function findUserByName(db: Reader, usernameKey: string): Promise<UserRow | undefined> {
  return db.get<UserRow>(`SELECT ${COLUMNS} FROM users WHERE username_key = ?`, usernameKey);
}

export function findUserById(db: Reader, id: string): Promise<UserRow | undefined> {
  return db.get<UserRow>(`SELECT ${COLUMNS} FROM users WHERE id = ?`, id);
}

export function listUsers(db: Reader): Promise<UserRow[]> {
  return db.all<UserRow>(`SELECT ${COLUMNS} FROM users ORDER BY id DESC`);
}

/** All users, or the one of this username. */
interface UserFilter {
  usernameKey?: string | undefined;
}

/** One page in the order of the walk, and one more where there is one. */
export function listUserPage(db: Reader, filter: UserFilter, page: Page): Promise<UserRow[]> {
  const { sql, params } = usersQuery(filter, page);
  return db.all(sql, ...params);
}

export function usersQuery({ usernameKey }: UserFilter, page: Page): Statement {
  const of: Value[] = usernameKey === undefined ? [] : [usernameKey];
  const condition = usernameKey === undefined ? "" : "username_key = ? AND ";
  return statement(
    `SELECT ${COLUMNS} FROM users WHERE ${condition}${walkOf(page)}`,
    ...of,
    page.cursor,
    page.limit + 1,
  );
}

export interface CreateUser {
  id: string;
  username: string;
  usernameKey: string;
  phoneNumber: string | null;
  displayName: string | null;
  avatarUrl: string | null;
  /** The user's own conversation: notes to self. */
  conversationId: string;
  createdAt: number;
  act: Act;
}

const CREATE = `INSERT INTO users
    (id, username, username_key, phone_number, display_name, avatar_url, conversation_id, created_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (username_key) DO NOTHING RETURNING id`;

/** What the making of a user or a token has come to, beside what was asked for. */
export interface Made {
  id: string;
  createdAt: number;
}

/** Throws `username_taken`. It inserts first, as `createContact` does. */
export function* createUser(input: CreateUser): Write<Made> {
  const created = yield* get(
    CREATE,
    input.id,
    input.username,
    input.usernameKey,
    input.phoneNumber,
    input.displayName,
    input.avatarUrl,
    input.conversationId,
    input.createdAt,
  );
  if (!created) {
    const existing = yield* get<{ id: string }>(
      "SELECT id FROM users WHERE username_key = ?",
      input.usernameKey,
    );
    throw new ParleyError("username_taken", undefined, {
      param: "username",
      members: { existing_id: existing!.id },
    });
  }
  yield* createConversation(input.conversationId, input.id, input.createdAt);
  yield [
    statement("INSERT INTO storage (user_id, used) VALUES (?, 0)", input.id),
    recordAct(input.act, "user.created", input.id, { username: input.username }),
  ];
  return { id: input.id, createdAt: input.createdAt };
}

/** Part of other writes. Throws `invalid_token` where the user was erased after the token was checked. */
export function* requireUser(id: string): Write<UserRow> {
  const user = yield* get<UserRow>(`SELECT ${COLUMNS} FROM users WHERE id = ?`, id);
  if (!user) throw new ParleyError("invalid_token");
  return user;
}

/** Makes the user and its token where there is no user yet; false where there is one. */
export function* createFirstUser(input: { user: CreateUser; token: CreateToken }): Write<boolean> {
  if (yield* get("SELECT 1 AS one FROM users LIMIT 1")) return false;
  yield* createUser(input.user);
  yield* createToken(input.token);
  return true;
}

/**
 * Erases the user, with tokens, contacts, webhooks and notes; the user leaves every conversation. Throws `user_not_found`.
 */
export function* deleteUser(input: { id: string; deletedAt: number; act: Act }): Write<void> {
  const user = yield* get<UserRow & { username_key: string }>(
    `SELECT ${COLUMNS}, username_key FROM users WHERE id = ?`,
    input.id,
  );
  if (!user) throw new ParleyError("user_not_found");
  yield* forgetTokensOf(input.id);
  yield forgetPeer(input.id, user.username_key, input.deletedAt);
  const contacts = yield* all<{ conversation_id: string }>(
    "DELETE FROM contacts WHERE owner_id = ? RETURNING conversation_id",
    input.id,
  );
  for (const { conversation_id } of [user, ...contacts]) {
    yield* leaveConversation(conversation_id, input.id, input.deletedAt);
  }
  yield* forgetWebhooksOf(input.id, input.deletedAt);
  yield [
    statement("DELETE FROM storage WHERE user_id = ?", input.id),
    statement("DELETE FROM reservations WHERE user_id = ?", input.id),
    statement("DELETE FROM idempotency WHERE user_id = ?", input.id),
    statement("DELETE FROM activity WHERE user_id = ?", input.id),
    forgetEventsOf(input.id),
    statement("DELETE FROM users WHERE id = ?", input.id),
    recordAct(input.act, "user.deleted", input.id, { username: user.username }),
  ];
}
