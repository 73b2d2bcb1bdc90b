import type { Caller } from "../node/caller.ts";
import type { DataAccess } from "../node/core.ts";
import { newEntry } from "../record/audit-trail.ts";
import {
  avatarUrl,
  jsonObject,
  nullable,
  optional,
  type Parsed,
  phoneNumber,
  profileName,
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

/** Throws `user_not_found`, `invalid_token` if the caller was deleted after the token was checked, and `precondition_failed`. */
export async function updateProfile(
  core: DataAccess,
  caller: Caller,
  id: string,
  changes: Parsed<typeof profileFields>,
  expected: Expected,
): Promise<void> {
  const entry = newEntry(core, caller);
  await core.db.write("updateUser", {
    id,
    changes,
    picturesUrl: toPicturesUrl(core, id),
    expected,
    entry,
  });
  // It erases a stored picture that `avatar_url` replaces.
  if (changes.avatar_url !== undefined) core.wakeEraser();
}
