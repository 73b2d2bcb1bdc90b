import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { ParleyError } from "../../errors.ts";
import { http } from "../../util/node-http.ts";
import type { HttpContext } from "./context.ts";
import { problemOf } from "./problems.ts";

/** Time for an answer to reach a client that continues to send. Then a refused connection is destroyed. */
const DESTROY_AFTER_MS = 1000;

/** Answers what Node refuses before there is a request, in the same form as all errors. */
export function answerClientError(error: NodeJS.ErrnoException, socket: Duplex, context: HttpContext): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    // Node also reports the end of a refused connection as an error.
    if (!socket.writableEnded || error.code === "ECONNRESET") socket.destroy();
  } else answerInOrder(context, socket, clientError(error, context.limits.maxHeaderBytes));
}

const refused = new WeakSet<Duplex>();

/** Answers after all complete requests that came earlier, because clients expect answers in the order of requests. */
export function answerInOrder(context: HttpContext, socket: Duplex, error: ParleyError): void {
  if (refused.has(socket)) return;
  refused.add(socket);
  const whenFree = () => {
    // Node's own error handler reads this property, too.
    const { _httpMessage: answering } = socket as Duplex & { _httpMessage?: ServerResponse };
    if (answering?.req.complete) answering.once("close", whenFree);
    // The error is in the body of the request that is being answered.
    else if (answering?.headersSent) socket.destroy();
    else if (socket.writable) answer(context, socket, error);
  };
  whenFree();
}

/** Handles requests that Node would drop, or answer without a body. */
export function answerOddRequests(server: Server, context: HttpContext): void {
  // An expectation other than 100-continue may be ignored (RFC 9110, section 10.1.1).
  server.on("checkExpectation", (request, response) => server.emit("request", request, response));
  server.on("connect", (_request: IncomingMessage, socket: Duplex) => {
    // Only this listener has the connection now. An unhandled error would end the process.
    socket.on("error", () => {});
    const error = new ParleyError("method_not_allowed", "This server is not a proxy.", {
      header: "GET, HEAD",
    });
    answerInOrder(context, socket, error);
  });
}

function clientError(error: NodeJS.ErrnoException, maxHeaderBytes: number): ParleyError {
  switch (error.code) {
    case "HPE_HEADER_OVERFLOW":
      return new ParleyError(
        "headers_too_large",
        `The request line and the headers can have at most ${maxHeaderBytes} bytes.`,
      );
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return new ParleyError("request_timeout");
    default:
      return new ParleyError("malformed_request");
  }
}

function answer(context: HttpContext, socket: Duplex, error: ParleyError): void {
  const requestId = context.core.newId("req");
  const problem = problemOf(error, requestId, context.core.origin());
  const headers = {
    ...problem.headers,
    "request-id": requestId,
    "x-content-type-options": "nosniff",
    "content-length": String(Buffer.byteLength(problem.body)),
    connection: "close",
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const text = `HTTP/1.1 ${problem.status} ${http.STATUS_CODES[problem.status]}\r\n${lines.join("")}\r\n${problem.body}`;
  socket.end(text);
  // Ignore further bytes: after a timeout the parser would continue with the refused request.
  dropInput(socket);
}

/** Drops further bytes of a connection that the server has ended, and soon destroys it. */
export function dropInput(socket: Duplex): void {
  socket.removeAllListeners("data").on("data", () => {});
  // Wait: closing a connection with unread bytes resets it, and the client may lose the answer (RFC 9112, section 9.6).
  setTimeout(() => socket.destroy(), DESTROY_AFTER_MS).unref();
}
