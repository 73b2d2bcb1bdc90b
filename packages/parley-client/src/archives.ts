import { Download, type DownloadOptions } from "./download.ts";
import type { CallOptions, Transport } from "./transport.ts";
import type { Archive, ArchiveFiles } from "./types.ts";

/** Several files as one ZIP. */
export class Archives {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Creates a link to an archive of these files, or of all files of a conversation, for browsers. */
  create(files: ArchiveFiles, options: CallOptions = {}): Promise<Archive> {
    return this.#transport.call({ ...options, method: "POST", path: ["v1", "archives"], body: files });
  }

  /** Resolves once the server starts to send the archive. Files that were deleted since `create` are left out. */
  async download(
    archiveOrFiles: Archive | ArchiveFiles,
    { signal, onProgress }: Omit<DownloadOptions, "range"> = {},
  ): Promise<Download> {
    const isArchive = "url" in archiveOrFiles;
    const { url, filename, size } = isArchive
      ? archiveOrFiles
      : await this.create(archiveOrFiles, { signal });
    // From the server as the caller reaches it: its public URL may be another.
    const path = ["archives", filename];
    const query = Object.fromEntries(new URL(url).searchParams);
    const answer = await this.#transport.open({ method: "GET", path, query, signal });
    return new Download({ filename, file_size: size, file_type: "application/zip" }, answer, onProgress);
  }
}
