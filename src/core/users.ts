import {
  type CreateUser,
  findUserById,
  findUserByName,
  listUserPage,
  listUsers as listUserRows,
  type UserRow,
} from "../db/users.ts";
import { ParleyError } from "../errors.ts";
import { toSeconds } from "../util/clock.ts";
import { usernameKey } from "../util/text.ts";
import { actOf } from "./audit.ts";
import type { Caller } from "./caller.ts";
import type { Accounts } from "./core.ts";
import { onceOf, writeOnce } from "./idempotency.ts";
import { type PageOf, type PageRequest, pageOf, pageQuery } from "./page.ts";
import { makeToken, revokeTokensOf, SCOPES } from "./tokens.ts";

interface User {
  id: string;
  username: string;
  phone_number: string | null;
  display_name: string | null;
  avatar_url: string | null;
  created_at: number;
}

interface UserFields {
  username: string;
  phone_number?: string | null | undefined;
  display_name?: string | null | undefined;
  avatar_url?: string | null | undefined;
}

/** `caller` is null where the command line does it; with a key it is done once. Throws `username_taken`. */
export async function createUser(
  core: Accounts,
  caller: Caller | null,
  fields: UserFields,
  key?: string,
): Promise<User & { replayed: boolean }> {
  const row = newUser(core, caller, fields);
  const once = onceOf(core, caller, key, "createUser", fields);
  const { result, replayed } = await writeOnce(core, once, "createUser", row);
  return {
    id: result.id,
    username: row.username,
    phone_number: row.phoneNumber,
    display_name: row.displayName,
    avatar_url: row.avatarUrl,
    created_at: toSeconds(result.createdAt),
    replayed,
  };
}

/** Makes the user `admin` with all scopes in a database without users; returns its token, or null. */
export async function createFirstUser(core: Accounts): Promise<string | null> {
  const user = newUser(core, null, { username: "admin" });
  const { token, row } = makeToken(core, null, user.id, { scopes: SCOPES, name: "first start" });
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

/** Throws `user_not_found`. */
export async function getUser(core: Accounts, id: string): Promise<User> {
  const row = await findUserById(core.db, id);
  if (!row) throw new ParleyError("user_not_found");
  return userOf(row);
}

/** One page of the users, of all or of the one with this username. */
export async function listUserPages(
  core: Accounts,
  request: PageRequest & { username?: string | undefined },
): Promise<PageOf> {
  const page = pageQuery(request);
  const filter = { usernameKey: request.username && usernameKey(request.username) };
  return pageOf(page, await listUserPage(core.db, filter, page), (row) => JSON.stringify(userOf(row)));
}

/** Erases the user and all that is theirs. Throws `user_not_found`. */
export async function eraseUser(core: Accounts, caller: Caller | null, id: string): Promise<void> {
  // First: whoever goes on writing as the user would cross the erasing, which takes longer, again and again.
  await revokeTokensOf(core, caller, id);
  await core.db.write("deleteIdentities", { userId: id });
  await core.db.write("deleteUser", { id, deletedAt: core.clock(), act: actOf(core, caller) });
  core.wakeEraser();
}

function userOf(row: UserRow): User {
  return {
    id: row.id,
    username: row.username,
    phone_number: row.phone_number,
    display_name: row.display_name,
    avatar_url: row.avatar_url,
    created_at: toSeconds(row.created_at),
  };
}

/** A user to be made, with ids and times. */
export function newUser(core: Accounts, caller: Caller | null, fields: UserFields): CreateUser {
  return {
    id: core.newId("usr"),
    username: fields.username,
    usernameKey: usernameKey(fields.username),
    phoneNumber: fields.phone_number ?? null,
    displayName: fields.display_name ?? null,
    avatarUrl: fields.avatar_url ?? null,
    conversationId: core.newId("cnv"),
    createdAt: core.clock(),
    act: actOf(core, caller),
  };
}
