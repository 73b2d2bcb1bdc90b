import { ParleyApiError } from "./errors.ts";
import { List } from "./list.ts";
import { isNode } from "./node.ts";
import { isPassing } from "./retries.ts";
import { type Source, toSource, type UploadSource } from "./source.ts";
import { toStream } from "./streams.ts";
import type { CallOptions, CreateOptions, Send, Transport } from "./transport.ts";
import type { Attachment, AttachmentTarget, NewUpload, Upload, UploadQuery } from "./types.ts";
import { fileChunks, type UploadProgress, whileReadable } from "./upload.ts";
import { canSendByXhr, sendByXhr } from "./xhr.ts";

const PATH = ["v1", "uploads"];
const PART = { "content-type": "application/partial-upload" };

/** Where in the file some bytes belong. */
export interface AppendOptions extends CallOptions {
  /** The `offset` of the upload. */
  offset: number;
  /** Whether the file ends with these bytes. */
  isLast: boolean;
}

export interface ResumableOptions extends CallOptions, AttachmentTarget {
  /** Required if the source has no name. */
  filename?: string | undefined;
  /** The type of the file, if neither its bytes nor its name reveal it. */
  contentType?: string | undefined;
  /** The size of a stream in bytes, if known. */
  size?: number | undefined;
  /** Continues the upload with this id, of the same file, instead of starting one. */
  resume?: string | undefined;
  /** Called with the id of the upload before its bytes are sent: keep it for `resume`. */
  onStart?: ((id: string) => void) | undefined;
  /** Called often while the file is sent. After a failure it continues from what the server has. */
  onProgress?: ((progress: UploadProgress) => void) | undefined;
}

/** Uploads that continue after a lost connection, also in another process. */
export class Uploads {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Lists the caller's unfinished uploads, so that a client without their ids can continue or delete them. */
  list(query: UploadQuery = {}, options: CallOptions = {}): List<Upload> {
    return new List(this.#transport, PATH, query, options);
  }

  /** Starts an upload. Without a `length` the server learns it with the last bytes. */
  create(
    { length, contentType, ...query }: NewUpload & { length?: number; contentType?: string | undefined },
    options: CreateOptions = {},
  ): Promise<Upload> {
    const headers = {
      "upload-complete": "?0",
      ...(length === undefined ? {} : { "upload-length": String(length) }),
      ...(contentType ? { "content-type": contentType } : {}),
    };
    return this.#transport.call({ ...options, method: "POST", path: PATH, query, headers });
  }

  retrieve(id: string, options: CallOptions = {}): Promise<Upload> {
    return this.#transport.call({ ...options, method: "GET", path: [...PATH, id] });
  }

  /**
   * Adds bytes to an upload and resolves with the attachment after the last ones, otherwise with undefined. Throws
   * `upload_offset_mismatch` if the server has more or fewer bytes than `offset`.
   */
  append(
    id: string,
    bytes: Blob | Uint8Array,
    { offset, isLast, signal }: AppendOptions,
  ): Promise<Attachment | undefined> {
    const send: Send = (outgoing, watch) => this.#transport.send({ ...outgoing, body: bytes }, watch);
    return this.#patch(id, offset, isLast, send, signal);
  }

  /** Deletes an upload with what has come in. The attachment of a complete one stays. */
  delete(id: string, options: CallOptions = {}): Promise<void> {
    return this.#transport.remove([...PATH, id], options);
  }

  /**
   * Uploads a file to a conversation, to one of the caller's messages, or by default to the caller's notes to self. After a temporary failure
   * it continues from what the server has; it fails if that does not help for several attempts. A stream can't be read again, so
   * its upload ends with the first failure.
   */
  async send(
    given: UploadSource,
    { conversation_id, message_id, signal, resume, onStart, onProgress, ...options }: ResumableOptions = {},
  ): Promise<Attachment> {
    const source = await toSource(given, options);
    const { filename, size: length } = source;
    const begin = { filename, conversation_id, message_id, contentType: options.contentType ?? source.type };
    let state =
      resume === undefined
        ? await this.create({ ...begin, ...(length === undefined ? {} : { length }) }, { signal })
        : { id: resume, ...(await this.#inspect(resume, signal)) };
    onStart?.(state.id);
    const tell = (sent: number) => onProgress?.({ sent, total: length });
    for (let failures = 1; state.attachment_id === null; failures++) {
      const { id, offset } = state;
      try {
        const send = toSend(this.#transport, source, offset, tell);
        const attachment = await this.#patch(id, offset, true, send, signal);
        if (attachment) return attachment;
      } catch (error) {
        if (!mayContinue(error) || !source.canRepeat()) throw error;
        await this.#transport.pause(error, failures, signal);
      }
      state = { id, ...(await this.#inspect(id, signal)) };
      if (state.offset > offset) failures = 0;
    }
    return this.#transport.call({ signal, method: "GET", path: ["v1", "attachments", state.attachment_id] });
  }

  /** Asks how far an upload has come. The server ends a request that still continues it. */
  async #inspect(id: string, signal: AbortSignal | undefined) {
    try {
      const { response } = await this.#transport.open({ signal, method: "HEAD", path: [...PATH, id] });
      return {
        offset: Number(response.headers.get("upload-offset")),
        attachment_id: response.headers.get("parley-attachment"),
      };
    } catch (error) {
      // No answer to HEAD has a body that says why. This one has, or the next part gets the reason.
      if (!(error instanceof ParleyApiError) || error.code !== "unexpected_answer") throw error;
      return this.retrieve(id, { signal });
    }
  }

  #patch(
    id: string,
    offset: number,
    isLast: boolean,
    send: Send,
    signal: AbortSignal | undefined,
  ): Promise<Attachment | undefined> {
    const headers = { ...PART, "upload-offset": String(offset), "upload-complete": isLast ? "?1" : "?0" };
    // Not repeated as it is: the server may have some of the bytes.
    const canRepeat = () => false;
    return this.#transport.call({ signal, method: "PATCH", path: [...PATH, id], headers, send, canRepeat });
  }
}

function mayContinue(error: unknown): error is ParleyApiError {
  return isPassing(error) || (error instanceof ParleyApiError && error.code === "upload_offset_mismatch");
}

/** Sends the bytes of the source from an offset. */
function toSend(transport: Transport, source: Source, offset: number, tell: (sent: number) => void): Send {
  const { blob, size } = source;
  tell(offset);
  if (blob && !isNode) {
    const rest = blob.slice(offset);
    const send: Send =
      canSendByXhr() && !transport.hasOwnFetch
        ? sendByXhr(rest, (sent) => tell(offset + sent))
        : (outgoing, watch) => transport.send({ ...outgoing, body: rest }, watch);
    return whileReadable([blob], send);
  }
  const length = size === undefined ? {} : { "content-length": String(size - offset) };
  return (outgoing, watch) =>
    transport.send(
      {
        ...outgoing,
        headers: { ...outgoing.headers, ...length },
        body: toStream(fileChunks(source, tell, watch, offset)),
      },
      watch,
    );
}
