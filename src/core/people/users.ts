import { allIdentities } from "../../db/queries/people/identities.ts";
import { addSetFields } from "../../db/queries/people/profiles.ts";
import {
  allUsers as allUserRows,
  type CreateUser,
  type DetailedUserRow,
  findDetailedUser,
  findDetailedUsers,
  findUserById,
  findUserByName,
  listUserNames,
  listUserRows,
  type UserNames,
} from "../../db/queries/people/users.ts";
import { ParleyError } from "../../errors.ts";
import { toSeconds } from "../../util/clock.ts";
import { foldedLength, searchKey, searchPart, searchWords, usernameKey } from "../../util/text.ts";
import { countUnreadConversations } from "../messages/conversations.ts";
import type { Caller } from "../node/caller.ts";
import type { DataAccess } from "../node/core.ts";
import { newEntry } from "../record/audit-trail.ts";
import { writeIdempotent } from "../record/idempotency.ts";
import {
  avatarUrl,
  choice,
  describedField,
  displayName,
  jsonObject,
  nameWords,
  newUsername,
  nullable,
  optional,
  type Parsed,
  phoneNumber,
  trueOrFalse,
  username,
} from "../resource/fields.ts";
import { searchNames } from "../resource/name-search.ts";
import { OLDEST, type Page, type PageEnvelope, toPage } from "../resource/page.ts";
import { type Expected, readBack, type Versioned, versioned } from "../resource/resource.ts";
import {
  anyObject,
  bool,
  bytes,
  count,
  described,
  id,
  integer,
  object,
  orNull,
  resource,
  type TypeOf,
  text,
  textOrNull,
  time,
} from "../resource/schema.ts";
import { toAvatarUrl, userKind } from "../resource/senders.ts";
import type { Turns } from "../resource/turns.ts";
import { identities, identityChanges, newIdentityFields, toIdentity } from "./identities.ts";
import { operatorFields, profileFields, updateProfile } from "./profiles.ts";
import { makeToken, revokeTokensOf, SCOPES } from "./tokens.ts";

export const storageUse = object({
  used: bytes,
  quota: described(orNull(integer), "Bytes; null if there is no quota."),
});

const userMembers = {
  id: id("usr"),
  username: text,
  phone_number: textOrNull,
  display_name: textOrNull,
  avatar_url: textOrNull,
  kind: userKind,
  accepts_everyone: described(bool, "Whether users who add this one are added back."),
  message_limit: described(
    orNull(count),
    "Messages to others per minute; 0: no limit; null: that of the server.",
  ),
  data: described(orNull(anyObject), "A JSON object for your app, which only the user and admins see."),
  created_at: time,
  paused_at: described(
    orNull(time),
    "When an administrator paused the user; null if the user is not paused.",
  ),
  storage: storageUse,
  last_active_at: described(orNull(time), "The user's last request; null if there was none."),
};
export const userResource = resource("User", userMembers);
type User = TypeOf<typeof userResource>;
/** A user with the number of unread conversations, for a badge. */
export const userWithUnreadResource = resource("UserWithUnread", {
  ...userMembers,
  unread_conversations: described(count, "Without muted ones; 100 means 100 or more. 0 for a bot."),
  identities: described(identities, "Whose JWTs sign in as the user."),
});

/** The fields of a new user. */
export const userFields = {
  username: newUsername,
  phone_number: optional(nullable(phoneNumber)),
  display_name: optional(displayName),
  avatar_url: optional(avatarUrl),
  kind: optional(describedField(choice("person", "bot"), "The default is person. It never changes.")),
  ...operatorFields,
  data: optional(jsonObject),
  ...newIdentityFields,
};
type UserFields = Parsed<typeof userFields>;

/** The filters of a list of users. */
export const userFilters = {
  username: optional(username),
  q: optional(
    describedField(nameWords, "The beginnings of words of the username and display name, in any order."),
  ),
};

/** The fields that an admin can change. */
export const userChanges = {
  ...profileFields,
  ...operatorFields,
  ...identityChanges,
  paused: optional(
    describedField(trueOrFalse, "True refuses all requests of the user, and as the user, until it is false."),
  ),
};

/**
 * Creates a user; `caller` is null on the command line. A request with an Idempotency-Key is idempotent. Throws
 * `username_taken` and `identity_taken`.
 */
export async function createUser(
  core: DataAccess,
  caller: Caller | null,
  fields: UserFields,
  key?: string,
): Promise<User & { replayed: boolean }> {
  const row = newUser(core, caller, fields);
  const request = { caller, key, asked: ["createUser", fields] };
  const identity = toIdentity(core, fields);
  const { result, replayed } = await (identity
    ? writeIdempotent(core, request, "createLinkedUser", {
        ...row,
        identity,
        linkEntry: newEntry(core, caller),
      })
    : writeIdempotent(core, request, "createUser", row));
  const user = toUser(core, {
    id: result.id,
    username: row.username,
    phone_number: row.phoneNumber,
    display_name: row.displayName,
    avatar_url: row.avatarUrl,
    avatar_id: null,
    kind: row.kind,
    accepts_everyone: row.acceptsEveryone ? 1 : 0,
    message_limit: row.messageLimit,
    data: row.data,
    created_at: result.createdAt,
    paused_at: null,
    used: 0,
    seen_at: null,
  });
  return { ...user, replayed };
}

/** A page of one user, if there are any. */
const ANY = { cursor: OLDEST, newer: true, limit: 1 };

/** The scopes of the first token: all except that of a back end, which nobody has without asking for it. */
const FIRST_SCOPES = SCOPES.filter((scope) => scope !== "act_as");

/** Creates the user `admin` and its token if the database has no users; returns the token, or null. */
export async function createFirstUser(core: DataAccess): Promise<string | null> {
  // Usually there are users, and a start without a write does not wait for the writer thread.
  if ((await listUserRows(core.db, {}, ANY)).length > 0) return null;
  const user = newUser(core, null, { username: "admin" });
  const { token, row } = makeToken(core, null, user.id, { scopes: FIRST_SCOPES, name: "first start" });
  return (await core.db.write("createFirstUser", { user, token: row })) ? token : null;
}

/** Returns all users, newest first. */
export async function allUsers(core: DataAccess): Promise<User[]> {
  return (await allUserRows(core.db)).map((row) => toUser(core, row));
}

/** Finds a user by any spelling of the username that compares equal. Throws `user_not_found`. */
export async function getUserByName(core: DataAccess, username: string): Promise<User> {
  const row = await findUserByName(core.db, usernameKey(username));
  if (!row)
    throw new ParleyError("user_not_found", `No user is named "${username}". List them: parley user list.`);
  return toUser(core, row);
}

/** A user by id, or by any spelling of the username that compares equal. */
export type NamedUser = { id: string } | { username: string };

/** Returns the id of the user as whom somebody acts; undefined if there is none. Throws `user_paused`. */
export async function findActing(core: DataAccess, named: NamedUser): Promise<string | undefined> {
  const user =
    "id" in named
      ? await findUserById(core.db, named.id)
      : await findUserByName(core.db, usernameKey(named.username));
  if (user && user.paused_at !== null) throw new ParleyError("user_paused");
  return user?.id;
}

/** Throws `user_not_found`. */
export async function checkUser(core: DataAccess, id: string): Promise<void> {
  if (!(await findUserById(core.db, id))) throw new ParleyError("user_not_found");
}

/** Throws `user_not_found`. */
async function readUser(core: DataAccess, id: string): Promise<DetailedUserRow> {
  const row = await findDetailedUser(core.db, id);
  if (!row) throw new ParleyError("user_not_found");
  return row;
}

/** Gets a user with the number of conversations with unread messages, and the identities. Throws `user_not_found`. */
export async function getUserWithUnread(core: DataAccess, id: string): Promise<Versioned> {
  const row = await readUser(core, id);
  const user: TypeOf<typeof userWithUnreadResource> = {
    ...toUser(core, row),
    unread_conversations: await countUnreadConversations(core, row),
    identities: await allIdentities(core.db, id),
  };
  return versioned(JSON.stringify(user), row.version);
}

/**
 * Changes the profile and the identities of a user, and pauses or resumes the user. Throws `user_not_found`, `identity_taken`,
 * `count_limit_reached`, `precondition_failed`, and `invalid_parameter` for callers who would pause themselves.
 */
export async function updateUser(
  core: DataAccess,
  caller: Caller | null,
  id: string,
  { issuer, subject, paused, ...profile }: Parsed<typeof userChanges>,
  expected: Expected,
): Promise<Versioned> {
  const identity = toIdentity(core, { issuer, subject });
  if (paused && (caller?.userId === id || caller?.actedById === id)) {
    throw new ParleyError(
      "invalid_parameter",
      "You can't pause yourself: you could not undo it. Another administrator can.",
      { param: "paused" },
    );
  }
  await updateProfile(core, caller, id, profile, expected, { identity, isPaused: paused });
  return readBack(getUserWithUnread(core, id));
}

/** Returns one page of the users that match the filters. */
export async function listUsers(
  core: DataAccess,
  request: Page & Parsed<typeof userFilters>,
  turns: Turns,
): Promise<PageEnvelope> {
  const { db } = core;
  const filter = { usernameKey: request.username && usernameKey(request.username) };
  const parts = searchWords(request.q ?? "").map(searchPart);
  const names = {
    listNames: (walk: Page) => listUserNames(db, filter, walk),
    isMatch({ username, display_name }: UserNames) {
      const key = searchKey(username, display_name);
      return parts.every((part) => key.includes(part));
    },
    lengthOf: ({ username, display_name }: UserNames) =>
      foldedLength(username) + foldedLength(display_name ?? ""),
    findRows: (ids: readonly string[]) => findDetailedUsers(db, ids),
  };
  const { rows, end } =
    parts.length > 0
      ? await searchNames(request, names, turns)
      : { rows: await listUserRows(db, filter, request) };
  return toPage(request, rows, (row) => JSON.stringify(toUser(core, row)), { end });
}

/** Deletes the user and everything that belongs to them. Throws `user_not_found` and `precondition_failed`. */
export async function deleteUser(
  core: DataAccess,
  caller: Caller | null,
  id: string,
  expected: Expected = null,
): Promise<void> {
  await readUser(core, id);
  // Requests that continue to write as the user would repeatedly conflict with the longer erasing. With a condition, the erasing
  // revokes the tokens itself: if it is not met, nothing changes.
  if (!expected) {
    await revokeTokensOf(core, caller, id);
    await core.db.write("deleteIdentities", { userId: id });
  }
  const entry = newEntry(core, caller);
  const limit = core.limits.erasedRowsAtOnce;
  const messageId = core.newId("msg");
  await core.db.write("deleteUser", { id, expected, deletedAt: entry.at, limit, messageId, entry });
  core.wakeEraser();
}

function toUser(core: DataAccess, row: Omit<DetailedUserRow, "conversation_id" | "version">): User {
  return {
    id: row.id,
    username: row.username,
    phone_number: row.phone_number,
    display_name: row.display_name,
    avatar_url: toAvatarUrl(core, row),
    kind: row.kind,
    accepts_everyone: row.accepts_everyone === 1,
    message_limit: row.message_limit,
    data: row.data === null ? null : JSON.parse(row.data),
    created_at: toSeconds(row.created_at),
    paused_at: row.paused_at === null ? null : toSeconds(row.paused_at),
    storage: toStorage(core, row.used),
    last_active_at: row.seen_at === null ? null : toSeconds(row.seen_at),
  };
}

/** `used` is in bytes. */
export function toStorage({ limits }: Pick<DataAccess, "limits">, used: number): TypeOf<typeof storageUse> {
  return { used, quota: limits.userQuotaBytes || null };
}

/** Fills in ids and times of a new user. */
export function newUser(core: DataAccess, caller: Caller | null, fields: UserFields): CreateUser {
  return {
    id: core.newId("usr"),
    username: fields.username,
    usernameKey: usernameKey(fields.username),
    phoneNumber: fields.phone_number ?? null,
    displayName: fields.display_name ?? null,
    avatarUrl: fields.avatar_url ?? null,
    kind: fields.kind ?? "person",
    acceptsEveryone: fields.accepts_everyone ?? false,
    messageLimit: fields.message_limit ?? null,
    data: fields.data ?? null,
    // Null is the same as no field: nobody has cleared anything.
    setFields: addSetFields("", {
      phone_number: fields.phone_number ?? undefined,
      display_name: fields.display_name ?? undefined,
      avatar_url: fields.avatar_url ?? undefined,
    }),
    conversationId: core.newId("cnv"),
    createdAt: core.clock(),
    entry: newEntry(core, caller),
  };
}
