import type { FastifyReply } from "fastify";

/** Writes the head of an answer whose body is sent without the framework. */
export function sendHead(reply: FastifyReply): void {
  const headers = reply.getHeaders();
  reply.hijack();
  reply.raw.writeHead(reply.statusCode, headers as Record<string, string | number>);
}

/**
 * Sends chunks of which each is valid only until the next is asked for: that is when the one before has left. Resolves
 * when all is on its way or the client is gone; throws what the chunks throw, after it has cut the connection.
 */
export async function sendChunks(reply: FastifyReply, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  const { raw } = reply;
  // Of an answer that waits behind another on its connection the callback never comes.
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
