import { type IncomingMessage, type Server, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { ParleyError } from "../errors.ts";
import type { HttpContext } from "./context.ts";
import { problemOf } from "./problems.ts";

/** Time for an answer to reach a client that goes on sending; no refused connection is held for longer. */
const DESTROY_AFTER_MS = 1000;

/** Answers, in the shape of all errors, what Node refuses before there is a request. */
export function answerClientError(error: NodeJS.ErrnoException, socket: Duplex, context: HttpContext): void {
  // The end of what was refused is an error, too.
  if (socket.writableEnded && error.code !== "ECONNRESET") return;
  // Inside an answer that is under way another would be taken for its bytes. Node's own handler looks there, too.
  const { _httpMessage: answering } = socket as Duplex & { _httpMessage?: { headersSent: boolean } };
  if (error.code === "ECONNRESET" || !socket.writable || answering?.headersSent) socket.destroy();
  else answer(context, socket, clientError(error, context.limits.maxHeaderBytes));
}

/** Takes the requests that Node would answer by itself, without a body, or drop. */
export function answerOddRequests(server: Server, context: HttpContext): void {
  // An expectation other than 100-continue may be ignored (RFC 9110, section 10.1.1).
  server.on("checkExpectation", (request, response) => server.emit("request", request, response));
  server.on("connect", (_request: IncomingMessage, socket: Duplex) => {
    // Node has given the connection up to this listener: nobody else hears its errors, or ends it.
    socket.on("error", () => {});
    const error = new ParleyError("method_not_allowed", "This is not a proxy.", { header: "GET, HEAD" });
    answer(context, socket, error);
  });
}

function clientError(error: NodeJS.ErrnoException, maxHeaderBytes: number): ParleyError {
  switch (error.code) {
    case "HPE_HEADER_OVERFLOW":
      return new ParleyError(
        "headers_too_large",
        `The request line and the headers may have at most ${maxHeaderBytes} bytes.`,
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
    "content-length": String(Buffer.byteLength(problem.body)),
    connection: "close",
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const text = `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\n${lines.join("")}\r\n${problem.body}`;
  socket.end(text);
  // Nothing that still comes is read as a request: after a time-out the parser would go on with the one that was refused.
  socket.removeAllListeners("data").on("data", () => {});
  // Not at once: a connection that is closed with bytes unread is reset, and the answer may be lost with it (RFC 9112,
  // section 9.6).
  setTimeout(() => socket.destroy(), DESTROY_AFTER_MS).unref();
}
