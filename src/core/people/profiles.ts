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

/**
 * Changes the profile and, unless `identity` is undefined, the identities: adds it, or removes them all if it is null. Throws
 * `user_not_found`, `invalid_token` if the caller was deleted after the token was checked, `precondition_failed`, and
 * `identity_taken`.
 */
export async function updateProfile(
  core: DataAccess,
  caller: Caller | null,
  id: string,
  { accepts_everyone, ...changes }: Parsed<typeof profileFields & typeof operatorFields>,
  expected: Expected,
  identity?: Identity | null,
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
  if (identity === undefined) await core.db.write("updateUser", update);
  else await core.db.write("updateLinkedUser", { ...update, identity, linkEntry: newEntry(core, caller) });
  core.wakeProfiles();
  // It erases a stored picture that `avatar_url` replaces.
  if (changes.avatar_url !== undefined) core.wakeEraser();
}
