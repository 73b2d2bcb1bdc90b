import { ParleyApiError } from "./errors.ts";
import { type Form, toForm } from "./form.ts";
import { isNode } from "./node.ts";
import { type Source, toSource, type UploadSource } from "./source.ts";
import { toStream } from "./streams.ts";
import type { CreateOptions, Send, Transport } from "./transport.ts";
import type { Attachment, AttachmentTarget } from "./types.ts";
import type { Watch } from "./watch.ts";
import { canSendByXhr, sendByXhr } from "./xhr.ts";

/** The progress of an upload, in bytes of the file. */
export interface UploadProgress {
  sent: number;
  /** Undefined for a stream of unknown size. */
  total: number | undefined;
}

export interface UploadOptions extends CreateOptions, AttachmentTarget {
  /** Required if the source has no name. */
  filename?: string | undefined;
  /** The type of the file, if neither its bytes nor its name reveal it. */
  contentType?: string | undefined;
  /** The size of a stream in bytes, if known: then the server refuses a file that is too large before it is sent. */
  size?: number | undefined;
  /** Called often while the file is sent, and again from 0 for each retry. */
  onProgress?: ((progress: UploadProgress) => void) | undefined;
}

const SLICE_BYTES = 64 * 1024;

type OnProgress = (sent: number) => void;

export async function upload(
  transport: Transport,
  given: UploadSource,
  { conversation_id, message_id, signal, idempotencyKey, ...options }: UploadOptions,
): Promise<Attachment> {
  signal?.throwIfAborted();
  const source = await toSource(given, options);
  const form = toForm(source.filename, options.contentType ?? source.type);
  const onProgress = (sent: number) => options.onProgress?.({ sent, total: source.size });
  const send = isNode
    ? streamed(transport, form, source, onProgress)
    : await whole(transport, form, source, onProgress);
  return transport.call({
    method: "POST",
    path: ["v1", "attachments"],
    query: { conversation_id, message_id },
    headers: { "content-type": form.contentType },
    signal,
    idempotencyKey,
    send,
    canRepeat: source.canRepeat,
  });
}

/** Sends the file as a stream, with one chunk in memory. Browsers cannot stream a body to every server. */
function streamed(transport: Transport, form: Form, source: Source, onProgress: OnProgress): Send {
  const around = form.head.length + form.tail.length;
  const length = source.size === undefined ? undefined : { "content-length": String(around + source.size) };
  return (outgoing, watch) => {
    const chunks = formChunks(form, source, onProgress, watch);
    return transport.send(
      { ...outgoing, headers: { ...outgoing.headers, ...length }, body: toStream(chunks) },
      watch,
    );
  };
}

async function* formChunks(form: Form, source: Source, onProgress: OnProgress, watch: Watch) {
  const announced = source.size ?? Infinity;
  let sent = 0;
  yield form.head;
  try {
    onProgress(sent);
    watch.stop();
    for await (const chunk of source.chunks()) {
      // Large chunks are cut, so that they report progress too.
      for (let at = 0; at < chunk.length; at += SLICE_BYTES) {
        const slice = chunk.subarray(at, at + SLICE_BYTES);
        if (sent + slice.length > announced) throw sourceChanged(`gives more than ${announced} bytes`);
        // Otherwise a source that never pauses would continue after the request has ended.
        watch.signal.throwIfAborted();
        watch.start();
        yield slice;
        watch.stop();
        sent += slice.length;
        onProgress(sent);
      }
    }
    if (source.size !== undefined && sent < announced)
      throw sourceChanged(`has ${sent} bytes, not ${announced}`);
    watch.start();
  } catch (error) {
    // The caller gets this error, not that of the connection that it closes.
    watch.end(error);
    throw error;
  }
  yield form.tail;
}

/** Sends the whole body at once, as every browser can. */
async function whole(
  transport: Transport,
  form: Form,
  source: Source,
  onProgress: OnProgress,
): Promise<Send> {
  const held = source.blob ?? (await new Response(toStream(generator(source.chunks()))).blob());
  const body = new Blob([form.head, held, form.tail]);
  const before = form.head.length;
  const send: Send =
    canSendByXhr() && !transport.hasOwnFetch
      ? sendByXhr(body, (sent) => onProgress(Math.min(held.size, Math.max(0, sent - before))))
      : async (outgoing, watch) => {
          onProgress(0);
          const response = await transport.send({ ...outgoing, body }, watch);
          onProgress(held.size);
          return response;
        };
  return async (outgoing, watch) => {
    try {
      return await send(outgoing, watch);
    } catch (error) {
      if (!(await isReadable(held))) watch.end(sourceChanged("can no longer be read"));
      throw error;
    }
  };
}

/** Whether a chosen file is unchanged. For a changed one browsers report the same error as for a lost connection. */
async function isReadable(held: Blob): Promise<boolean> {
  return held
    .slice(0, 1)
    .arrayBuffer()
    .then(
      () => true,
      () => false,
    );
}

function sourceChanged(what: string): ParleyApiError {
  const detail = `The source ${what}: it has changed, or the given size is wrong.`;
  return new ParleyApiError({ code: "source_changed", status: 0, detail });
}

async function* generator(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  yield* chunks;
}
