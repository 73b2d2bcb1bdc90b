import { nodeFiles } from "./node.ts";
import { bodyChunks, streamOf } from "./streams.ts";
import type { Answer, CallOptions } from "./transport.ts";
import type { Attachment } from "./types.ts";

/** How far a download is, in bytes. */
export interface DownloadProgress {
  received: number;
  total: number;
}

export interface DownloadOptions extends CallOptions {
  onProgress?: ((progress: DownloadProgress) => void) | undefined;
  /** A part of the file: its first byte, and its last where it is not the file's. */
  range?: { start: number; end?: number | undefined } | undefined;
}

/** A file on its way. Read it to its end, or cancel its stream: until then it holds a connection. */
export class Download {
  /** The bytes, once. It fails where the connection is lost before the last. */
  readonly stream: ReadableStream<Uint8Array>;
  /** Bytes that come: those of the range, where one was asked for. */
  readonly size: number;
  /** MIME type. */
  readonly type: string;
  readonly filename: string;

  constructor(attachment: Attachment, answer: Answer, onProgress: DownloadOptions["onProgress"]) {
    const length = answer.response.headers.get("content-length");
    this.size = length === null ? attachment.file_size : Number(length);
    this.type = attachment.file_type;
    this.filename = attachment.filename;
    this.stream = streamOf(received(answer, this.size, onProgress), () => answer.watch.end(undefined));
  }

  /** The whole, in memory. */
  async blob(): Promise<Blob> {
    const blob = await new Response(this.stream).blob();
    return blob.slice(0, blob.size, this.type);
  }

  /**
   * Writes it to this path, in Node alone. What is there is replaced, and only by the whole file; without `overwrite` it stays,
   * and this fails with EEXIST.
   */
  async saveTo(path: string, { overwrite = true }: { overwrite?: boolean } = {}): Promise<void> {
    const { saveStream } = await nodeFiles();
    await saveStream(path, this.stream, overwrite);
  }
}

async function* received(answer: Answer, total: number, onProgress: DownloadOptions["onProgress"]) {
  let count = 0;
  onProgress?.({ received: count, total });
  for await (const chunk of bodyChunks(answer)) {
    count += chunk.length;
    onProgress?.({ received: count, total });
    yield chunk;
  }
}
