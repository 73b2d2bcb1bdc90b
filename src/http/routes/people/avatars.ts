import { deleteAvatar, getAvatar, setAvatar } from "../../../core/people/avatars.ts";
import { getMe, meResource } from "../../../core/people/me.ts";
import { getUserWithUnread, userWithUnreadResource } from "../../../core/people/users.ts";
import type { Shape } from "../../../core/resource/fields.ts";
import { knownForm } from "../../../core/resource/known-form.ts";
import { readBack } from "../../../core/resource/resource.ts";
import { expectedVersions } from "../../protocol/conditions.ts";
import { receiveForm } from "../../protocol/forms.ts";
import { type Call, type Operation, operation } from "../../protocol/operation.ts";
import { previewWidth, SERVE_ERRORS, sendRest, serve, servedFile } from "../../protocol/serve-file.ts";

const OF_ME = "/v1/me/avatar";
const OF_USER = "/v1/users/:id/avatar";
const id = { name: "user_id", kind: "usr", unknown: "user_not_found" } as const;

const UPLOAD_ERRORS = [
  "precondition_failed",
  "digest_mismatch",
  "request_timeout",
  "file_too_large",
  "file_type_refused",
  "file_infected",
  "disk_full",
] as const;

/** Declares the operations of the caller's own picture. */
export const myAvatarOperations: readonly Operation[] = [
  operation({
    name: "setMyAvatar",
    method: "PUT",
    path: OF_ME,
    summary: "Set the caller's picture",
    body: "file",
    answer: { status: 200, resource: meResource, versioned: true },
    errors: UPLOAD_ERRORS,
    async handle(call) {
      await receiveAvatar(call, call.caller.userId);
      return readBack(getMe(call.core, call.caller));
    },
  }),
  operation({
    name: "deleteMyAvatar",
    method: "DELETE",
    path: OF_ME,
    summary: "Delete the caller's picture",
    answer: { status: 204 },
    errors: ["precondition_failed"],
    handle: ({ core, caller, request }) =>
      deleteAvatar(core, caller, caller.userId, expectedVersions(request)),
  }),
];

/** Declares the operations of pictures of any user. */
export const userAvatarOperations: readonly Operation[] = [
  operation({
    name: "setUserAvatar",
    method: "PUT",
    path: OF_USER,
    id,
    scope: "admin",
    summary: "Set the picture of a user",
    body: "file",
    answer: { status: 200, resource: userWithUnreadResource, versioned: true },
    errors: ["user_not_found", ...UPLOAD_ERRORS],
    async handle(call) {
      await receiveAvatar(call, call.id);
      return readBack(getUserWithUnread(call.core, call.id));
    },
  }),
  operation({
    name: "deleteUserAvatar",
    method: "DELETE",
    path: OF_USER,
    id,
    scope: "admin",
    summary: "Delete the picture of a user",
    answer: { status: 204 },
    errors: ["user_not_found", "precondition_failed"],
    handle: ({ core, caller, id, request }) => deleteAvatar(core, caller, id, expectedVersions(request)),
  }),
];

function receiveAvatar({ core, caller, request }: Call<Shape, Shape>, userId: string): Promise<void> {
  return setAvatar(core, caller, userId, expectedVersions(request), (upload, limits) =>
    receiveForm(request, upload, [], limits, true),
  );
}

export const avatarOperation: Operation = operation({
  name: "downloadAvatar",
  method: "GET",
  path: "/v1/avatars/:id/:avatar_id",
  id: { name: "user_id", kind: "usr", unknown: "avatar_not_found" },
  innerId: { name: "avatar_id", kind: "avt", unknown: "avatar_not_found" },
  access: "link",
  summary: "Download the picture of a user",
  query: { width: previewWidth },
  answer: servedFile("image/*"),
  errors: ["avatar_not_found", ...SERVE_ERRORS],
  async handle(call) {
    const { core, innerId, query, request, reply } = call;
    const userId = knownForm((request.params as { id: string }).id, "usr", "avatar_not_found");
    const row = await getAvatar(core, userId, innerId);
    const { width } = query;
    const chunks = await serve(core, request, reply, row, { maxAge: "forever", download: false, width });
    return sendRest(call, chunks);
  },
});
