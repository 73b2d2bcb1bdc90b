import { create as contentDisposition } from "content-disposition";
import type { FastifyReply, FastifyRequest } from "fastify";
import { toContentType } from "../../core/files/charset.ts";
import { findStoreUrl, openFile, type ServedFile } from "../../core/files/downloads.ts";
import { essence } from "../../core/files/media-types.ts";
import type { Core } from "../../core/node/core.ts";
import { PREVIEW_WIDTHS } from "../../core/node/previews.ts";
import { choice, describedField, optional } from "../../core/resource/fields.ts";
import { ParleyError } from "../../errors.ts";
import { errorFields, type Log } from "../../util/log.ts";
import { CHANGED_TAG, matchesStrongly, matchesTag } from "./conditions.ts";
import { formatDigest } from "./digests.ts";
import type { HeaderName } from "./headers.ts";
import { type ByteRange, parseRange } from "./ranges.ts";
import { sendChunks } from "./send-file.ts";
import { addVary } from "./vary.ts";

/** The field that asks for a preview. */
export const previewWidth = optional(
  describedField(
    choice(...PREVIEW_WIDTHS.map(String)),
    "Returns a preview of this many pixels, as WebP. Smaller pictures are not enlarged.",
  ),
);

const HEADERS: readonly HeaderName[] = [
  "ETag",
  "Last-Modified",
  "Accept-Ranges",
  "Repr-Digest",
  "Content-Disposition",
  "Content-Security-Policy",
  "Cross-Origin-Resource-Policy",
];

/** Describes the answers of `serve`. `added`: further headers of the operation. */
export function servedFile(mediaType: string, added: readonly HeaderName[] = []) {
  const content = { [mediaType]: { type: "string", format: "binary" } };
  const headers = [...HEADERS, ...added];
  return {
    status: 200,
    content,
    headers,
    others: {
      206: { description: "A range of the bytes.", content, headers: [...headers, "Content-Range"] },
      304: { description: "The client has this version.", headers },
    },
  } as const;
}

/** The errors of `serve`. */
export const SERVE_ERRORS = ["preview_not_found", "precondition_failed", "range_not_satisfiable"] as const;

interface ServeOptions {
  /** For how many seconds a private cache may keep the answer. "forever": any cache may, because the bytes never change. */
  maxAge: number | "forever";
  /** Makes a browser save the file instead of showing it. */
  download: boolean;
  /** Of the preview that is served instead of the file. */
  width: string | undefined;
}

/**
 * Answers with a file or a preview of it. Throws `preview_not_found`, `precondition_failed`, and what reading the file throws. May
 * return chunks, which the caller sends by `sendRest`.
 */
export async function serve(
  core: Core,
  request: FastifyRequest,
  reply: FastifyReply,
  row: ServedFile,
  options: ServeOptions,
): Promise<AsyncIterable<Uint8Array> | undefined> {
  const { maxAge, download, width } = options;
  if (width !== undefined) return servePreview(core, request, reply, row, options);
  const { etag, modified, unchanged } = validate(request, row, "");
  const range = unchanged ? undefined : rangeOf(request, row.file_size, etag, modified);
  const { start, end } = range ?? { start: 0, end: row.file_size - 1 };
  const wanted = !unchanged && request.method === "GET" && end >= start;
  const safety = safetyHeaders(row, download);
  if (
    wanted &&
    // A redirect expires.
    maxAge !== "forever" &&
    !isShownHere(request) &&
    (await redirect(core, reply, row, safety["content-disposition"], maxAge))
  )
    return undefined;
  const headers = {
    etag,
    "last-modified": modified.toUTCString(),
    "accept-ranges": "bytes",
    "repr-digest": formatDigest(row.sha256),
    "cache-control": cacheControl(maxAge),
    ...safety,
  };
  // Open the file before setting headers: if that fails, the error must not have the headers of the file.
  const bytes = wanted ? await openFile(core, row, start, end) : undefined;
  reply.headers(headers);
  if (unchanged) {
    reply.code(304).send();
    return undefined;
  }
  if (range) reply.code(206).header("content-range", `bytes ${start}-${end}/${row.file_size}`);
  reply.header("content-type", toContentType(row.file_type)).header("content-length", end - start + 1);
  if (bytes && !(bytes instanceof Uint8Array)) return bytes;
  reply.send(bytes);
  return undefined;
}

async function servePreview(
  core: Core,
  request: FastifyRequest,
  reply: FastifyReply,
  row: ServedFile,
  { maxAge, download, width }: ServeOptions,
): Promise<undefined> {
  const { etag, modified, unchanged } = validate(request, row, `-${width}`);
  const preview = unchanged ? null : await core.previews?.get(row, Number(width));
  if (!unchanged && !preview) throw new ParleyError("preview_not_found");
  const filename = `${row.filename.replace(/\.[^.]*$/, "")}.webp`;
  reply.headers({
    etag,
    "last-modified": modified.toUTCString(),
    "cache-control": cacheControl(maxAge),
    ...safetyHeaders({ ...row, filename, file_type: PREVIEW_TYPE }, download),
  });
  if (unchanged) reply.code(304).send();
  else reply.header("content-type", PREVIEW_TYPE).send(preview);
}

const PREVIEW_TYPE = "image/webp";

/** Sends the chunks of an answer that has begun, if it has any. Missing or damaged bytes can only be logged. */
export async function sendRest(
  { log, request, reply }: { log: Log; request: FastifyRequest; reply: FastifyReply },
  chunks: AsyncIterable<Uint8Array> | undefined,
): Promise<FastifyReply> {
  if (!chunks) return reply;
  await sendChunks(reply, chunks).catch((error) =>
    log.error({ request_id: request.id, ...errorFields(error) }, "a download was cut"),
  );
  return reply;
}

/** Returns the validators, and whether the client has this version. Throws `precondition_failed`. */
function validate(request: FastifyRequest, row: ServedFile, suffix: string) {
  const etag = `"${Buffer.from(row.sha256).toString("base64url")}${suffix}"`;
  const modified = new Date(row.created_at - (row.created_at % 1000));
  refuseChanged(request, etag, modified);
  return { etag, modified, unchanged: isUnchanged(request, etag, modified) };
}

function cacheControl(maxAge: ServeOptions["maxAge"]): string {
  if (maxAge === "forever") return "public, max-age=31536000, immutable";
  return maxAge > 0 ? `private, max-age=${maxAge}` : "private, no-cache";
}

/**
 * Reports whether the browser loads the file into a page of this server: the console, whose policy forbids content from
 * the store, even after a redirect.
 */
function isShownHere({ headers }: FastifyRequest): boolean {
  return headers["sec-fetch-site"] === "same-origin" && headers["sec-fetch-mode"] !== "navigate";
}

/** How long the URL of a redirect is valid. */
const ADDRESS_SECONDS = 300;

/**
 * Redirects the client to the store. Returns false if redirects are off. The answer has no entity tag: a client that
 * cached it could get 304 and follow a URL that has expired.
 */
async function redirect(
  core: Core,
  reply: FastifyReply,
  row: ServedFile,
  disposition: string,
  maxAge: number,
): Promise<boolean> {
  const seconds = maxAge > 0 ? Math.min(maxAge, ADDRESS_SECONDS) : ADDRESS_SECONDS;
  const address = await findStoreUrl(core, row, { type: toContentType(row.file_type), disposition, seconds });
  if (address === undefined) return false;
  // Cache for half the time, so that a client that follows a cached redirect still has time to start.
  const kept = maxAge > 0 ? `private, max-age=${Math.floor(seconds / 2)}` : "private, no-store";
  addVary(reply, "Sec-Fetch-Site", "Sec-Fetch-Mode");
  reply.headers({ "cache-control": kept, ...scanMark(row) }).redirect(address, 302);
  return true;
}

// Types that browsers show without running anything.
const INLINE =
  /^(?:image\/(?:png|jpeg|gif|webp|avif|apng|bmp|x-icon)|audio\/.+|video\/.+|text\/plain|application\/pdf)$/;

/** The strictest policies with which browsers still show each type in a tab. Scripts never run. */
const POLICIES: readonly (readonly [type: RegExp, policy: string])[] = [
  // PDF viewers of browsers refuse to work in a sandbox.
  [/^application\/pdf$/, "default-src 'none'"],
  // The player requests the file again, and from an opaque origin that would be a cross-origin request.
  [/^(?:audio|video)\//, "default-src 'none'; media-src 'self'; sandbox allow-same-origin"],
  // Chromium styles the page of an image. Without that, dark lines on a transparent background are invisible.
  [/^image\//, "default-src 'none'; style-src 'unsafe-inline'; sandbox"],
  [/^/, "default-src 'none'; sandbox"],
];

/** Returns headers that keep a browser from running the file, guessing its type, or letting it act for this origin. */
function safetyHeaders(row: ServedFile, download: boolean) {
  const fileType = essence(row.file_type);
  const inline = !download && INLINE.test(fileType);
  return {
    "content-disposition": contentDisposition(row.filename, { type: inline ? "inline" : "attachment" }),
    "content-security-policy": POLICIES.find(([type]) => type.test(fileType))![1],
    // Pages of other origins may show these files. The signature in the link protects them.
    "cross-origin-resource-policy": "cross-origin",
    ...scanMark(row),
  };
}

/** Returns a header that marks a file that should have been scanned for viruses and was not. */
function scanMark({ unscanned }: ServedFile) {
  return unscanned === 1 ? { "parley-unscanned": "true" } : {};
}

/** Checks `If-Match` and `If-Unmodified-Since` (RFC 9110, sections 13.1.1 and 13.1.4). Throws `precondition_failed`. */
function refuseChanged(request: FastifyRequest, etag: string, modified: Date): void {
  const { "if-match": tags, "if-unmodified-since": since } = request.headers;
  const holds =
    tags === undefined ? !(Date.parse(since ?? "") < modified.getTime()) : matchesStrongly(tags, etag);
  if (holds) return;
  // A proxy that compresses has made the tag weak.
  const isWeak = tags !== undefined && matchesTag(tags, etag);
  throw new ParleyError("precondition_failed", isWeak ? CHANGED_TAG : undefined);
}

/** Reports whether the client has the file (RFC 9110, sections 13.1.2 and 13.1.3). The date counts only without If-None-Match. */
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
  // `If-Range` is an entity tag or a date that must match exactly (RFC 9110, section 13.1.5).
  const holds =
    condition === undefined || condition === etag || Date.parse(String(condition)) === modified.getTime();
  const range = holds ? parseRange(header, size) : undefined;
  if (range !== "unsatisfiable") return range;
  throw new ParleyError("range_not_satisfiable", `The file has ${size} bytes.`, { header: String(size) });
}
