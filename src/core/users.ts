import { type CreateUser, findUserByName, listUsers as listUserRows, type UserRow } from "../db/users.ts";
import { ParleyError } from "../errors.ts";
import { toSeconds } from "../util/clock.ts";
import { usernameKey } from "../util/text.ts";
import type { Accounts } from "./core.ts";
import { makeToken, SCOPES } from "./tokens.ts";

interface User {
  id: string;
  username: string;
  phone_number: string | null;
  created_at: number;
}

interface UserFields {
  username: string;
  phoneNumber: string | null;
}

/** Throws `username_taken`. */
export async function createUser(core: Accounts, fields: UserFields): Promise<User> {
  const row = newUser(core, fields);
  await core.db.write("createUser", row);
  return {
    id: row.id,
    username: row.username,
    phone_number: row.phoneNumber,
    created_at: toSeconds(row.createdAt),
  };
}

/** Makes the user `admin` with all scopes in a database without users; returns its token, or null. */
export async function createFirstUser(core: Accounts): Promise<string | null> {
  const user = newUser(core, { username: "admin", phoneNumber: null });
  const { token, row } = makeToken(core, user.id, { scopes: SCOPES, name: "first start" });
  return (await core.db.write("createFirstUser", { user, token: row })) ? token : null;
}

/** All users, newest first. */
export async function listUsers(core: Accounts): Promise<User[]> {
  return (await listUserRows(core.db)).map(userOf);
}

/** By any spelling that compares equal. Throws `user_not_found`. */
export async function findUser(core: Accounts, username: string): Promise<User> {
  const row = await findUserByName(core.db, usernameKey(username));
  if (!row)
    throw new ParleyError("user_not_found", `No user is called "${username}". List them: parley user list.`);
  return userOf(row);
}

/** Erases the user and all that is theirs; returns who it was. Throws `user_not_found`. */
export async function removeUser(core: Accounts, username: string): Promise<User> {
  const user = await findUser(core, username);
  // First: whoever goes on writing as the user would cross the erasing, which takes longer, again and again.
  await core.db.write("deleteTokens", { userId: user.id });
  await core.db.write("deleteUser", { id: user.id, deletedAt: core.clock() });
  core.wakeEraser();
  return user;
}

function userOf(row: UserRow): User {
  return {
    id: row.id,
    username: row.username,
    phone_number: row.phone_number,
    created_at: toSeconds(row.created_at),
  };
}

/** A user to be made, with ids and times. */
export function newUser(core: Accounts, fields: UserFields): CreateUser {
  return {
    id: core.newId("usr"),
    username: fields.username,
    usernameKey: usernameKey(fields.username),
    phoneNumber: fields.phoneNumber,
    conversationId: core.newId("cnv"),
    createdAt: core.clock(),
  };
}
