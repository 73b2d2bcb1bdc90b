import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** So many may wait before nothing more is read: a connection that is not read does not tell that its client has gone. */
const READ_AHEAD = 32;

/**
 * Handles the requests of a connection one after another: the next begins when the answer before it has left the server. A
 * client that pipelines requests and reads no answers (RFC 9112, section 9.3.2) thus holds one answer, not thousands.
 * While many wait, nothing more is read from their connection. What one read has brought may be more than `maxWaiting`
 * requests; such a connection is closed, as each of them takes memory and time.
 */
export function handleInOrder(server: Server, maxWaiting: number): void {
  const [handle] = server.listeners("request") as ((...request: Request) => void)[];
  const waiting = new WeakMap<Socket, number>();
  server.removeAllListeners("request");
  server.on("request", (request, response) => {
    // Node assigns the connection to one response at a time.
    if (response.socket) return handle!(request, response);
    const { socket } = request;
    const count = (waiting.get(socket) ?? 0) + 1;
    if (count > maxWaiting) hangUp(socket);
    waiting.set(socket, count);
    if (count === READ_AHEAD) socket.on("resume", stayPaused);
    if (count >= READ_AHEAD) socket.pause();
    response.once("socket", () => {
      const left = waiting.get(socket)! - 1;
      waiting.set(socket, left);
      if (left === READ_AHEAD - 1) socket.off("resume", stayPaused).resume();
      handle!(request, response);
    });
  });
}

/** The signal to Node's parser that no HTTP follows a request, as after an upgrade. */
const NO_HTTP_FOLLOWS = 2;

/** Closes the connection, and keeps the parser from the rest of what was read, which it goes through in any case. */
function hangUp(socket: Socket & { parser?: { onIncoming: () => number } }): void {
  socket.destroy();
  // No documented way does this. Should a later Node have no such parser, the rest is parsed.
  if (socket.parser) socket.parser.onIncoming = () => NO_HTTP_FOLLOWS;
}

type Request = [request: IncomingMessage, response: ServerResponse];

/** Node resumes a connection when an answer ends. */
function stayPaused(this: Socket): void {
  this.pause();
}
