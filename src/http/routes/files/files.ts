import { getAttachmentRow, getLinkedAttachmentRow } from "../../../core/files/attachments.ts";
import type { ServedFile } from "../../../core/files/downloads.ts";
import { fileSubject } from "../../../core/node/links.ts";
import { anyText, describedField, flag, optional, type Shape } from "../../../core/resource/fields.ts";
import { knownForm } from "../../../core/resource/known-form.ts";
import { authenticate, requireScope, tokenOf } from "../../protocol/authentication.ts";
import { clientAddress } from "../../protocol/client-address.ts";
import { type Call, type Operation, operation } from "../../protocol/operation.ts";
import { previewWidth, SERVE_ERRORS, sendRest, serve, servedFile } from "../../protocol/serve-file.ts";
import { linkFields, refusedLink } from "../../protocol/signed-links.ts";

const query = {
  user: optional(describedField(anyText, "The user whose link it is.")),
  ...linkFields,
  download: optional(describedField(flag, "Makes a browser save the file instead of showing it.")),
  width: previewWidth,
};

const served = servedFile("*/*", ["Parley-Unscanned"]);

export const fileOperation: Operation = operation({
  name: "downloadFile",
  method: "GET",
  path: "/files/:id/:filename",
  id: { name: "attachment_id", kind: "att", unknown: "attachment_not_found" },
  access: "link",
  scope: "attachments:read",
  summary: "Download a file by signed link or by token",
  query,
  answer: {
    ...served,
    others: {
      ...served.others,
      302: {
        description: "The bytes are at another address, valid for a few minutes.",
        headers: ["Location", "Parley-Unscanned"],
      },
      308: { description: "The file has a new name.", headers: ["Location"] },
    },
  },
  errors: ["invalid_signature", "attachment_not_found", ...SERVE_ERRORS],
  async handle(call) {
    const { core, request, reply } = call;
    const { row, maxAge, byLink } = await permitted(call);
    if ((request.params as { filename: string }).filename !== row.filename) {
      const kept = request.query === "" ? "" : `?${request.query}`;
      reply.header("cache-control", "no-store");
      return reply.redirect(core.links.fileAddress(row.id, row.filename) + kept, 308);
    }
    const { width, download = false } = call.query;
    const chunks = await serve(core, request, reply, row, { maxAge, download, width });
    if (byLink && request.method === "GET" && reply.statusCode !== 304)
      core.downloadLog.note(row.id, clientAddress(request));
    return sendRest(call, chunks);
  },
});

/**
 * Returns the attachment if the link or token allows it, whether that was the link, and for how many seconds a private cache
 * may keep it.
 */
async function permitted(
  call: Call<typeof query, Shape>,
): Promise<{ row: ServedFile; maxAge: number; byLink: boolean }> {
  const { core, request, reply } = call;
  const { user, expires = "", signature = "" } = call.query;
  const id = (request.params as { id: string }).id;
  // Links of older versions name no user. They are no longer made, and existing ones expire within three hours.
  const subject = user === undefined ? id : fileSubject(id, user);
  if (core.links.verify(subject, expires, signature)) {
    const row = await getLinkedAttachmentRow(core, user, id);
    return { row, maxAge: core.links.secondsLeft(expires), byLink: true };
  }
  if (request.headers.authorization === undefined && tokenOf(core, request) === undefined) {
    throw refusedLink(call, subject, expires, signature);
  }
  const caller = await authenticate(call, request, reply);
  requireScope(caller, "attachments:read");
  return {
    row: await getAttachmentRow(core, caller, knownForm(id, "att", "attachment_not_found")),
    maxAge: 0,
    byLink: false,
  };
}
