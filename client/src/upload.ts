import { ParleyApiError } from "./errors.ts";
import { type Form, formOf } from "./form.ts";
import { isNode } from "./node.ts";
import { type Source, sourceOf, type UploadSource } from "./source.ts";
import { streamOf } from "./streams.ts";
import type { CreateOptions, Send, Transport } from "./transport.ts";
import type { Attachment, AttachmentTarget } from "./types.ts";
import type { Watch } from "./watch.ts";
import { canSendByXhr, sendByXhr } from "./xhr.ts";

/** How far an upload is, in bytes of the file. */
export interface UploadProgress {
  sent: number;
  /** Undefined for a stream of unknown size. */
  total: number | undefined;
}

export interface UploadOptions extends CreateOptions, AttachmentTarget {
  /** Needed where the source has no name of its own. */
  filename?: string | undefined;
  /** The type of the file, where its bytes and its name do not tell it. */
  contentType?: string | undefined;
  /** Bytes of a stream, where that is known: then a file that is too large is refused before it is sent. */
  size?: number | undefined;
  /** Called often while the file is sent, and from 0 again when it is sent once more. */
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
  const source = await sourceOf(given, options);
  const form = formOf(source.filename, options.contentType ?? source.type);
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

/** By a stream, which holds one chunk at a time. Browsers do not stream a body to every server. */
function streamed(transport: Transport, form: Form, source: Source, onProgress: OnProgress): Send {
  const around = form.head.length + form.tail.length;
  const length = source.size === undefined ? undefined : { "content-length": String(around + source.size) };
  return (outgoing, watch) => {
    const chunks = bodyOf(form, source, onProgress, watch);
    return transport.send(
      { ...outgoing, headers: { ...outgoing.headers, ...length }, body: streamOf(chunks) },
      watch,
    );
  };
}

async function* bodyOf(form: Form, source: Source, onProgress: OnProgress, watch: Watch) {
  const announced = source.size ?? Infinity;
  let sent = 0;
  yield form.head;
  try {
    onProgress(sent);
    watch.stop();
    for await (const chunk of source.chunks()) {
      // Of a large one, too, it is told how far it is.
      for (let at = 0; at < chunk.length; at += SLICE_BYTES) {
        const slice = chunk.subarray(at, at + SLICE_BYTES);
        if (sent + slice.length > announced) throw sourceChanged(`gives more than ${announced} bytes`);
        // A source that never pauses would else go on before anything has seen that it is over.
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
    // The caller is told this, and not that the connection was lost for it.
    watch.end(error);
    throw error;
  }
  yield form.tail;
}

/** By what browsers can do everywhere: the whole body at once, from where they have it. */
async function whole(
  transport: Transport,
  form: Form,
  source: Source,
  onProgress: OnProgress,
): Promise<Send> {
  const held = source.blob ?? (await new Response(streamOf(generator(source.chunks()))).blob());
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
      if (!(await isReadable(held))) watch.end(sourceChanged("can be read no more"));
      throw error;
    }
  };
}

/** Whether a file that was chosen is still what it was then: a browser tells one that changed as it tells a lost connection. */
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
  const detail = `What is to be sent ${what}: it has changed since it was chosen, or its size was told wrong.`;
  return new ParleyApiError({ code: "source_changed", status: 0, detail });
}

async function* generator(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  yield* chunks;
}
