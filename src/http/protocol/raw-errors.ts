import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { ParleyError } from "../../errors.ts";
import { http } from "../../util/node-http.ts";
import type { HttpContext } from "./context.ts";
import { problemOf } from "./problems.ts";

/** Time for an answer to reach a client that goes on sending; no refused connection is held for longer. */
const DESTROY_AFTER_MS = 1000;

/** Answers, in the shape of all errors, what Node refuses before there is a request. */
export function answerClientError(error: NodeJS.ErrnoException, socket: Duplex, context: HttpContext): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    // The end of what was refused is an error, too.
    if (!socket.writableEnded || error.code === "ECONNRESET") socket.destroy();
  } else answerInOrder(context, socket, clientError(error, context.limits.maxHeaderBytes));
}

const refused = new WeakSet<Duplex>();

/** A client takes answers in the order of its requests: those that came whole before this one are answered first. */
function answerInOrder(context: HttpContext, socket: Duplex, error: ParleyError): void {
  if (refused.has(socket)) return;
  refused.add(socket);
  const whenFree = () => {
    // Node's own handler of these errors looks there, too.
    const { _httpMessage: answering } = socket as Duplex & { _httpMessage?: ServerResponse };
    if (answering?.req.complete) answering.once("close", whenFree);
    // What is wrong is the body of the request that is being answered.
    else if (answering?.headersSent) socket.destroy();
    else if (socket.writable) answer(context, socket, error);
  };
  whenFree();
}

/** Takes the requests that Node would answer by itself, without a body, or drop. */
export function answerOddRequests(server: Server, context: HttpContext): void {
  // An expectation other than 100-continue may be ignored (RFC 9110, section 10.1.1).
  server.on("checkExpectation", (request, response) => server.emit("request", request, response));
  server.on("connect", (_request: IncomingMessage, socket: Duplex) => {
    // Node has given the connection up to this listener: nobody else hears its errors, or ends it.
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
  // Nothing that still comes is read as a request: after a time-out the parser would go on with the one that was refused.
  socket.removeAllListeners("data").on("data", () => {});
  // Not at once: a connection that is closed with bytes unread is reset, and the answer may be lost with it (RFC 9112,
  // section 9.6).
  setTimeout(() => socket.destroy(), DESTROY_AFTER_MS).unref();
}
