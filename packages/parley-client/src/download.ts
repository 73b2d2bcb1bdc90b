import { nodeFiles } from "./node.ts";
import { bodyChunks, toStream } from "./streams.ts";
import type { CallOptions, WatchedResponse } from "./transport.ts";
import type { Attachment } from "./types.ts";

/** The progress of a download, in bytes. */
export interface DownloadProgress {
  received: number;
  total: number;
}

export interface DownloadOptions extends CallOptions {
  onProgress?: ((progress: DownloadProgress) => void) | undefined;
  /** A part of the file: its first byte, and its last, by default that of the file. */
  range?: { start: number; end?: number | undefined } | undefined;
}

/** A download in progress. It holds a connection until its stream ends or is cancelled. */
export class Download {
  /** The bytes. It can be read once, and fails if the connection is lost before the end. */
  readonly stream: ReadableStream<Uint8Array>;
  /** The number of bytes to receive: those of the range, if one was requested. */
  readonly size: number;
  /** MIME type. */
  readonly type: string;
  readonly filename: string;

  constructor(
    file: Pick<Attachment, "filename" | "file_size" | "file_type">,
    answer: WatchedResponse,
    onProgress: DownloadOptions["onProgress"],
  ) {
    const length = answer.response.headers.get("content-length");
    this.size = length === null ? file.file_size : Number(length);
    this.type = file.file_type;
    this.filename = file.filename;
    this.stream = toStream(received(answer, this.size, onProgress), () => answer.watch.end(undefined));
  }

  /** Reads the whole file into memory. */
  async blob(): Promise<Blob> {
    const blob = await new Response(this.stream).blob();
    return blob.slice(0, blob.size, this.type);
  }

  /**
   * Saves the file to this path (Node only), once it is complete. Replaces an existing file, or with `overwrite: false`
   * fails with EEXIST.
   */
  async saveTo(path: string, { overwrite = true }: { overwrite?: boolean } = {}): Promise<void> {
    const { saveStream } = await nodeFiles();
    await saveStream(path, this.stream, overwrite);
  }
}

async function* received(answer: WatchedResponse, total: number, onProgress: DownloadOptions["onProgress"]) {
  let count = 0;
  onProgress?.({ received: count, total });
  for await (const chunk of bodyChunks(answer)) {
    count += chunk.length;
    onProgress?.({ received: count, total });
    yield chunk;
  }
}
