import type { FastifyRequest } from "fastify";
import type { Core } from "../core/core.ts";
import { filename, readField, unknownField } from "../core/fields.ts";
import { discardFile, fileTooLarge, type ReceivedFile, receiveFile } from "../core/uploads.ts";
import { ParleyError } from "../errors.ts";
import { lastPathPart } from "../util/text.ts";
import { decodeUtf8, isEmptyBody, mediaType, repeated } from "./bodies.ts";
import { type BodyPace, BodyReader } from "./body-reader.ts";
import { checkDigest, digestOf } from "./digests.ts";
import { boundaryOf, MultipartReader, type Part } from "./multipart.ts";

export interface UploadLimits extends BodyPace {
  /** 0: none. */
  maxFileBytes: number;
  maxPartHeaderBytes: number;
}

/** A form with a file, come in whole. */
interface ReceivedForm {
  /** The fields of text beside the file. */
  fields: Map<string, string>;
  file: ReceivedFile;
  filename: string;
  declaredType: string | undefined;
}

/** Fields beside the file are ids: longer ones are none. */
const MAX_FIELD_BYTES = 1024;
/** Boundaries, headers and fields around a file, for judging a request by its Content-Length. */
const MAX_FORM_OVERHEAD_BYTES = 64 * 1024;

/**
 * Reads a multipart form with exactly one part `file`, and fields of text among `accepted`, in any order. Throws
 * for anything else; then the file, if it came, is discarded.
 */
export async function receiveForm(
  core: Core,
  request: FastifyRequest,
  accepted: readonly string[],
  limits: UploadLimits,
  isReplay: boolean,
): Promise<ReceivedForm> {
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
  // One that was done before needs no room.
  const bytesLeft = () => (isReplay || length === 0 ? undefined : parts.bytesLeft(length));
  const form = new FormReader(core, request.caller.userId, accepted, limits, bytesLeft);
  try {
    for (let part = await parts.next(); part !== null; part = await parts.next()) await form.add(part);
    if (digest) checkDigest(announced, digest.digest());
    return form.finish();
  } catch (error) {
    await form.discard();
    throw error;
  } finally {
    body.stop();
  }
}

function missingFile(): ParleyError {
  return new ParleyError("missing_parameter", "The part file is required. With curl: -F file=@PATH.", {
    param: "file",
  });
}

class FormReader {
  readonly #core: Core;
  readonly #userId: string;
  readonly #bytesLeft: () => number | undefined;
  readonly #accepted: readonly string[];
  readonly #limits: UploadLimits;
  readonly #fields = new Map<string, string>();
  #file: Omit<ReceivedForm, "fields"> | undefined;

  /** `bytesLeft`: of the body, where its length is known. */
  constructor(
    core: Core,
    userId: string,
    accepted: readonly string[],
    limits: UploadLimits,
    bytesLeft: () => number | undefined,
  ) {
    this.#core = core;
    this.#userId = userId;
    this.#bytesLeft = bytesLeft;
    this.#accepted = accepted;
    this.#limits = limits;
  }

  async add(part: Part): Promise<void> {
    if (part.name === "file") await this.#addFile(part);
    else if (this.#accepted.includes(part.name)) await this.#addField(part);
    else throw unknownField(part.name, ["file", ...this.#accepted]);
  }

  finish(): ReceivedForm {
    if (!this.#file) {
      throw missingFile();
    }
    return { ...this.#file, fields: this.#fields };
  }

  async discard(): Promise<void> {
    if (this.#file) await discardFile(this.#core, this.#file.file);
  }

  async #addFile(part: Part): Promise<void> {
    if (this.#file) throw repeated("file");
    if (part.filename === undefined) {
      throw new ParleyError(
        "invalid_parameter",
        "file must be a file with a file name, and came as text. With curl: -F file=@PATH.",
        { param: "file" },
      );
    }
    const name = readField("filename", filename, lastPathPart(part.filename));
    digestOf(part.digest); // throws for one that cannot be checked, before the file comes in
    const announced = { userId: this.#userId, bytes: this.#bytesLeft() };
    const file = await receiveFile(this.#core, part.body, this.#limits.maxFileBytes, announced);
    this.#file = { file, filename: name, declaredType: part.type };
    checkDigest(part.digest, file.sha256);
  }

  async #addField(part: Part): Promise<void> {
    if (this.#fields.has(part.name)) throw repeated(part.name);
    if (part.filename !== undefined) {
      throw new ParleyError("invalid_parameter", `${part.name} must be text, and came as a file.`, {
        param: part.name,
      });
    }
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of part.body) {
      size += chunk.length;
      if (size > MAX_FIELD_BYTES) {
        throw new ParleyError(
          "invalid_parameter",
          `${part.name} may have at most ${MAX_FIELD_BYTES} bytes.`,
          {
            param: part.name,
          },
        );
      }
      chunks.push(Buffer.from(chunk));
    }
    this.#fields.set(part.name, decodeUtf8(Buffer.concat(chunks)));
  }
}
