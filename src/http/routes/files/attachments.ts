import { attachmentAdditions, attachmentResource } from "../../../core/files/attachment-resource.ts";
import {
  attachmentFilters,
  beginAttachment,
  createAttachment,
  deleteAttachment,
  getAttachment,
  listAttachments,
  stripFields,
  type Target,
  targetFields,
  updateAttachment,
} from "../../../core/files/attachments.ts";
import { filename, optional, type Parsed, readFields, TextFields } from "../../../core/resource/fields.ts";
import { knownForm } from "../../../core/resource/known-form.ts";
import { pageFields } from "../../../core/resource/page.ts";
import { ParleyError } from "../../../errors.ts";
import { repeated } from "../../protocol/bodies.ts";
import { expectedVersions } from "../../protocol/conditions.ts";
import { receiveForm } from "../../protocol/forms.ts";
import { type Operation, operation, queryOf } from "../../protocol/operation.ts";
import { sendPage } from "../../protocol/pages.ts";

const uploadFields = { ...targetFields, ...stripFields };

const id = { name: "attachment_id", kind: "att", unknown: "attachment_not_found" } as const;

/** Declares the operations of attachments, except resumable uploads. */
export const attachmentOperations: readonly Operation[] = [
  operation({
    name: "listAttachments",
    method: "GET",
    path: "/v1/attachments",
    scope: "attachments:read",
    summary: "List attachments",
    query: { ...pageFields("att"), ...attachmentFilters, ...attachmentAdditions },
    answer: { status: 200, page: attachmentResource },
    errors: ["conversation_not_found"],
    handle: (call) =>
      sendPage(call, async (page, turns) => {
        if (page.conversation_id !== undefined) checkConversation(page.conversation_id);
        return listAttachments(call.core, call.caller, page, turns);
      }),
  }),
  operation({
    name: "retrieveAttachment",
    method: "GET",
    path: "/v1/attachments/:id",
    id,
    scope: "attachments:read",
    summary: "Retrieve an attachment",
    query: attachmentAdditions,
    answer: { status: 200, resource: attachmentResource, versioned: true },
    errors: ["attachment_not_found", "precondition_failed"],
    handle: ({ core, caller, id, query }) => getAttachment(core, caller, id, query),
  }),
  operation({
    name: "updateAttachment",
    method: "PUT",
    path: "/v1/attachments/:id",
    id,
    scope: "attachments:write",
    readScope: "attachments:read",
    summary: "Rename an attachment",
    body: { filename: optional(filename) },
    answer: { status: 200, resource: attachmentResource, versioned: true },
    errors: ["attachment_not_found", "not_uploader", "precondition_failed"],
    handle: ({ core, caller, id, body, request }) =>
      updateAttachment(core, caller, id, body.filename, expectedVersions(request)),
  }),
  operation({
    name: "deleteAttachment",
    method: "DELETE",
    path: "/v1/attachments/:id",
    id,
    scope: "attachments:write",
    orAdmin: true,
    summary: "Delete an attachment and its file",
    answer: { status: 204 },
    errors: ["attachment_not_found", "not_uploader", "precondition_failed"],
    handle: ({ core, caller, id, request }) => deleteAttachment(core, caller, id, expectedVersions(request)),
  }),
];

export const uploadOperation: Operation = operation({
  name: "createAttachment",
  method: "POST",
  path: "/v1/attachments",
  scope: "attachments:write",
  summary: "Upload a file",
  query: uploadFields,
  body: "file",
  answer: { status: 201, resource: attachmentResource, versioned: true },
  errors: [
    "metadata_not_removable",
    "digest_mismatch",
    "conversation_not_found",
    "message_not_found",
    "request_timeout",
    "count_limit_reached",
    "file_too_large",
    "file_type_refused",
    "file_infected",
    "daily_limit_reached",
    "quota_exceeded",
    "disk_full",
  ],
  async handle({ core, caller, query, key, request, limits }) {
    await using uploads = await beginAttachment(core, caller, key, targetOf(query));
    const upload = uploads.add();
    const form = await receiveForm(request, upload, Object.keys(uploadFields), limits, query.strip_metadata);
    // A field may be in the query or in the form, but not in both.
    const fields = new TextFields(queryOf(request) as TextFields);
    for (const [name, value] of form) {
      if (fields.has(name)) throw repeated(name);
      fields.set(name, value);
    }
    return await createAttachment(core, caller, uploads, targetOf(readFields(uploadFields, fields)));
  },
});

export function targetOf({ conversation_id, message_id }: Parsed<typeof targetFields>): Target {
  if (conversation_id !== undefined) checkConversation(conversation_id);
  if (message_id === undefined) return { conversationId: conversation_id };
  if (conversation_id !== undefined) {
    throw new ParleyError(
      "invalid_parameter",
      "Send conversation_id or message_id, not both: a message belongs to one conversation.",
      { param: "message_id" },
    );
  }
  return { messageId: knownForm(message_id, "msg", "message_not_found", "message_id") };
}

function checkConversation(id: string): void {
  knownForm(id, "cnv", "conversation_not_found", "conversation_id");
}
