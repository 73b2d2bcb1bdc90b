import { Download, type DownloadOptions } from "./download.ts";
import { ParleyApiError } from "./errors.ts";
import { List } from "./list.ts";
import type { UploadSource } from "./source.ts";
import type { CallOptions, ChangeOptions, Transport } from "./transport.ts";
import type { Attachment, AttachmentAdditions, AttachmentChanges, AttachmentQuery } from "./types.ts";
import { type UploadOptions, upload } from "./upload.ts";

const PATH = ["v1", "attachments"];

type RetrieveOptions = CallOptions & AttachmentAdditions;

/** Files shared in conversations. */
export class Attachments {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Lists the files of one conversation, or of all. `include` adds `conversation_id`, `sender`, `unscanned` and `image`. */
  list(query: AttachmentQuery = {}, options: CallOptions = {}): List<Attachment> {
    return new List(this.#transport, PATH, query, options);
  }

  /**
   * Uploads a file to a conversation, to one of the caller's messages, or by default to the caller's notes to self.
   * If it throws, the server keeps nothing of the file, unless the connection was lost or the upload aborted after
   * everything had been sent: then the server may keep the file.
   */
  upload(source: UploadSource, options: UploadOptions = {}): Promise<Attachment> {
    return upload(this.#transport, source, options);
  }

  retrieve(id: string, { include, ...options }: RetrieveOptions = {}): Promise<Attachment> {
    return this.#transport.call({ ...options, method: "GET", path: [...PATH, id], query: { include } });
  }

  /** Renames the file. Throws `not_uploader` if another user uploaded it. */
  update(id: string, changes: AttachmentChanges, options: ChangeOptions = {}): Promise<Attachment> {
    return this.#transport.call({ ...options, method: "PUT", path: [...PATH, id], body: changes });
  }

  delete(id: string, options: ChangeOptions = {}): Promise<void> {
    return this.#transport.remove([...PATH, id], options);
  }

  /** Resolves once the server starts to send the file. */
  async download(
    attachmentOrId: Attachment | string,
    { signal, range, onProgress }: DownloadOptions = {},
  ): Promise<Download> {
    const isId = typeof attachmentOrId === "string";
    const attachment = isId ? await this.retrieve(attachmentOrId, { signal }) : attachmentOrId;
    const path = ["files", attachment.id, attachment.filename];
    const headers = range ? { range: `bytes=${range.start}-${range.end ?? ""}` } : {};
    try {
      const answer = await this.#transport.open({ method: "GET", path, headers, signal, redirect: "follow" });
      return new Download(attachment, answer, onProgress);
    } catch (error) {
      // The file may have been renamed, which changes its path, and a redirect to another origin drops the token.
      if (isId || !(error instanceof ParleyApiError && error.code === "invalid_signature")) throw error;
      return this.download(attachment.id, { signal, range, onProgress });
    }
  }
}
