import type { FastifyInstance, FastifyRequest } from "fastify";
import {
  checkTarget,
  createAttachment,
  deleteAttachment,
  getAttachment,
  listAttachments,
  type Target,
  updateAttachment,
} from "../core/attachments.ts";
import type { Core } from "../core/core.ts";
import type { Fields } from "../core/fields.ts";
import {
  anyText,
  filename,
  optional,
  type Parsed,
  pageFields,
  readFields,
  toPageRequest,
} from "../core/fields.ts";
import { ParleyError } from "../errors.ts";
import { callerOf } from "./authentication.ts";
import { repeated } from "./bodies.ts";
import { sendPage } from "./pages.ts";
import { bodyOf, knownForm, pathId, queryOf, refuseBody, refuseQuery } from "./params.ts";
import { receiveForm, type UploadLimits } from "./uploads.ts";

const listQuery = { ...pageFields("att"), conversation_id: optional(anyText) };
const targetFields = { conversation_id: optional(anyText), message_id: optional(anyText) };
const updateBody = { filename: optional(filename) };

const read = { config: { scope: "attachments:read" } };
const write = { config: { scope: "attachments:write" } };

/** Source, section 4.2, but for the upload. */
export function attachmentRoutes(app: FastifyInstance, core: Core): void {
  app.get("/v1/attachments", read, async (request, reply) => {
    const page = toPageRequest(readFields(listQuery, queryOf(request)));
    page.conversation_id = knownConversation(page);
    return sendPage(core, request, reply, page, await listAttachments(core, callerOf(request), page));
  });

  app.get("/v1/attachments/:id", read, (request) => {
    refuseQuery(request);
    return getAttachment(core, callerOf(request), attachmentId(request));
  });

  app.put("/v1/attachments/:id", write, (request) => {
    refuseQuery(request);
    const fields = readFields(updateBody, bodyOf(request));
    return updateAttachment(core, callerOf(request), attachmentId(request), fields);
  });

  app.delete("/v1/attachments/:id", write, async (request, reply) => {
    refuseQuery(request);
    refuseBody(request);
    await deleteAttachment(core, callerOf(request), attachmentId(request));
    reply.code(204);
  });
}

/** The upload, for an instance that leaves multipart bodies unread. */
export function uploadRoute(app: FastifyInstance, core: Core, limits: UploadLimits): void {
  app.post("/v1/attachments", write, async (request, reply) => {
    const caller = callerOf(request);
    const query = queryOf(request);
    await checkTarget(core, caller, targetOf(readFields(targetFields, query)));
    const form = await receiveForm(core, request, Object.keys(targetFields), limits);
    let target: Target;
    try {
      target = targetOf(readFields(targetFields, merged(query, form.fields)));
    } catch (error) {
      await form.file.blob.discard();
      throw error;
    }
    const attachment = await createAttachment(core, caller, { ...form, target });
    reply.code(201).header("location", `/v1/attachments/${attachment.id}`);
    return attachment;
  });
}

function attachmentId(request: FastifyRequest): string {
  return pathId(request, "att", "attachment_not_found");
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
