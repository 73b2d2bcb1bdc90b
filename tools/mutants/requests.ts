// Requests: strict parsing, limits, and what is logged.
import type { Mutant } from "./mutant.ts";

export const requests: readonly Mutant[] = [
  {
    name: "forwarded headers of any client are trusted",
    find: "trustProxy: trustedProxies.length > 0 && [...trustedProxies],",
    replace: "trustProxy: true,",
    tests: ["attacks/forwarded"],
  },
  {
    name: "request headers are logged",
    find: "const { method, url } = raw; return { request_id: id,",
    replace: "const { method, url, headers } = raw; return { headers, request_id: id,",
    tests: ["http/logs"],
  },
  {
    name: "CORS allows other origins to send the session key",
    find: "&& !REFUSED.has(name)",
    replace: "",
    tests: ["attacks/sessions"],
  },
  {
    name: "CORS allows all origins",
    find: 'origins.includes("*") ? "*" : [...origins]',
    replace: '"*"',
    tests: ["http/service"],
  },
  {
    name: "a request can have two Host or Authorization headers",
    find: "if (twice) throw",
    replace: "if (twice === undefined && twice) throw",
    tests: ["attacks/headers"],
  },
  {
    name: "a request whose headers follow the answer 408 runs",
    find: 'socket.removeAllListeners("data").on("data", () => {});',
    replace: "",
    tests: ["attacks/slow"],
  },
  {
    name: "the rest of a closed connection is parsed",
    find: "if (socket.parser) socket.parser.onIncoming = () => NO_HTTP_FOLLOWS;",
    replace: "",
    tests: ["attacks/pipelining"],
  },
  {
    name: "the answer 500 reveals the cause",
    find: 'known ?? new ParleyError("internal_error"), request.id',
    replace: 'known ?? new ParleyError("internal_error", error.message), request.id',
    tests: ["attacks/answers"],
  },
  {
    name: "queries are logged",
    find: "path: hideTokens(url!.split(QUERY, 1)[0]!) };",
    replace: "path: url! };",
    tests: ["http/logs"],
  },
  {
    name: "a token in the path of a request is logged",
    find: "path: hideTokens(url!.split(QUERY, 1)[0]!) };",
    replace: "path: url!.split(QUERY, 1)[0]! };",
    tests: ["attacks/secrets"],
  },
  {
    name: "the headers of a part can have any size",
    find: "if (length > this.#maxHeaderBytes) {",
    replace: "if (length < -3) {",
    tests: ["attacks/multipart"],
  },
];
