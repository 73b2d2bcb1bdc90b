import { ParleyError } from "../../../errors.ts";
import { type Statement, sql } from "../../sql.ts";
import { checkVersion, type Expected } from "../../version.ts";
import { batch, get, type Write } from "../../write.ts";
import { type NewEntry, recordEntry } from "../record/audit-trail.ts";
import { eraseAvatar } from "../storage/content-erase.ts";
import { noteProfileChange } from "./profile-readers.ts";

/** The parts of a user that the user and admins can change. */
interface Profile {
  display_name: string | null;
  avatar_url: string | null;
  phone_number: string | null;
  /** JSON text. */
  data: string | null;
  /** Only admins change these. */
  accepts_everyone: number;
  message_limit: number | null;
}
/** Undefined leaves a field unchanged. */
export type ProfileChanges = { [K in keyof Profile]?: Profile[K] | undefined };

/** The fields that claims of a JWT fill, until the user or an admin sets them. */
const CLAIMED = ["display_name", "avatar_url", "phone_number"] as const;
const FIELDS = [...CLAIMED, "data", "accepts_everyone", "message_limit"] as const;

/** Adds the given fields, also those that are null, to those that claims leave alone. Both lists are separated by spaces. */
export function addSetFields(
  setFields: string,
  given: Pick<ProfileChanges, (typeof CLAIMED)[number]>,
): string {
  const known = setFields.split(" ");
  return CLAIMED.filter((name) => known.includes(name) || given[name] !== undefined).join(" ");
}

export interface UpdateUser {
  id: string;
  changes: ProfileChanges;
  /** The address of the user's stored pictures. Setting `avatar_url` to that of the current one keeps it. */
  picturesUrl: string;
  expected: Expected;
  entry: NewEntry;
}

export interface ProfileRow extends Profile {
  avatar_id: string | null;
  /** Names of fields, separated by spaces, that the user or an admin has set. */
  set_fields: string;
  version: number;
}

export function findProfile(id: string): Statement<ProfileRow> {
  return sql`SELECT display_name, avatar_url, phone_number, data, accepts_everyone, message_limit, avatar_id, set_fields, version
    FROM users WHERE id = ${id}`;
}

/**
 * Changes the profile. A new `avatar_url` erases the stored picture. Throws `user_not_found`, `invalid_token` if the caller was
 * deleted after the token was checked, and `precondition_failed`.
 */
export function* updateUser({ id, changes, picturesUrl, expected, entry }: UpdateUser): Write<void> {
  const was = yield* get(findProfile(id));
  if (!was) throw new ParleyError(entry.actorId === id ? "invalid_token" : "user_not_found");
  checkVersion(expected, was.version);
  const isStored = was.avatar_id !== null && changes.avatar_url === `${picturesUrl}${was.avatar_id}`;
  const given = isStored ? { ...changes, avatar_url: undefined } : changes;
  yield* changeProfile(id, was, given, addSetFields(was.set_fields, changes), entry);
}

/** Part of other writes: changes the profile, and `set_fields`. */
export function* changeProfile(
  id: string,
  was: ProfileRow,
  changes: ProfileChanges,
  setFields: string,
  entry: NewEntry,
): Write<void> {
  const {
    display_name = was.display_name,
    avatar_url = was.avatar_url,
    phone_number = was.phone_number,
    data = was.data,
    accepts_everyone = was.accepts_everyone,
    message_limit = was.message_limit,
  } = changes;
  const now: Profile = { display_name, avatar_url, phone_number, data, accepts_everyone, message_limit };
  const avatarId = changes.avatar_url === undefined ? was.avatar_id : null;
  const isLost = avatarId !== was.avatar_id;
  const changed = FIELDS.filter((name) => now[name] !== was[name] || (name === "avatar_url" && isLost));
  if (changed.length === 0 && setFields === was.set_fields) return;
  const isChange = changed.length > 0;
  // Nobody else sees the other fields.
  const isSeen = changed.includes("display_name") || changed.includes("avatar_url");
  yield* batch([
    sql`UPDATE users SET display_name = ${display_name}, avatar_url = ${avatar_url}, phone_number = ${phone_number},
        data = ${data}, accepts_everyone = ${accepts_everyone}, message_limit = ${message_limit},
        avatar_id = ${avatarId}, set_fields = ${setFields}, version = version + ${isChange ? 1 : 0}
      WHERE id = ${id}`,
    ...(isLost ? eraseAvatar(id, entry.at) : []),
    ...(isSeen ? [noteProfileChange(id)] : []),
    ...(isChange ? [recordEntry(entry, "user.updated", id, { fields: changed })] : []),
  ]);
}

export const profileWrites = { updateUser };
