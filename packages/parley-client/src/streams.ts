import type { WatchedResponse } from "./transport.ts";

/** Yields the chunks of a stream, and cancels it if the reader leaves early. */
export async function* readChunks(
  stream: ReadableStream<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = stream.getReader();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } finally {
    // Has no effect on a stream that has ended or failed.
    await reader.cancel().catch(() => {});
  }
}

/**
 * Returns a stream that requests each chunk only when it is read. `onCancel` releases the source of the chunks, because a
 * generator that never started does not run its `finally`.
 */
export function toStream(
  chunks: AsyncGenerator<Uint8Array, unknown, undefined>,
  onCancel = () => {},
): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = await chunks.next();
        if (next.done) controller.close();
        else controller.enqueue(next.value);
      },
      async cancel() {
        onCancel();
        await chunks.return(undefined);
      },
    },
    { highWaterMark: 0 },
  );
}

/** Yields the chunks of a body. Its watch runs while it waits for a chunk, not while the reader works. */
export async function* bodyChunks({
  response,
  watch,
}: WatchedResponse): AsyncGenerator<Uint8Array, void, undefined> {
  if (response.body === null) return;
  watch.start();
  try {
    for await (const chunk of readChunks(response.body)) {
      watch.stop();
      yield chunk;
      watch.start();
    }
  } catch (error) {
    throw watch.toError(error);
  } finally {
    watch.stop();
  }
}
