import { isUtf8 } from "node:buffer";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Limits } from "../../config/limits.ts";
import { targetFields } from "../../core/files/attachments.ts";
import type { Checksum, UploadRow } from "../../core/files/upload-resumable.ts";
import {
  anyText,
  filename,
  optional,
  type Parsed,
  readFields,
  TextFields,
} from "../../core/resource/fields.ts";
import { ParleyError } from "../../errors.ts";
import { addField, mediaType, NO_LISTS } from "./bodies.ts";
import { BodyReader, hasBody } from "./body-reader.ts";
import { parseDigest } from "./digests.ts";
import { queryOf } from "./operation.ts";

// Two protocols for one resource: tus 1.0, and the IETF draft (draft-ietf-httpbis-resumable-upload). Its versions are named by
// their interop version; these are the ones that devices use.

export const TUS_VERSION = "1.0.0";
const TUS_TYPE = "application/offset+octet-stream";
const DRAFT_TYPE = "application/partial-upload";
/** The media types of the first part of a file. In the draft this is the type of the file. */
export const FIRST_TYPES = [TUS_TYPE, "*/*"];
/** The media types of each further part. */
export const PART_TYPES = [TUS_TYPE, DRAFT_TYPE];

const INTEROP_VERSIONS = [3, 5, 6, 8];
const NEWEST_INTEROP_VERSION = 8;
/** The last version with `Upload-Incomplete`; later ones have `Upload-Complete`. */
const LAST_INCOMPLETE = 3;
/** The first version in which parts have a special media type, and an append answers 204. */
const FIRST_TYPED = 6;

/** The protocol that the headers of a request select. */
export type Dialect = { tus: true } | { tus: false; version: number; isNamed: boolean };

/**
 * Returns the protocol of the request, and sets its header in the answer, even if that is an error. Throws
 * `unsupported_upload_protocol` or `invalid_parameter` for an unsupported version.
 */
export function agreeOnDialect(request: FastifyRequest, reply: FastifyReply): Dialect {
  const dialect = readDialect(request);
  if (dialect.tus) reply.header("tus-resumable", TUS_VERSION);
  else if (dialect.isNamed) reply.header("upload-draft-interop-version", dialect.version);
  return dialect;
}

function readDialect(request: FastifyRequest): Dialect {
  const tus = headerOf(request, "Tus-Resumable");
  if (tus === TUS_VERSION) return { tus: true };
  if (tus !== undefined) {
    throw new ParleyError("unsupported_upload_protocol", undefined, { header: TUS_VERSION });
  }
  const named = headerOf(request, "Upload-Draft-Interop-Version");
  if (named === undefined) return { tus: false, version: NEWEST_INTEROP_VERSION, isNamed: false };
  const version = INTEROP_VERSIONS.find((each) => String(each) === named);
  if (version === undefined) {
    const detail = `Upload-Draft-Interop-Version must be one of ${INTEROP_VERSIONS.join(", ")}.`;
    throw new ParleyError("invalid_parameter", detail, { param: "Upload-Draft-Interop-Version" });
  }
  return { tus: false, version, isNamed: true };
}

function headerOf({ headers }: FastifyRequest, name: string): string | undefined {
  return headers[name.toLowerCase()] as string | undefined;
}

function invalid(name: string, accepts: string): ParleyError {
  return new ParleyError("invalid_parameter", `${name} must be ${accepts}.`, { param: name });
}

const BYTES = /^(?:0|[1-9][0-9]{0,15})$/;

/** Reads a header whose value is a number of bytes. */
function readBytes(request: FastifyRequest, name: string): number | undefined {
  const text = headerOf(request, name);
  if (text === undefined) return undefined;
  const bytes = Number(text);
  if (!BYTES.test(text) || !Number.isSafeInteger(bytes))
    throw invalid(name, `a number of bytes, at most ${Number.MAX_SAFE_INTEGER}`);
  return bytes;
}

function required<T>(value: T | undefined, name: string): T {
  if (value !== undefined) return value;
  throw new ParleyError("missing_parameter", `The header ${name} is required.`, { param: name });
}

/** Reports whether the file ends with this body. In tus, the file's length decides that. */
function readIsLast(request: FastifyRequest, dialect: Dialect): boolean {
  if (dialect.tus) return false;
  const isInverse = dialect.version <= LAST_INCOMPLETE;
  const name = isInverse ? "Upload-Incomplete" : "Upload-Complete";
  const text = headerOf(request, name);
  if (text === undefined) {
    throw new ParleyError(
      "missing_parameter",
      `The header ${name} is required, or Tus-Resumable: ${TUS_VERSION}.`,
      { param: name },
    );
  }
  if (text !== "?0" && text !== "?1") throw invalid(name, "?0 or ?1");
  return (text === "?1") !== isInverse;
}

/** Fields of a new upload, in the query or, in tus, in Upload-Metadata. */
export const uploadFields = { filename: optional(filename), ...targetFields };
const allFields = { filename, filetype: optional(anyText), ...targetFields };

/** A request that starts an upload. */
export interface Creation {
  fields: Parsed<typeof allFields>;
  length: number | undefined;
  isLast: boolean;
  hasBody: boolean;
}

export function readCreation(request: FastifyRequest, dialect: Dialect): Creation {
  const fields = new TextFields(queryOf(request) as TextFields);
  const body = hasBody(request.raw);
  let length = readBytes(request, "Upload-Length");
  const isLast = readIsLast(request, dialect);
  if (dialect.tus) {
    readMetadata(request, fields);
    if (headerOf(request, "Upload-Concat") !== undefined) throw invalid("Upload-Concat", "absent");
    const deferred = headerOf(request, "Upload-Defer-Length");
    if (deferred !== undefined && deferred !== "1") throw invalid("Upload-Defer-Length", "1");
    if ((deferred === undefined) === (length === undefined)) {
      const detail = "Send either Upload-Length or Upload-Defer-Length: 1.";
      throw new ParleyError("invalid_parameter", detail, { param: "Upload-Length" });
    }
    if (body) requireType(request, TUS_TYPE);
  } else {
    const type = headerOf(request, "Content-Type");
    if (type !== undefined) fields.set("filetype", type);
    const bytes = announcedBytes(request);
    if (isLast && bytes !== undefined) {
      if (length !== undefined && length !== bytes) throw new ParleyError("upload_length_mismatch");
      length = bytes;
    }
  }
  if (length !== undefined && (announcedBytes(request) ?? 0) > length)
    throw new ParleyError("upload_length_mismatch");
  const name = fields.get("filename");
  // Some clients send a path: keep its last segment.
  if (typeof name === "string") fields.set("filename", name.replace(/^.*[/\\]/s, ""));
  return { fields: readFields(allFields, fields), length, isLast, hasBody: body };
}

/** A name and its text in base64. */
const PAIR = /^([^ ,]+)(?: ([A-Za-z0-9+/]*={0,2}))?$/;

function readMetadata(request: FastifyRequest, fields: TextFields): void {
  const header = headerOf(request, "Upload-Metadata") ?? "";
  if (header.trim() === "") return;
  for (const pair of header.split(",")) {
    const [, name, value = ""] = PAIR.exec(pair.trim()) ?? [];
    if (name === undefined)
      throw invalid("Upload-Metadata", "names and values in base64, as tus writes them");
    const text = Buffer.from(value, "base64");
    if (!isUtf8(text)) throw invalid("Upload-Metadata", "texts in UTF-8, each in base64");
    addField(fields, name, text.toString(), NO_LISTS);
  }
}

function requireType(request: FastifyRequest, type: string): void {
  const found = mediaType(headerOf(request, "Content-Type"));
  if (found === type) return;
  if (found === TUS_TYPE) {
    const detail = `With this Content-Type the header Tus-Resumable: ${TUS_VERSION} is required.`;
    throw new ParleyError("missing_parameter", detail, { param: "Tus-Resumable" });
  }
  throw new ParleyError("unsupported_media_type", `Send the body as ${type}.`);
}

/** Returns the length of the body; undefined if it is not known. */
export function announcedBytes({ raw }: FastifyRequest): number | undefined {
  if (raw.headers["transfer-encoding"] !== undefined) return undefined;
  return Number(raw.headers["content-length"] ?? 0);
}

/** A request that continues an upload. */
export interface Continuation {
  offset: number;
  length: number | undefined;
  isLast: boolean;
}

export function readContinuation(request: FastifyRequest, dialect: Dialect): Continuation {
  if (dialect.tus) requireType(request, TUS_TYPE);
  else if (dialect.version >= FIRST_TYPED) requireType(request, DRAFT_TYPE);
  const isLast = readIsLast(request, dialect);
  const offset = required(readBytes(request, "Upload-Offset"), "Upload-Offset");
  return { offset, length: readBytes(request, "Upload-Length"), isLast };
}

/** Maps the names in tus to hash functions. Its CRC-32 is left out: no client sends it. */
const ALGORITHMS = new Map([
  ["sha1", { name: "sha1", bytes: 20 }],
  ["sha256", { name: "sha256", bytes: 32 }],
]);

/** Reads the checksum of the body: `Upload-Checksum` of tus, or `Content-Digest` (RFC 9530). */
export function readChecksum(request: FastifyRequest): Checksum | undefined {
  const tus = headerOf(request, "Upload-Checksum");
  if (tus !== undefined) {
    const [algorithm = "", value = ""] = tus.split(" ");
    const known = ALGORITHMS.get(algorithm);
    const expected = Buffer.from(value, "base64");
    if (!known || expected.length !== known.bytes || expected.toString("base64") !== value)
      throw invalid(
        "Upload-Checksum",
        `${[...ALGORITHMS.keys()].join(" or ")}, a space and the base64 of it`,
      );
    return { algorithm: known.name, expected, mismatch: "checksum_mismatch" };
  }
  const digest = parseDigest(headerOf(request, "Content-Digest"));
  return digest && { algorithm: "sha256", expected: digest, mismatch: "digest_mismatch" };
}

/** Yields the body. Starts to read when the first chunk is requested. */
export async function* readBytesOf(request: FastifyRequest, limits: Limits): AsyncGenerator<Uint8Array> {
  if (!hasBody(request.raw)) return;
  const body = new BodyReader(request.raw, limits);
  try {
    for (let chunk = await body.next(); chunk !== null; chunk = await body.next()) yield chunk;
  } finally {
    body.stop();
  }
}

/** Sets the headers that every answer about an upload has. */
export function setUploadHeaders(
  reply: FastifyReply,
  dialect: Dialect,
  row: UploadRow,
  limits: Limits,
): void {
  reply.header("upload-offset", row.received).header("upload-limit", limitHeader(limits));
  reply.header("upload-expires", new Date(row.expires_at).toUTCString());
  if (row.attachment_id !== null) reply.header("parley-attachment", row.attachment_id);
  if (dialect.tus) return;
  const isComplete = row.attachment_id !== null;
  if (dialect.version <= LAST_INCOMPLETE) reply.header("upload-incomplete", isComplete ? "?0" : "?1");
  else reply.header("upload-complete", isComplete ? "?1" : "?0");
}

/** Sets the additional headers of the answer to a HEAD or GET. */
export function setLengthHeaders(reply: FastifyReply, dialect: Dialect, row: UploadRow): void {
  if (row.length !== null) reply.header("upload-length", row.length);
  if (!dialect.tus) return;
  if (row.length === null) reply.header("upload-defer-length", 1);
  const metadata = metadataOf(row);
  if (metadata !== "") reply.header("upload-metadata", metadata);
}

function metadataOf(row: UploadRow): string {
  const { filename, declared_type: filetype, conversation_id, message_id } = row;
  return Object.entries({ filename, filetype, conversation_id, message_id })
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name} ${Buffer.from(value!).toString("base64")}`)
    .join(",");
}

const HOUR_SECONDS = 3600;

/** Formats the limits as `Upload-Limit` of the draft. */
function limitHeader({ maxFileBytes, minAppendBytes, uploadHours }: Limits): string {
  return [
    ...(maxFileBytes > 0 ? [`max-size=${maxFileBytes}`] : []),
    ...(minAppendBytes > 0 ? [`min-append-size=${minAppendBytes}`] : []),
    `max-age=${uploadHours * HOUR_SECONDS}`,
  ].join(", ");
}

/** Returns the status of the answer to a part that is not the last. */
export function appendedStatus(dialect: Dialect): 201 | 204 {
  return dialect.tus || dialect.version >= FIRST_TYPED ? 204 : 201;
}

/** Returns the headers of the answer to OPTIONS, from which tus clients learn what the server supports. */
export function discoveryHeaders(limits: Limits): Record<string, string> {
  return {
    "tus-resumable": TUS_VERSION,
    "tus-version": TUS_VERSION,
    "tus-extension": "creation,creation-with-upload,creation-defer-length,checksum,expiration,termination",
    "tus-checksum-algorithm": [...ALGORITHMS.keys()].join(","),
    ...(limits.maxFileBytes > 0 ? { "tus-max-size": String(limits.maxFileBytes) } : {}),
    "upload-limit": limitHeader(limits),
  };
}
