import { createHash } from "node:crypto";
import type { FastifyRequest } from "fastify";
import { fileTooLarge } from "../../core/files/upload.ts";
import type { RequestUploads, UploadOnce } from "../../core/files/upload-once.ts";
import {
  clientId,
  filename,
  type Parsed,
  readField,
  readFields,
  type Shape,
  TextFields,
  unknownField,
} from "../../core/resource/fields.ts";
import { ParleyError } from "../../errors.ts";
import { requireScope } from "./authentication.ts";
import { addField, decodeUtf8, type Lists, listsOf, mediaType, NO_LISTS, repeated } from "./bodies.ts";
import { type BodyPace, BodyReader, hasBody } from "./body-reader.ts";
import { checkDigest, parseDigest } from "./digests.ts";
import { boundaryOf, MultipartReader, type Part } from "./multipart.ts";

interface UploadLimits extends BodyPace {
  /** 0 means no limit. */
  maxFileBytes: number;
  maxPartHeaderBytes: number;
}

interface MessageLimits extends UploadLimits {
  maxMessageBodyBytes: number;
}

/** Limits the text fields and files of a multipart form. */
interface FormRules {
  accepted: readonly string[];
  lists: Lists;
  maxFieldBytes: number;
  maxFiles: number;
}

/** Limits the fields beside the file: they are ids, which are shorter. */
const MAX_FIELD_BYTES = 1024;
export const MAX_MESSAGE_FILES = 10;
/** The maximum that boundaries and headers add to a form, to check a request by its Content-Length. */
const MAX_FORM_OVERHEAD_BYTES = 64 * 1024;

/**
 * Reads a multipart form with exactly one part `file`, whose bytes go to the upload, and text fields named in `accepted`, in
 * any order. Returns the fields. Throws for any other form.
 */
export async function receiveForm(
  request: FastifyRequest,
  upload: UploadOnce,
  accepted: readonly string[],
  limits: UploadLimits,
  stripsMetadata = false,
): Promise<TextFields> {
  if (request.headers["content-type"] === undefined && !hasBody(request.raw)) throw missingFile();
  const rules = { accepted, lists: NO_LISTS, maxFieldBytes: MAX_FIELD_BYTES, maxFiles: 1 };
  let hasFile = false;
  const fields = await receiveParts(request, rules, limits, async (part, maxBytes, before) => {
    if (hasFile) throw repeated("file");
    hasFile = true;
    await receiveFile(part, upload, maxBytes, stripsMetadata || wantsStrip(before));
  });
  if (!hasFile) throw missingFile();
  return fields;
}

/** Reports whether a message comes as a multipart form, which may have files. */
export function isForm({ headers }: FastifyRequest): boolean {
  return mediaType(headers["content-type"]) === "multipart/form-data";
}

/**
 * Reads a message from a multipart form. Each file goes to an upload, which does not keep it if the message was sent before. Throws
 * `insufficient_scope` at the first file if the caller may not upload files.
 */
export async function receiveMessage<S extends Shape>(
  request: FastifyRequest,
  shape: S,
  uploads: RequestUploads,
  limits: MessageLimits,
): Promise<Parsed<S>> {
  const rules = {
    accepted: Object.keys(shape),
    lists: listsOf(shape),
    maxFieldBytes: limits.maxMessageBodyBytes,
    maxFiles: MAX_MESSAGE_FILES,
  };
  const fields = await receiveParts(request, rules, limits, async (part, _, before) => {
    requireScope(request.caller, "attachments:write");
    if (uploads.files.length === MAX_MESSAGE_FILES) {
      const detail = `A message can have at most ${MAX_MESSAGE_FILES} files.`;
      throw new ParleyError("invalid_parameter", detail, { param: "file" });
    }
    const id = before.get(CLIENT_ID);
    const sentBefore = id && (await uploads.findSentBefore(readField(CLIENT_ID, clientId, id)));
    // The size of this file is unknown: other parts may follow it.
    await receiveFile(part, uploads.add(Boolean(sentBefore)), undefined, wantsStrip(before));
  });
  return readFields(shape, fields);
}

const STRIP = "strip_metadata";
const CLIENT_ID = "client_id";
/** The fields that decide what is done with the bytes of files, so they must come before them. */
const BEFORE_FILES = [STRIP, CLIENT_ID];

function wantsStrip(fields: TextFields): boolean {
  return fields.get(STRIP) === "true";
}

/**
 * Reads a multipart form, its parts in any order, and returns the text fields. `receive` gets each part `file`, the maximum
 * number of its bytes if that is known, and the fields that came before it.
 */
async function receiveParts(
  request: FastifyRequest,
  { accepted, lists, maxFieldBytes, maxFiles }: FormRules,
  limits: UploadLimits,
  receive: (file: Part, bytes: number | undefined, before: TextFields) => Promise<void>,
): Promise<TextFields> {
  const length = Number(request.headers["content-length"] ?? 0);
  const maxFormBytes = MAX_FORM_OVERHEAD_BYTES + accepted.length * maxFieldBytes;
  if (limits.maxFileBytes > 0 && length > maxFiles * limits.maxFileBytes + maxFormBytes) {
    throw fileTooLarge(limits.maxFileBytes);
  }
  if (!isForm(request))
    throw new ParleyError("unsupported_media_type", "Send the body as multipart/form-data.");
  const boundary = boundaryOf(request.headers["content-type"]!);
  const digest = parseDigest(request.headers["content-digest"] as string | undefined);
  const hash = digest && createHash("sha256");
  const body = new BodyReader(request.raw, limits, hash);
  const parts = new MultipartReader(body, boundary, limits.maxPartHeaderBytes);
  const fields = new TextFields();
  /** How many bytes are left for the values of each list. */
  const left = new Map<string, number>();
  let hasFile = false;
  let late: string | undefined;
  try {
    for (let part = await parts.next(); part !== null; part = await parts.next()) {
      const { name } = part;
      if (name === "file") {
        hasFile = true;
        await receive(part, length === 0 ? undefined : parts.bytesLeft(length), fields);
      } else if (accepted.includes(name)) {
        if (fields.has(name) && !lists.has(name)) throw repeated(name);
        if (hasFile && BEFORE_FILES.includes(name)) late = name;
        const text = await readText(part, maxFieldBytes, left.get(name) ?? maxFieldBytes);
        left.set(name, (left.get(name) ?? maxFieldBytes) - Buffer.byteLength(text) - 1);
        addField(fields, name, text, lists);
      } else throw unknownField(name, ["file", ...accepted]);
    }
    if (digest) checkDigest(digest, hash!.digest());
    if (late) throw new ParleyError("invalid_parameter", `Send ${late} before the files.`, { param: late });
    return fields;
  } finally {
    body.stop();
  }
}

function missingFile(): ParleyError {
  return new ParleyError("missing_parameter", "The part file is required. With curl: -F file=@PATH.", {
    param: "file",
  });
}

async function receiveFile(
  part: Part,
  upload: UploadOnce,
  maxBytes: number | undefined,
  stripsMetadata: boolean,
): Promise<void> {
  if (part.filename === undefined) {
    throw new ParleyError(
      "invalid_parameter",
      "file must be a file with a file name, not text. With curl: -F file=@PATH.",
      { param: "file" },
    );
  }
  // Some clients send a path: keep its last segment.
  const name = readField("filename", filename, part.filename.replace(/^.*[/\\]/s, ""));
  const digest = parseDigest(part.digest);
  const { type: declaredType, body: bytes } = part;
  await upload.receive({ filename: name, declaredType, bytes, maxBytes, stripsMetadata });
  if (digest) checkDigest(digest, upload.receivedSha256());
}

/** Reads a text field of at most `left` bytes: the part of `maxBytes` that earlier values of a list have left. */
async function readText(part: Part, maxBytes: number, left: number): Promise<string> {
  if (part.filename !== undefined) {
    throw new ParleyError(
      "invalid_parameter",
      `${part.name} must be text, not a file: send its part without a file name.`,
      {
        param: part.name,
      },
    );
  }
  const tooLong = () =>
    new ParleyError("invalid_parameter", `${part.name} can have at most ${maxBytes} bytes.`, {
      param: part.name,
    });
  if (left < 0) throw tooLong();
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of part.body) {
    size += chunk.length;
    if (size > left) throw tooLong();
    chunks.push(Buffer.from(chunk));
  }
  return decodeUtf8(Buffer.concat(chunks));
}
