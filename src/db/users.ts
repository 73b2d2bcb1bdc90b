import { ParleyError } from "../errors.ts";
import { createConversation, leaveConversation } from "./conversations.ts";
import { departuresOf } from "./peers.ts";
import { all, get, type Reader, run, statement, type Write } from "./sql.ts";
import { type CreateToken, createToken, deleteTokens } from "./tokens.ts";

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

export interface CreateUser {
  id: string;
  username: string;
  usernameKey: string;
  phoneNumber: string | null;
  /** The user's own conversation: notes to self. */
  conversationId: string;
  createdAt: number;
}

/** Throws `username_taken`. */
export function* createUser(input: CreateUser): Write<void> {
  const taken = yield* get("SELECT 1 AS one FROM users WHERE username_key = ?", input.usernameKey);
  if (taken) throw new ParleyError("username_taken", undefined, { param: "username" });
  yield* createConversation(input.conversationId, input.id, input.createdAt);
  yield* run("INSERT INTO storage (user_id, used) VALUES (?, 0)", input.id);
  yield* run(
    `INSERT INTO users (id, username, username_key, phone_number, conversation_id, created_at)
     VALUES (?, ?, ?, ?, ?, ?)`,
    input.id,
    input.username,
    input.usernameKey,
    input.phoneNumber,
    input.conversationId,
    input.createdAt,
  );
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

/** Erases the user, with tokens, contacts and notes; the user leaves every conversation. */
export function* deleteUser(input: { id: string; deletedAt: number }): Write<void> {
  yield* deleteTokens({ userId: input.id });
  yield departuresOf(input.id);
  yield* run("DELETE FROM contacts WHERE owner_id = ?", input.id);
  const memberships = yield* all<{ conversation_id: string }>(
    "SELECT conversation_id FROM members WHERE user_id = ?",
    input.id,
  );
  for (const { conversation_id } of memberships) {
    yield* leaveConversation(conversation_id, input.id, input.deletedAt);
  }
  yield [
    statement("DELETE FROM storage WHERE user_id = ?", input.id),
    statement("DELETE FROM reservations WHERE user_id = ?", input.id),
    statement("DELETE FROM idempotency WHERE user_id = ?", input.id),
    statement("DELETE FROM activity WHERE user_id = ?", input.id),
    statement("DELETE FROM users WHERE id = ?", input.id),
  ];
}
