import { create as contentDisposition } from "content-disposition";
import {
  archiveFields,
  archiveResource,
  createArchive,
  createConversationArchive,
  openArchive,
  takeArchiveSlot,
} from "../../../core/files/archives.ts";
import { archiveSubject } from "../../../core/node/links.ts";
import { anyText, describedField, optional } from "../../../core/resource/fields.ts";
import { knownForm } from "../../../core/resource/known-form.ts";
import { ParleyError } from "../../../errors.ts";
import { clientAddress } from "../../protocol/client-address.ts";
import { type Operation, operation } from "../../protocol/operation.ts";
import { sendRest } from "../../protocol/serve-file.ts";
import { linkFields, refusedLink } from "../../protocol/signed-links.ts";
import { inTurns } from "../../protocol/turns.ts";

export const archiveOperation: Operation = operation({
  name: "createArchive",
  method: "POST",
  path: "/v1/archives",
  scope: "attachments:read",
  summary: "Create a link to several files as one ZIP archive",
  storesNothing: true,
  body: archiveFields,
  answer: { status: 201, resource: archiveResource },
  errors: ["attachment_not_found", "conversation_not_found", "count_limit_reached"],
  async handle(call) {
    const { core, caller } = call;
    const { attachment_ids: ids, conversation_id: conversation } = call.body;
    if (ids && conversation !== undefined) {
      throw new ParleyError("invalid_parameter", "Send attachment_ids or conversation_id, not both.", {
        param: "conversation_id",
      });
    }
    if (ids) return inTurns(call, (turns) => createArchive(core, caller, ids, turns));
    if (conversation === undefined) {
      throw new ParleyError("missing_parameter", "Send attachment_ids or conversation_id.", {
        param: "attachment_ids",
      });
    }
    knownForm(conversation, "cnv", "conversation_not_found", "conversation_id");
    return inTurns(call, (turns) => createConversationArchive(core, caller, conversation, turns));
  },
});

export const downloadOperation: Operation = operation({
  name: "downloadArchive",
  method: "GET",
  path: "/archives/:filename",
  access: "link",
  summary: "Download an archive by its signed link",
  query: {
    user: optional(describedField(anyText, "The user who created the link.")),
    files: optional(describedField(anyText, "The files of the archive.")),
    ...linkFields,
  },
  answer: {
    status: 200,
    content: { "application/zip": { type: "string", format: "binary" } },
    headers: ["Content-Disposition", "Content-Security-Policy"],
  },
  errors: ["invalid_signature", "attachment_not_found"],
  async handle(call) {
    const { core, request, reply } = call;
    const { user = "", files = "", expires = "", signature = "" } = call.query;
    const { filename } = request.params as { filename: string };
    const subject = archiveSubject({ filename, user, files });
    if (!core.links.verify(subject, expires, signature)) {
      const detail = "Links to archives are signed and expire. Create a new one with POST /v1/archives.";
      throw refusedLink(call, subject, expires, signature, detail);
    }
    using _slot = takeArchiveSlot(core, user);
    const address = clientAddress(request);
    const { size, chunks } = await openArchive(core, user, files, (id) => core.downloadLog.note(id, address));
    reply.headers({
      "content-type": "application/zip",
      "content-length": size,
      "content-disposition": contentDisposition(filename),
      "content-security-policy": "default-src 'none'; sandbox",
      // Its contents change when files are deleted.
      "cache-control": "private, no-store",
    });
    if (request.method === "HEAD") return reply.send();
    return await sendRest(call, chunks);
  },
});
