import { ParleyApiError } from "./errors.ts";
import { type Form, toForm } from "./form.ts";
import { isNode } from "./node.ts";
import { type Source, toSource, type UploadSource } from "./source.ts";
import { toStream } from "./streams.ts";
import type { ChangeOptions, CreateOptions, Send, Transport } from "./transport.ts";
import type { Attachment, AttachmentFields } from "./types.ts";
import type { Watch } from "./watch.ts";
import { canSendByXhr, sendByXhr } from "./xhr.ts";

/** The progress of an upload, in bytes of its files. */
export interface UploadProgress {
  sent: number;
  /** Undefined for a stream of unknown size. */
  total: number | undefined;
}

export interface UploadOptions extends CreateOptions, AttachmentFields {
  /** Required if the source has no name. */
  filename?: string | undefined;
  /** The type of the file, if neither its bytes nor its name reveal it. */
  contentType?: string | undefined;
  /** The size of a stream in bytes, if known: then the server refuses a file that is too large before it is sent. */
  size?: number | undefined;
  /** Called often while the file is sent, and again from 0 for each retry. */
  onProgress?: ((progress: UploadProgress) => void) | undefined;
}

export interface AvatarOptions extends ChangeOptions {
  /** The size of a stream in bytes, if known: then the server refuses a picture that is too large before it is sent. */
  size?: number | undefined;
  /** Called often while the picture is sent, and again from 0 for each retry. */
  onProgress?: ((progress: UploadProgress) => void) | undefined;
}

const SLICE_BYTES = 64 * 1024;

type OnProgress = (sent: number) => void;

export async function upload(
  transport: Transport,
  given: UploadSource,
  {
    conversation_id,
    message_id,
    strip_metadata,
    signal,
    idempotencyKey,
    onProgress,
    ...options
  }: UploadOptions,
): Promise<Attachment> {
  signal?.throwIfAborted();
  const source = await toSource(given, options);
  const sources = [{ ...source, type: options.contentType ?? source.type }];
  const query = { conversation_id, message_id, strip_metadata };
  return sendFiles(transport, ["v1", "attachments"], [], sources, {
    signal,
    idempotencyKey,
    onProgress,
    query,
  });
}

/** Sends the picture of a user, whose name does not matter. */
export async function sendAvatar<T>(
  transport: Transport,
  path: readonly string[],
  given: UploadSource,
  { size, ...options }: AvatarOptions,
): Promise<T> {
  options.signal?.throwIfAborted();
  const source = await toSource(given, { filename: "avatar", size });
  return sendFiles(transport, path, [], [source], { ...options, method: "PUT" });
}

interface SendOptions extends CreateOptions, ChangeOptions {
  method?: "POST" | "PUT" | undefined;
  onProgress?: ((progress: UploadProgress) => void) | undefined;
  query?: object | undefined;
  retryForMs?: number | undefined;
}

/** Sends a form with these text fields and files, at least one. */
export async function sendFiles<T>(
  transport: Transport,
  path: readonly string[],
  fields: readonly (readonly [name: string, value: string])[],
  sources: readonly Source[],
  { method = "POST", onProgress, ...options }: SendOptions,
): Promise<T> {
  const form = toForm(fields, sources);
  const total = sumOf(sources.map(({ size }) => size));
  const tell = (sent: number) => onProgress?.({ sent, total });
  return transport.call({
    ...options,
    method,
    path,
    headers: { "content-type": form.contentType },
    send: isNode ? streamed(transport, form, sources, tell) : await whole(transport, form, sources, tell),
    canRepeat: () => sources.every((source) => source.canRepeat()),
  });
}

/** Undefined if one of the sizes is not known. */
function sumOf(sizes: readonly (number | undefined)[]): number | undefined {
  return sizes.reduce((sum, size) => (sum === undefined || size === undefined ? undefined : sum + size), 0);
}

/** Sends the files as a stream, with one chunk in memory. Browsers cannot stream a body to every server. */
function streamed(
  transport: Transport,
  form: Form,
  sources: readonly Source[],
  onProgress: OnProgress,
): Send {
  const around = [...form.heads, form.tail].map(({ length }) => length);
  const size = sumOf([...around, ...sources.map((source) => source.size)]);
  const length = size === undefined ? undefined : { "content-length": String(size) };
  return (outgoing, watch) => {
    const chunks = formChunks(form, sources, onProgress, watch);
    return transport.send(
      { ...outgoing, headers: { ...outgoing.headers, ...length }, body: toStream(chunks) },
      watch,
    );
  };
}

async function* formChunks(form: Form, sources: readonly Source[], onProgress: OnProgress, watch: Watch) {
  let before = 0;
  onProgress(before);
  for (const [at, source] of sources.entries()) {
    yield form.heads[at]!;
    before += yield* fileChunks(source, (sent) => onProgress(before + sent), watch);
  }
  yield form.tail;
}

/** Yields the bytes of a file and returns how many they were. */
export async function* fileChunks(source: Source, onProgress: OnProgress, watch: Watch, from = 0) {
  const announced = source.size ?? Infinity;
  let sent = from;
  try {
    watch.stop();
    for await (const chunk of source.chunks(from)) {
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
  return sent;
}

/** Sends the whole body at once, as every browser can. */
async function whole(
  transport: Transport,
  form: Form,
  sources: readonly Source[],
  onProgress: OnProgress,
): Promise<Send> {
  const held = await Promise.all(
    sources.map(
      async ({ blob, chunks }) => blob ?? (await new Response(toStream(generator(chunks()))).blob()),
    ),
  );
  const body = new Blob([...held.flatMap((blob, at) => [form.heads[at]!, blob]), form.tail]);
  const total = held.reduce((sum, { size }) => sum + size, 0);
  const before = form.heads[0]!.length;
  const send: Send =
    canSendByXhr() && !transport.hasOwnFetch
      ? sendByXhr(body, (sent) => onProgress(Math.min(total, Math.max(0, sent - before))))
      : async (outgoing, watch) => {
          onProgress(0);
          const response = await transport.send({ ...outgoing, body }, watch);
          onProgress(total);
          return response;
        };
  return whileReadable(held, send);
}

/** Names the reason if a request fails because one of its files has changed: browsers report a lost connection. */
export function whileReadable(held: readonly Blob[], send: Send): Send {
  return async (outgoing, watch) => {
    try {
      return await send(outgoing, watch);
    } catch (error) {
      const readable = await Promise.all(held.map(isReadable));
      if (readable.includes(false)) watch.end(sourceChanged("can no longer be read"));
      throw error;
    }
  };
}

/** Whether a chosen file is unchanged. */
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
