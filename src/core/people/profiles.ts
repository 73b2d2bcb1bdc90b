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

/** The fields of a user that admins can change. */
export const userChanges = { ...profileFields, ...operatorFields };

/** Throws `user_not_found`, `invalid_token` if the caller was deleted after the token was checked, and `precondition_failed`. */
export async function updateProfile(
  core: DataAccess,
  caller: Caller,
  id: string,
  { accepts_everyone, ...changes }: Parsed<typeof userChanges>,
  expected: Expected,
): Promise<void> {
  const entry = newEntry(core, caller);
  await core.db.write("updateUser", {
    id,
    changes: {
      ...changes,
      accepts_everyone: accepts_everyone === undefined ? undefined : Number(accepts_everyone),
    },
    picturesUrl: toPicturesUrl(core, id),
    expected,
    entry,
  });
  // It erases a stored picture that `avatar_url` replaces.
  if (changes.avatar_url !== undefined) core.wakeEraser();
}
