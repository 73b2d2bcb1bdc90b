import { Readable } from "node:stream";
import type { FastifyInstance, FastifyReply } from "fastify";
import type { Limits } from "../../../config/limits.ts";
import { attachmentResource } from "../../../core/files/attachment-resource.ts";
import {
  type Appended,
  appendToUpload,
  type Checksum,
  createUpload,
  getUpload,
  inspectUpload,
  listUploads,
  removeUpload,
  toResource,
  uploadResource,
} from "../../../core/files/upload-resumable.ts";
import { pageFields } from "../../../core/resource/page.ts";
import { anyOf, count, described, oneOf, text } from "../../../core/resource/schema.ts";
import { markReplay, sendVersioned } from "../../protocol/conditions.ts";
import type { HttpContext } from "../../protocol/context.ts";
import { type Call, type Operation, operation } from "../../protocol/operation.ts";
import { sendPage } from "../../protocol/pages.ts";
import {
  agreeOnDialect,
  announcedBytes,
  appendedStatus,
  type Continuation,
  type Dialect,
  discoveryHeaders,
  readBytesOf,
  readChecksum,
  readContinuation,
  readCreation,
  setLengthHeaders,
  setUploadHeaders,
  TUS_VERSION,
  uploadFields,
} from "../../protocol/resumable.ts";
import { targetOf } from "./attachments.ts";

const id = { name: "upload_id", kind: "upl", unknown: "upload_not_found" } as const;
const PATH = "/v1/uploads";

const tus = { "Tus-Resumable": described(oneOf(TUS_VERSION), "The request speaks tus.") };
/** The headers of requests with bytes. */
const requestHeaders = {
  ...tus,
  "Upload-Complete": described(
    oneOf("?0", "?1"),
    "`?1` if the file ends with this body. Required without tus.",
  ),
  "Upload-Length": described(count, "The bytes of the whole file."),
  "Upload-Checksum": described(
    text,
    "In tus: `sha1` or `sha256`, a space and the checksum of the body in base64.",
  ),
};

/** Errors of the bytes of a file, and of the commit after the last ones. */
const BYTES_ERRORS = [
  "digest_mismatch",
  "checksum_mismatch",
  "upload_length_mismatch",
  "unsupported_upload_protocol",
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
] as const;

/** Headers of all answers to tus clients, including errors. */
const always = ["Tus-Resumable"] as const;
const answerHeaders = [
  "Parley-Attachment",
  "Upload-Offset",
  "Upload-Complete",
  "Upload-Expires",
  "Upload-Limit",
] as const;
const retrieveHeaders = [
  ...answerHeaders,
  "Upload-Length",
  "Upload-Defer-Length",
  "Upload-Metadata",
] as const;

/** The answer to the last part from a client that does not use tus. */
const others = {
  200: {
    description: "The upload is complete, and its client does not speak tus: the attachment.",
    content: { "application/json": anyOf(attachmentResource) },
    headers: [...answerHeaders, "ETag"],
  },
} as const;

export const uploadOperations: readonly Operation[] = [
  operation({
    name: "listUploads",
    method: "GET",
    path: PATH,
    scope: "attachments:read",
    summary: "List unfinished uploads",
    query: pageFields("upl"),
    answer: { status: 200, page: uploadResource },
    handle: (call) => sendPage(call, (page) => listUploads(call.core, call.caller, page)),
  }),
  operation({
    name: "createUpload",
    method: "POST",
    path: PATH,
    scope: "attachments:write",
    summary: "Start a resumable upload",
    query: uploadFields,
    body: "bytes",
    headers: {
      ...requestHeaders,
      "Upload-Defer-Length": described(oneOf("1"), "In tus, if the length is not known yet."),
      "Upload-Metadata": described(
        text,
        "In tus: the fields, also `filetype`, as names and their texts in base64. Here or in the query, not both.",
      ),
    },
    answer: {
      status: 201,
      resource: uploadResource,
      // The upload can exist although its first bytes were refused.
      always: [...always, "Location"],
      headers: answerHeaders,
      others,
    },
    errors: BYTES_ERRORS,
    handle: create,
  }),
  operation({
    name: "retrieveUpload",
    method: "GET",
    path: `${PATH}/:id`,
    id,
    scope: "attachments:write",
    summary: "Retrieve a resumable upload",
    headers: tus,
    answer: {
      status: 200,
      resource: uploadResource,
      always,
      headers: retrieveHeaders,
      others: {
        204: {
          description: "The answer to HEAD for a client that does not speak tus.",
          headers: retrieveHeaders,
        },
      },
    },
    errors: ["upload_not_found", "unsupported_upload_protocol"],
    async handle({ core, caller, id, limits, request, reply }) {
      const dialect = agreeOnDialect(request, reply);
      const isHead = request.method === "HEAD";
      const row = await (isHead ? inspectUpload(core, caller, id) : getUpload(core, caller, id));
      setUploadHeaders(reply, dialect, row, limits);
      setLengthHeaders(reply, dialect, row);
      if (!isHead) return toResource(row);
      if (dialect.tus) return reply.send();
      // Send a stream: the framework adds Content-Length to other bodies, and a 204 must not have it (RFC 9110, section 8.6).
      return reply.code(204).send(Readable.from([]));
    },
  }),
  operation({
    name: "appendToUpload",
    method: "PATCH",
    path: `${PATH}/:id`,
    id,
    scope: "attachments:write",
    summary: "Continue a resumable upload",
    body: "bytes",
    headers: {
      ...requestHeaders,
      "Upload-Offset": described(
        count,
        "The offset of the body in the file: the bytes that the server has. Required.",
      ),
    },
    answer: { status: 204, always, headers: answerHeaders, others },
    errors: ["upload_not_found", "upload_offset_mismatch", "upload_completed", ...BYTES_ERRORS],
    async handle(call) {
      const dialect = agreeOnDialect(call.request, call.reply);
      const continuation = readContinuation(call.request, dialect);
      const done = await append(call, call.id, continuation, readChecksum(call.request));
      call.reply.code(appendedStatus(dialect));
      return answer(call, dialect, done);
    },
  }),
  operation({
    name: "deleteUpload",
    method: "DELETE",
    path: `${PATH}/:id`,
    id,
    scope: "attachments:write",
    summary: "Delete a resumable upload",
    headers: tus,
    answer: { status: 204, always },
    errors: ["upload_not_found", "unsupported_upload_protocol"],
    async handle({ core, caller, id, request, reply }) {
      agreeOnDialect(request, reply);
      await removeUpload(core, caller, id);
    },
  }),
];

type UploadCall = Call<typeof uploadFields, Record<string, never>>;

async function create(call: UploadCall): Promise<unknown> {
  const { core, caller, key, limits, request, reply } = call;
  const dialect = agreeOnDialect(request, reply);
  const { fields, length, isLast, hasBody } = readCreation(request, dialect);
  const { filename, filetype: declaredType } = fields;
  const checksum = readChecksum(request);
  const upload = { filename, declaredType, target: targetOf(fields), length };
  const { row, replayed } = await createUpload(core, caller, key, upload);
  const location = `${core.origin()}${PATH}/${row.id}`;
  reply.header("location", location);
  if (replayed) {
    markReplay(reply);
    return answer(call, dialect, { row });
  }
  if (hasBody && limits.informsOfUploads && !dialect.tus && dialect.isNamed)
    inform(reply, dialect.version, location);
  // An empty file is complete at once.
  if (!hasBody && !isLast && length !== 0) return answer(call, dialect, { row });
  try {
    const done = await append(call, row.id, { offset: 0, length, isLast }, checksum);
    return answer(call, dialect, done);
  } catch (error) {
    // The upload was deleted if it cannot become the intended file.
    const isKept = await getUpload(core, caller, row.id).then(
      () => true,
      () => false,
    );
    if (!isKept) reply.removeHeader("location");
    throw error;
  }
}

/** Sends the URL of the upload while its first body is still arriving. */
function inform(reply: FastifyReply, version: number, location: string): void {
  reply.raw.writeInformation(104, { Location: location, "Upload-Draft-Interop-Version": String(version) });
}

function append(
  { core, caller, limits, request }: HttpContext & Pick<UploadCall, "caller" | "request">,
  id: string,
  { offset, length, isLast }: Continuation,
  checksum: Checksum | undefined,
): Promise<Appended> {
  return appendToUpload(core, caller, id, {
    offset,
    length,
    isLast,
    announcedBytes: announcedBytes(request),
    checksum,
    bytes: readBytesOf(request, limits),
    end: () => request.raw.destroy(),
  });
}

/**
 * Answers a part. After the last one, clients of the draft get the attachment, as from an upload in one request, and tus clients
 * get its id in a header.
 */
function answer(
  { limits, request, reply }: HttpContext & Pick<UploadCall, "request" | "reply">,
  dialect: Dialect,
  { row, attachment }: Appended,
): unknown {
  setUploadHeaders(reply, dialect, row, limits);
  if (attachment && !dialect.tus) return sendVersioned(request, reply.code(200), attachment);
  return request.method === "POST" ? toResource(row) : reply.send();
}

/** Answers OPTIONS without a token: tus clients ask what the server supports. */
export function uploadDiscovery(app: FastifyInstance, limits: Limits): void {
  const headers = discoveryHeaders(limits);
  app.route({
    method: "OPTIONS",
    url: PATH,
    config: { public: true },
    handler: (_request, reply) => reply.code(204).headers(headers).send(),
  });
}
