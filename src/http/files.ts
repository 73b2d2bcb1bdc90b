import { create as contentDisposition } from "content-disposition";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type FileRow, getAttachmentRow, getLinkedAttachmentRow } from "../core/attachments.ts";
import type { Core } from "../core/core.ts";
import { fileAddress, openFile } from "../core/downloads.ts";
import { anyText, flag, optional, type Parsed, readFields } from "../core/fields.ts";
import { ParleyError } from "../errors.ts";
import { errorFields } from "../util/log.ts";
import { authenticate, requireScope } from "./authentication.ts";
import { clientAddress } from "./client-address.ts";
import { matchesStrongly, matchesTag } from "./conditions.ts";
import type { HttpContext } from "./context.ts";
import { formatDigest } from "./digests.ts";
import { knownForm, queryOf } from "./operation.ts";
import { type ByteRange, parseRange } from "./ranges.ts";
import { sendChunks } from "./send-file.ts";

const query = { expires: optional(anyText), signature: optional(anyText), download: optional(flag) };
type Query = Parsed<typeof query>;

/** The bytes of attachments, by signed link or by a member's token. */
export function fileRoutes(app: FastifyInstance, context: HttpContext): void {
  const { core, log } = context;
  app.route({
    method: ["GET", "HEAD"],
    url: "/files/:id/:filename",
    exposeHeadRoute: false,
    // It does its own: a signature may stand for a token.
    config: { public: true },
    handler: async (request, reply) => {
      const fields = readFields(query, queryOf(request));
      const { row, maxAge, byLink } = await permitted(context, request, reply, fields);
      if ((request.params as { filename: string }).filename !== row.filename) {
        const search = request.raw.url!.indexOf("?");
        const kept = search === -1 ? "" : request.raw.url!.slice(search);
        reply.header("cache-control", "no-store");
        return reply.redirect(core.links.fileAddress(row.id, row.filename) + kept, 308);
      }
      const chunks = await serve(core, request, reply, row, { maxAge, download: fields.download === true });
      if (byLink && request.method === "GET" && reply.statusCode !== 304)
        core.downloadLog.note(row.id, clientAddress(request));
      if (!chunks) return reply;
      // The answer has begun: that the file is damaged can only be told to the operator.
      await sendChunks(reply, chunks).catch((error) =>
        log.error({ request_id: request.id, ...errorFields(error) }, "a download was cut"),
      );
      return reply;
    },
  });
}

/** The attachment, if the link or the token allows it, by which of them, and for how many seconds a private cache may keep it. */
async function permitted(
  context: HttpContext,
  request: FastifyRequest,
  reply: FastifyReply,
  fields: Query,
): Promise<{ row: FileRow; maxAge: number; byLink: boolean }> {
  const { core, rates } = context;
  const { expires = "", signature = "" } = fields;
  const id = (request.params as { id: string }).id;
  if (core.links.verify(id, expires, signature)) {
    const row = await getLinkedAttachmentRow(core, id);
    return { row, maxAge: core.links.secondsLeft(expires), byLink: true };
  }
  if (request.headers.authorization === undefined) {
    // Without a signature nothing is tried, and a link that has ended was given by us.
    if (signature !== "" && !core.links.isGenuine(id, expires, signature)) {
      rates.refuseGuess(request, reply);
      rates.countFailure(request);
    }
    throw new ParleyError("invalid_signature");
  }
  const caller = await authenticate(context, request, reply);
  requireScope(caller, "attachments:read");
  return {
    row: await getAttachmentRow(core, caller, knownForm(id, "att", "attachment_not_found")),
    maxAge: 0,
    byLink: false,
  };
}

/** Answers, but for the chunks that it returns, which are still to be sent. */
async function serve(
  core: Core,
  request: FastifyRequest,
  reply: FastifyReply,
  row: FileRow,
  options: { maxAge: number; download: boolean },
): Promise<AsyncIterable<Uint8Array> | undefined> {
  const etag = `"${Buffer.from(row.sha256).toString("base64url")}"`;
  const modified = new Date(row.created_at - (row.created_at % 1000));
  refuseChanged(request, etag, modified);
  const unchanged = isUnchanged(request, etag, modified);
  const range = unchanged ? undefined : rangeOf(request, row.file_size, etag, modified);
  const { start, end } = range ?? { start: 0, end: row.file_size - 1 };
  const wanted = !unchanged && request.method === "GET" && end >= start;
  const safety = safetyHeaders(row, options.download);
  if (
    wanted &&
    !isShownHere(request) &&
    (await redirect(core, reply, row, safety["content-disposition"], options.maxAge))
  )
    return undefined;
  const headers = {
    etag,
    "last-modified": modified.toUTCString(),
    "accept-ranges": "bytes",
    "repr-digest": formatDigest(row.sha256),
    "cache-control": options.maxAge > 0 ? `private, max-age=${options.maxAge}` : "private, no-cache",
    ...safety,
  };
  // Opened before any header is set: where that fails, the error must not carry those of the file.
  const bytes = wanted ? await openFile(core, row, start, end) : undefined;
  reply.headers(headers);
  if (unchanged) {
    reply.code(304).send();
    return undefined;
  }
  if (range) reply.code(206).header("content-range", `bytes ${start}-${end}/${row.file_size}`);
  reply.header("content-type", servedType(row.file_type)).header("content-length", end - start + 1);
  if (bytes && !(bytes instanceof Uint8Array)) return bytes;
  reply.send(bytes);
  return undefined;
}

/**
 * Whether a page of this server shows the file, as a browser tells: the console, whose policy lets in nothing from the
 * store, however it comes there.
 */
function isShownHere({ headers }: FastifyRequest): boolean {
  return headers["sec-fetch-site"] === "same-origin" && headers["sec-fetch-mode"] !== "navigate";
}

/** How long an address that a client is sent to is valid. */
const ADDRESS_SECONDS = 300;

/**
 * Sends the client to the store, where it may fetch the file itself; false where it may not. The answer has no entity
 * tag: whoever kept it would be told that it is still right, and go to an address that has expired.
 */
async function redirect(
  core: Core,
  reply: FastifyReply,
  row: FileRow,
  disposition: string,
  maxAge: number,
): Promise<boolean> {
  const seconds = maxAge > 0 ? Math.min(maxAge, ADDRESS_SECONDS) : ADDRESS_SECONDS;
  const address = await fileAddress(core, row, { type: servedType(row.file_type), disposition, seconds });
  if (address === undefined) return false;
  // Whoever follows it late must still have time to begin.
  const kept = maxAge > 0 ? `private, max-age=${Math.floor(seconds / 2)}` : "private, no-store";
  // Of answers to other origins the header has been begun.
  const vary = [reply.getHeader("vary"), "Sec-Fetch-Site", "Sec-Fetch-Mode"].filter(Boolean).join(", ");
  reply.headers({ "cache-control": kept, vary }).redirect(address, 302);
  return true;
}

// What a browser may show in place: it runs nothing of these.
const INLINE =
  /^(?:image\/(?:png|jpeg|gif|webp|avif|apng|bmp|x-icon)|audio\/.+|video\/.+|text\/plain|application\/pdf)$/;

/** A file is somebody's bytes: a browser must neither run it, nor guess its type, nor let it act for this origin. */
function safetyHeaders(row: FileRow, download: boolean) {
  const inline = !download && INLINE.test(row.file_type);
  // The PDF viewers of browsers refuse to work in a sandbox.
  const sandbox = row.file_type === "application/pdf" ? "" : "; sandbox";
  return {
    "content-disposition": contentDisposition(row.filename, { type: inline ? "inline" : "attachment" }),
    "x-content-type-options": "nosniff",
    "content-security-policy": `default-src 'none'${sandbox}`,
    // Pages of other origins show these files; the link's signature is what protects them.
    "cross-origin-resource-policy": "cross-origin",
  };
}

function servedType(type: string): string {
  return type.startsWith("text/") ? `${type}; charset=utf-8` : type;
}

/** RFC 9110, sections 13.1.1 and 13.1.4. */
function refuseChanged(request: FastifyRequest, etag: string, modified: Date): void {
  const { "if-match": tags, "if-unmodified-since": since } = request.headers;
  const holds =
    tags === undefined ? !(Date.parse(since ?? "") < modified.getTime()) : matchesStrongly(tags, etag);
  if (!holds) throw new ParleyError("precondition_failed");
}

/** RFC 9110, sections 13.1.2 and 13.1.3: the date counts only where there is no If-None-Match. */
function isUnchanged(request: FastifyRequest, etag: string, modified: Date): boolean {
  const tags = request.headers["if-none-match"];
  if (tags !== undefined) {
    return matchesTag(tags, etag);
  }
  return Date.parse(request.headers["if-modified-since"] ?? "") >= modified.getTime();
}

function rangeOf(request: FastifyRequest, size: number, etag: string, modified: Date): ByteRange | undefined {
  const header = request.headers.range;
  if (header === undefined || request.method !== "GET") return undefined;
  const condition = request.headers["if-range"];
  // RFC 9110, section 13.1.5: an entity tag, or a date that matches exactly.
  const holds =
    condition === undefined || condition === etag || Date.parse(String(condition)) === modified.getTime();
  const range = holds ? parseRange(header, size) : undefined;
  if (range !== "unsatisfiable") return range;
  throw new ParleyError("range_not_satisfiable", `The file has ${size} bytes.`, { header: String(size) });
}
