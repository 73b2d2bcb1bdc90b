import {
  type Fields,
  filename,
  optional,
  type Parsed,
  pageFields,
  readFields,
  reference,
  TextFields,
  toPageRequest,
} from "../../core/fields.ts";
import {
  attachmentResource,
  createAttachment,
  deleteAttachment,
  getAttachment,
  listAttachments,
  type Target,
  updateAttachment,
} from "../../core/files/attachments.ts";
import { idOf } from "../../core/resource.ts";
import { ParleyError } from "../../errors.ts";
import { repeated } from "../protocol/bodies.ts";
import { expectedVersions, sendVersioned } from "../protocol/conditions.ts";
import { knownForm, type Operation, operation, queryOf } from "../protocol/operation.ts";
import { sendPage } from "../protocol/pages.ts";
import { receiveForm } from "../protocol/uploads.ts";

const id = { name: "attachment_id", kind: "att", unknown: "attachment_not_found" } as const;

/** Source, section 4.2, except the upload. */
export const attachmentOperations: readonly Operation[] = [
  operation({
    name: "listAttachments",
    method: "GET",
    path: "/v1/attachments",
    scope: "attachments:read",
    summary: "List attachments",
    query: { ...pageFields("att"), conversation_id: optional(reference("cnv")) },
    body: {},
    answer: { status: 200, page: attachmentResource },
    errors: ["conversation_not_found"],
    async handle({ core, caller, query, request, reply }) {
      const page = toPageRequest(query);
      page.conversation_id = knownConversation(page);
      return sendPage(core, request, reply, page, await listAttachments(core, caller, page));
    },
  }),
  operation({
    name: "retrieveAttachment",
    method: "GET",
    path: "/v1/attachments/:id",
    id,
    scope: "attachments:read",
    summary: "Retrieve an attachment",
    query: {},
    body: {},
    answer: { status: 200, resource: attachmentResource, versioned: true },
    errors: ["attachment_not_found", "precondition_failed"],
    handle: async ({ core, caller, id, request, reply }) =>
      sendVersioned(request, reply, await getAttachment(core, caller, id)),
  }),
  operation({
    name: "updateAttachment",
    method: "PUT",
    path: "/v1/attachments/:id",
    id,
    scope: "attachments:write",
    readScope: "attachments:read",
    summary: "Rename an attachment",
    query: {},
    body: { filename: optional(filename) },
    answer: { status: 200, resource: attachmentResource, versioned: true },
    errors: ["attachment_not_found", "not_uploader", "precondition_failed"],
    async handle({ core, caller, id, body, request, reply }) {
      const expected = expectedVersions(request);
      return sendVersioned(request, reply, await updateAttachment(core, caller, id, body.filename, expected));
    },
  }),
  operation({
    name: "deleteAttachment",
    method: "DELETE",
    path: "/v1/attachments/:id",
    id,
    scope: "attachments:write",
    orAdmin: true,
    summary: "Delete an attachment and its file",
    query: {},
    body: {},
    answer: { status: 204 },
    errors: ["attachment_not_found", "not_uploader", "precondition_failed"],
    handle: ({ core, caller, id, request }) => deleteAttachment(core, caller, id, expectedVersions(request)),
  }),
];

const targetFields = { conversation_id: optional(reference("cnv")), message_id: optional(reference("msg")) };

export const uploadOperation: Operation = operation({
  name: "createAttachment",
  method: "POST",
  path: "/v1/attachments",
  scope: "attachments:write",
  summary: "Upload a file",
  query: targetFields,
  body: "file",
  answer: { status: 201, resource: attachmentResource, versioned: true },
  errors: [
    "digest_mismatch",
    "conversation_not_found",
    "message_not_found",
    "request_timeout",
    "count_limit_reached",
    "file_too_large",
    "quota_exceeded",
    "disk_full",
  ],
  async handle({ core, caller, query, key, request, reply, limits }) {
    const created = await createAttachment(core, caller, key, targetOf(query), async (upload) => {
      const form = await receiveForm(request, upload, Object.keys(targetFields), limits);
      return { ...form, target: targetOf(readFields(targetFields, merged(queryOf(request), form.fields))) };
    });
    reply.header("location", `${core.origin()}/v1/attachments/${idOf(created.json)}`);
    return sendVersioned(request, reply, created);
  },
});

function targetOf(fields: Parsed<typeof targetFields>): Target {
  const { message_id } = fields;
  const conversationId = knownConversation(fields);
  if (message_id === undefined) return { conversationId };
  if (conversationId !== undefined) {
    throw new ParleyError(
      "invalid_parameter",
      "Send conversation_id or message_id, not both: a message belongs to one conversation.",
      { param: "message_id" },
    );
  }
  return { messageId: knownForm(message_id, "msg", "message_not_found", "message_id") };
}

function knownConversation(fields: { conversation_id?: string | undefined }): string | undefined {
  const { conversation_id } = fields;
  if (conversation_id === undefined) return undefined;
  return knownForm(conversation_id, "cnv", "conversation_not_found", "conversation_id");
}

/** Fields may be in the query or in the form, each only once. */
function merged(query: Fields, form: TextFields): Fields {
  const all = new TextFields(query as TextFields);
  for (const [name, value] of form) {
    if (all.has(name)) throw repeated(name);
    all.set(name, value);
  }
  return all;
}
