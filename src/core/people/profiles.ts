import type { Identity } from "../../db/queries/people/identities.ts";
import type { Caller } from "../node/caller.ts";
import type { DataAccess } from "../node/core.ts";
import { newEntry } from "../record/audit-trail.ts";
import {
  avatarUrl,
  describedField,
  jsonObject,
  messageLimit,
  nullable,
  optional,
  type Parsed,
  phoneNumber,
  profileName,
  trueOrFalse,
} from "../resource/fields.ts";
import type { Expected } from "../resource/resource.ts";
import { toPicturesUrl } from "../resource/senders.ts";

/** The fields of a user that the user and admins can change. Null clears one. */
export const profileFields = {
  display_name: optional(profileName),
  avatar_url: optional(avatarUrl),
  phone_number: optional(nullable(phoneNumber)),
  data: optional(jsonObject),
};

/** The fields of a user that only admins can set. */
export const operatorFields = {
  accepts_everyone: optional(
    describedField(trueOrFalse, "True also gives this user as a contact each user who adds this one."),
  ),
  message_limit: optional(
    describedField(messageLimit, "Messages to others per minute; 0: no limit; null: that of the server."),
  ),
};

/** What only admins change besides the profile. Undefined leaves it unchanged. */
interface AccountChanges {
  /** An identity to add; null removes all. */
  identity?: Identity | null | undefined;
  isPaused?: boolean | undefined;
}

/**
 * Changes the profile and the rest of the account. Throws `user_not_found`, `invalid_token` if the caller was deleted after the
 * token was checked, `precondition_failed`, `identity_taken` and `count_limit_reached`.
 */
export async function updateProfile(
  core: DataAccess,
  caller: Caller | null,
  id: string,
  { accepts_everyone, ...changes }: Parsed<typeof profileFields & typeof operatorFields>,
  expected: Expected,
  { identity, isPaused }: AccountChanges = {},
): Promise<void> {
  const entry = newEntry(core, caller);
  const update = {
    id,
    changes: {
      ...changes,
      accepts_everyone: accepts_everyone === undefined ? undefined : Number(accepts_everyone),
    },
    picturesUrl: toPicturesUrl(core, id),
    expected,
    entry,
  };
  if (identity === undefined && isPaused === undefined) await core.db.write("updateUser", update);
  else {
    const entries = { linkEntry: newEntry(core, caller), pauseEntry: newEntry(core, caller) };
    await core.db.write("updateAccount", { ...update, identity, isPaused, ...entries });
  }
  core.wakeProfiles();
  // It erases a stored picture that `avatar_url` replaces.
  if (changes.avatar_url !== undefined) core.wakeEraser();
}
