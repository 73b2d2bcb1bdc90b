import type { FastifyReply } from "fastify";

/** Writes the head of an answer whose body is sent without the framework. */
export function sendHead(reply: FastifyReply): void {
  const headers = reply.getHeaders();
  reply.hijack();
  reply.raw.writeHead(reply.statusCode, headers as Record<string, string | number>);
}

/**
 * Sends chunks. Requests the next only after the previous has left, because that one is then no longer valid. Resolves when
 * all are sent or the client is gone. If the chunks throw, closes the connection and rethrows.
 */
export async function sendChunks(reply: FastifyReply, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  const { raw } = reply;
  // If the answer is still queued after another one on its connection, the callback of `write` never fires.
  let cutOff = (_: ClientGone) => {};
  raw.once("close", () => cutOff(new ClientGone()));
  try {
    sendHead(reply);
    for await (const chunk of chunks) {
      if (raw.destroyed) throw new ClientGone();
      await new Promise<void>((resolve, reject) => {
        cutOff = reject;
        raw.write(chunk, (error) => (error ? reject(new ClientGone()) : resolve()));
      });
    }
    raw.end();
  } catch (error) {
    raw.destroy();
    if (!(error instanceof ClientGone)) throw error;
  }
}

class ClientGone extends Error {}
