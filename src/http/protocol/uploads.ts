import type { FastifyRequest } from "fastify";
import { filename, readField, unknownField } from "../../core/fields.ts";
import { fileTooLarge, type Upload } from "../../core/files/uploads.ts";
import { ParleyError } from "../../errors.ts";
import { lastPathPart } from "../../util/text.ts";
import { decodeUtf8, isEmptyBody, mediaType, repeated } from "./bodies.ts";
import { type BodyPace, BodyReader } from "./body-reader.ts";
import { checkDigest, digestOf } from "./digests.ts";
import { boundaryOf, MultipartReader, type Part } from "./multipart.ts";

interface UploadLimits extends BodyPace {
  /** 0: no limit. */
  maxFileBytes: number;
  maxPartHeaderBytes: number;
}

interface Form extends FilePart {
  /** The text fields beside the file. */
  fields: Map<string, string>;
}

interface FilePart {
  filename: string;
  declaredType: string | undefined;
}

/** Fields beside the file are ids, and those are shorter. */
const MAX_FIELD_BYTES = 1024;
/** The most that boundaries, headers and fields add to a file, for checking a request by its Content-Length. */
const MAX_FORM_OVERHEAD_BYTES = 64 * 1024;

/**
 * Reads a multipart form with exactly one part `file`, whose bytes go to the upload, and text fields among `accepted`, in
 * any order. Throws for anything else.
 */
export async function receiveForm(
  request: FastifyRequest,
  upload: Upload,
  accepted: readonly string[],
  limits: UploadLimits,
): Promise<Form> {
  const length = Number(request.headers["content-length"] ?? 0);
  if (limits.maxFileBytes > 0 && length > limits.maxFileBytes + MAX_FORM_OVERHEAD_BYTES) {
    throw fileTooLarge(limits.maxFileBytes);
  }
  const type = request.headers["content-type"];
  if (type === undefined && isEmptyBody(request)) throw missingFile();
  if (mediaType(type) !== "multipart/form-data") {
    throw new ParleyError("unsupported_media_type", "Send the body as multipart/form-data.");
  }
  const boundary = boundaryOf(type!);
  const announced = request.headers["content-digest"] as string | undefined;
  const digest = digestOf(announced);
  const body = new BodyReader(request.raw, limits, (chunk) => void digest?.update(chunk));
  const parts = new MultipartReader(body, boundary, limits.maxPartHeaderBytes);
  const fields = new Map<string, string>();
  let file: FilePart | undefined;
  try {
    for (let part = await parts.next(); part !== null; part = await parts.next()) {
      if (part.name === "file") {
        if (file) throw repeated("file");
        const bytes = length === 0 ? undefined : parts.bytesLeft(length);
        file = await receiveFile(part, upload, limits.maxFileBytes, bytes);
      } else if (accepted.includes(part.name)) {
        if (fields.has(part.name)) throw repeated(part.name);
        fields.set(part.name, await readText(part));
      } else throw unknownField(part.name, ["file", ...accepted]);
    }
    if (digest) checkDigest(announced, digest.digest());
    if (!file) throw missingFile();
    return { ...file, fields };
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
  upload: Upload,
  maxBytes: number,
  bytes: number | undefined,
): Promise<FilePart> {
  if (part.filename === undefined) {
    throw new ParleyError(
      "invalid_parameter",
      "file must be a file with a file name, not text. With curl: -F file=@PATH.",
      { param: "file" },
    );
  }
  const name = readField("filename", filename, lastPathPart(part.filename));
  digestOf(part.digest); // throws for one that cannot be checked, before the file comes in
  await upload.receive(part.body, maxBytes, bytes);
  checkDigest(part.digest, upload.sha256());
  return { filename: name, declaredType: part.type };
}

async function readText(part: Part): Promise<string> {
  if (part.filename !== undefined) {
    throw new ParleyError("invalid_parameter", `${part.name} must be text, not a file.`, {
      param: part.name,
    });
  }
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of part.body) {
    size += chunk.length;
    if (size > MAX_FIELD_BYTES) {
      throw new ParleyError("invalid_parameter", `${part.name} can have at most ${MAX_FIELD_BYTES} bytes.`, {
        param: part.name,
      });
    }
    chunks.push(Buffer.from(chunk));
  }
  return decodeUtf8(Buffer.concat(chunks));
}
