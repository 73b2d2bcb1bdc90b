import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** How many requests may wait before reading pauses. While it is paused, a client that disconnects goes unnoticed. */
const READ_AHEAD = 32;

/**
 * Handles the requests of a connection one after another: the next starts when the previous answer has left the server. So
 * a client that pipelines requests and reads no answers (RFC 9112, section 9.3.2) holds one answer in memory, not thousands.
 * While many requests wait, the connection is not read. If a single read brings more than `maxWaiting` requests, the
 * connection is closed, because each request takes memory and time.
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

/** Tells Node's parser that no HTTP follows a request, as after an upgrade. */
const NO_HTTP_FOLLOWS = 2;

/** Closes the connection, and stops the parser, which would otherwise parse the rest of the last read. */
function hangUp(socket: Socket & { parser?: { onIncoming: () => number } }): void {
  socket.destroy();
  // There is no documented way to do this. If a later Node has no such parser, the rest is parsed.
  if (socket.parser) socket.parser.onIncoming = () => NO_HTTP_FOLLOWS;
}

type Request = [request: IncomingMessage, response: ServerResponse];

/** Pauses again: Node resumes a connection when an answer ends. */
function stayPaused(this: Socket): void {
  this.pause();
}
