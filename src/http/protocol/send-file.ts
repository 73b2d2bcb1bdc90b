import type { FastifyReply } from "fastify";

/**
 * Sends chunks of which each is valid only until the next is asked for: that is when the one before has left. Resolves
 * when all is on its way or the client is gone; throws what the chunks throw, after it has cut the connection. A client
 * that takes longer than `stallMs` for one is cut, too.
 */
export async function sendChunks(
  reply: FastifyReply,
  chunks: AsyncIterable<Uint8Array>,
  stallMs?: number,
): Promise<void> {
  const { raw } = reply;
  const headers = reply.getHeaders();
  reply.hijack();
  // Of an answer that waits behind another on its connection the callback never comes.
  let cutOff = (_: ClientGone) => {};
  raw.once("close", () => cutOff(new ClientGone()));
  try {
    raw.writeHead(reply.statusCode, headers as Record<string, string | number>);
    for await (const chunk of chunks) {
      if (raw.destroyed) throw new ClientGone();
      await new Promise<void>((resolve, reject) => {
        cutOff = reject;
        const stalled = stallMs === undefined ? undefined : setTimeout(() => raw.destroy(), stallMs);
        raw.write(chunk, (error) => {
          clearTimeout(stalled);
          if (error) reject(new ClientGone());
          else resolve();
        });
      });
    }
    raw.end();
  } catch (error) {
    raw.destroy();
    if (!(error instanceof ClientGone)) throw error;
  }
}

class ClientGone extends Error {}
