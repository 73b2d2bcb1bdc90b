// Pictures of users: what is accepted, how they are served, and that they are durable and erased.
import type { Mutant } from "./mutant.ts";

export const avatars: readonly Mutant[] = [
  {
    name: "a picture of a user may look like text",
    find: "allowedTypes: PICTURES,",
    replace: "allowedTypes: PICTURES.slice(9),",
    tests: ["http/avatars"],
  },
  {
    name: "any file is a picture of a user",
    find: "receiveForm(request, upload, [], limits, true)",
    replace: "receiveForm(request, upload, [], limits, false)",
    tests: ["http/avatar-storage"],
  },
  {
    name: "a picture of a user may have any size",
    find: "maxFileBytes: Math.min(maxAvatarBytes, maxFileBytes || maxAvatarBytes),",
    replace: "maxFileBytes: maxAvatarBytes && 0 * maxFileBytes,",
    tests: ["http/avatars"],
  },
  {
    name: "a picture of a user may have any number of pixels",
    find: "if (pictureSize.width * pictureSize.height > MAX_PIXELS)",
    replace: "if (pictureSize.width * pictureSize.height > 1e12)",
    tests: ["http/avatars"],
  },
  {
    name: "the id of a picture of a user is in no address that is served",
    find: "WHERE a.user_id = ${userId} AND a.id = ${id}",
    replace: "WHERE a.user_id = ${userId} AND a.id <> ${id.slice(4)}",
    tests: ["http/avatars"],
  },
  {
    name: "a picture of a user is served at the address of another",
    find: "WHERE a.user_id = ${userId} AND a.id = ${id}",
    replace: "WHERE a.user_id <> ${userId.slice(4)} AND a.id = ${id}",
    tests: ["http/avatars"],
  },
  {
    name: "a picture of a user is not cached forever",
    find: 'if (maxAge === "forever") return "public, max-age=31536000, immutable";',
    replace: "",
    tests: ["http/avatars"],
  },
  {
    name: "a replaced picture of a user stays in the store",
    find: "SELECT blob_key, CAST(${now} AS BIGINT) ${theirs} AND blob_key <> id",
    replace: "SELECT blob_key, CAST(${now} AS BIGINT) ${theirs} AND blob_key = id || 'x'",
    tests: ["http/avatar-storage"],
  },
  {
    name: "a replaced picture of a user stays in the database",
    find: "sql`DELETE FROM small_files WHERE attachment_id = (SELECT id ${theirs})`,",
    replace: "",
    tests: ["http/avatar-storage"],
  },
  {
    name: "an erased user keeps the picture",
    find: "...eraseAvatar(id, deletedAt),",
    replace: "",
    tests: ["http/avatar-storage"],
  },
  {
    name: "the sweep erases pictures of users",
    find: "UNION ALL SELECT 1 FROM avatars WHERE blob_key = ${blobKey}`;",
    replace: "`;",
    tests: ["http/avatar-storage"],
  },
  {
    name: "the quota of a user holds for the picture",
    find: "    userQuotaBytes: 0,",
    replace: "",
    tests: ["http/avatars"],
  },
];
