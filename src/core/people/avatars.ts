import type { Limits } from "../../config/limits.ts";
import { findAvatar } from "../../db/queries/people/avatars.ts";
import type { ServedFile } from "../../db/queries/storage/files.ts";
import { ParleyError } from "../../errors.ts";
import { secretId } from "../../util/ids.ts";
import { MAX_PIXELS } from "../../util/sizes.ts";
import { RequestUploads, type UploadOnce } from "../files/upload-once.ts";
import type { Caller } from "../node/caller.ts";
import type { Core } from "../node/core.ts";
import { newEntry } from "../record/audit-trail.ts";
import type { Expected } from "../resource/resource.ts";

/**
 * Sets the picture of a user. `receive` passes the bytes of the request to the upload, without metadata. Throws what an upload
 * throws, `file_type_refused` if the file is no whole picture, `file_too_large` also if it has too many pixels, `user_not_found`,
 * `invalid_token` if the caller was deleted after the token was checked, and `precondition_failed`.
 */
export async function setAvatar(
  core: Core,
  caller: Caller,
  userId: string,
  expected: Expected,
  receive: (upload: UploadOnce, limits: Limits) => Promise<unknown>,
): Promise<void> {
  const limits = avatarLimits(core.limits);
  await using uploads = await RequestUploads.begin({ ...core, limits }, caller, undefined);
  const upload = uploads.add();
  await receive(upload, limits).catch((error) => {
    // Metadata can be removed only from whole pictures.
    throw error instanceof ParleyError && error.code === "metadata_not_removable" ? notAPicture() : error;
  });
  const file = await upload.finish();
  const { pictureSize } = file;
  if (!pictureSize) throw notAPicture();
  if (pictureSize.width * pictureSize.height > MAX_PIXELS) {
    const detail = `A picture can have at most ${MAX_PIXELS} pixels. Nothing was stored.`;
    throw new ParleyError("file_too_large", detail, { param: "file" });
  }
  const id = secretId("avt", core.random);
  const blobKey = file.bytes ? id : file.blobKey;
  await uploads.commit([], "setAvatar", { userId, file: { ...file, id, blobKey }, expected });
  core.wakeProfiles();
  core.wakeEraser();
}

/** The types of accepted pictures, as the bytes reveal them. */
const PICTURES = ["image/jpeg", "image/png", "image/apng", "image/webp", "image/gif"];

/** Returns the limits on the upload of a picture. A user has only one, so no quota applies, and no rule about other files. */
function avatarLimits(limits: Limits): Limits {
  const { maxAvatarBytes, maxFileBytes } = limits;
  return {
    ...limits,
    maxFileBytes: Math.min(maxAvatarBytes, maxFileBytes || maxAvatarBytes),
    userQuotaBytes: 0,
    filesPerDay: 0,
    allowedTypes: PICTURES,
    refusedTypes: [],
  };
}

function notAPicture(): ParleyError {
  const detail = "The file is no JPEG, PNG, WebP or GIF, or is damaged. Nothing was stored.";
  return new ParleyError("file_type_refused", detail, { param: "file" });
}

/** Deletes the picture of a user, if there is one. Throws what `setAvatar` throws about the user. */
export async function deleteAvatar(
  core: Core,
  caller: Caller,
  userId: string,
  expected: Expected,
): Promise<void> {
  await core.db.write("deleteAvatar", { userId, expected, entry: newEntry(core, caller) });
  core.wakeProfiles();
  core.wakeEraser();
}

/** Gets the picture for serving it. Throws `avatar_not_found`, also if the user has another one by now. */
export async function getAvatar(core: Core, userId: string, id: string): Promise<ServedFile> {
  const row = await findAvatar(core.db, userId, id);
  if (!row) throw new ParleyError("avatar_not_found");
  return { ...row, filename: `avatar.${row.file_type.slice("image/".length)}`, unscanned: 0 };
}
