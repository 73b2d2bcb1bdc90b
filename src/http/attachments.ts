import {
  checkTarget,
  createAttachment,
  deleteAttachment,
  getAttachment,
  listAttachments,
  type Target,
  updateAttachment,
} from "../core/attachments.ts";
import {
  type Fields,
  filename,
  optional,
  type Parsed,
  pageFields,
  readFields,
  reference,
  toPageRequest,
} from "../core/fields.ts";
import { isReplay } from "../core/idempotency.ts";
import { idOf } from "../core/resource.ts";
import { discardFile } from "../core/uploads.ts";
import { ParleyError } from "../errors.ts";
import { repeated } from "./bodies.ts";
import { expectedVersions, sendVersioned } from "./conditions.ts";
import { knownForm, type Operation, operation, queryOf } from "./operation.ts";
import { sendPage } from "./pages.ts";
import { receiveForm, type UploadLimits } from "./uploads.ts";

const id = { kind: "att", unknown: "attachment_not_found" } as const;

/** Source, section 4.2, but for the upload. */
export const attachmentOperations: readonly Operation[] = [
  operation({
    name: "listAttachments",
    method: "GET",
    path: "/v1/attachments",
    scope: "attachments:read",
    summary: "List attachments",
    query: { ...pageFields("att"), conversation_id: optional(reference("cnv")) },
    body: {},
    answer: { status: 200, schema: "AttachmentPage" },
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
    answer: { status: 200, schema: "Attachment" },
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
    summary: "Rename an attachment",
    query: {},
    body: { filename: optional(filename) },
    answer: { status: 200, schema: "Attachment" },
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
    summary: "Delete an attachment and its file",
    query: {},
    body: {},
    answer: { status: 204 },
    errors: ["attachment_not_found", "not_uploader", "precondition_failed"],
    handle: ({ core, caller, id, request }) => deleteAttachment(core, caller, id, expectedVersions(request)),
  }),
];

const targetFields = { conversation_id: optional(reference("cnv")), message_id: optional(reference("msg")) };

/** The upload, for an instance that leaves multipart bodies unread. */
export function uploadOperation(limits: UploadLimits): Operation {
  return operation({
    name: "createAttachment",
    method: "POST",
    path: "/v1/attachments",
    scope: "attachments:write",
    summary: "Upload a file",
    query: targetFields,
    body: "file",
    answer: { status: 201, schema: "Attachment" },
    errors: [
      "digest_mismatch",
      "conversation_not_found",
      "message_not_found",
      "request_timeout",
      "file_too_large",
      "quota_exceeded",
      "disk_full",
    ],
    async handle({ core, caller, query, key, request, reply }) {
      // What the first request of the key came to holds, also where its target is gone by now, or its room.
      const replay = await isReplay(core, caller, key);
      const target = targetOf(query);
      if (!replay) await checkTarget(core, caller, target);
      const form = await receiveForm(core, request, Object.keys(targetFields), limits, replay);
      try {
        Object.assign(target, targetOf(readFields(targetFields, merged(queryOf(request), form.fields))));
      } catch (error) {
        await discardFile(core, form.file);
        throw error;
      }
      const created = await createAttachment(core, caller, { ...form, target, key });
      reply.header("location", `${core.origin()}/v1/attachments/${idOf(created.json)}`);
      return sendVersioned(request, reply, created);
    },
  });
}

function targetOf(fields: Parsed<typeof targetFields>): Target {
  const { message_id } = fields;
  const conversationId = knownConversation(fields);
  if (message_id === undefined) return { conversationId };
  if (conversationId !== undefined) {
    throw new ParleyError(
      "invalid_parameter",
      "Give conversation_id or message_id, not both: a message belongs to a conversation.",
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

/** Fields may stand in the query or in the form, each once in all. */
function merged(query: Fields, form: Fields): Fields {
  const all = new Map(query);
  for (const [name, value] of form) {
    if (all.has(name)) throw repeated(name);
    all.set(name, value);
  }
  return all;
}
