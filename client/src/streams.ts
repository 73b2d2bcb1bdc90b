import type { Answer } from "./transport.ts";

/** The chunks of a stream; it is cancelled where the reader leaves before the end. */
export async function* chunksOf(
  stream: ReadableStream<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = stream.getReader();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } finally {
    // One that has ended, or failed, takes no notice.
    await reader.cancel().catch(() => {});
  }
}

/**
 * A stream that asks for each chunk only when it is asked for it. `onCancel` lets go of what the chunks come from: a generator
 * that was asked for none does nothing at its end.
 */
export function streamOf(
  chunks: AsyncGenerator<Uint8Array, void, undefined>,
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
        await chunks.return();
      },
    },
    { highWaterMark: 0 },
  );
}

/** The chunks of an answer's body. Its watch runs while one is waited for, and not while the reader is at work. */
export async function* bodyChunks({ response, watch }: Answer): AsyncGenerator<Uint8Array, void, undefined> {
  if (response.body === null) return;
  watch.start();
  try {
    for await (const chunk of chunksOf(response.body)) {
      watch.stop();
      yield chunk;
      watch.start();
    }
  } catch (error) {
    throw watch.errorOf(error);
  } finally {
    watch.stop();
  }
}
