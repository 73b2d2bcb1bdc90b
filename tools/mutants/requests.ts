// Requests that are read less strictly, without a bound, or told too much about.
import type { Mutant } from "./mutant.ts";

export const requests: readonly Mutant[] = [
  {
    name: "believe what clients say of their address and of the server's",
    find: "trustProxy: trustedProxies.length > 0 && [...trustedProxies],",
    replace: "trustProxy: true,",
    tests: ["attacks/forwarded"],
  },
  {
    name: "log the headers of a request",
    find: "const { method, url } = raw; return { request_id: id,",
    replace: "const { method, url, headers } = raw; return { headers, request_id: id,",
    tests: ["http/logs"],
  },
  {
    name: "let pages of other origins send the key of a session",
    find: "&& !OF_SESSIONS.has(name)",
    replace: "",
    tests: ["attacks/sessions"],
  },
  {
    name: "let pages of all origins call",
    find: 'origins.includes("*") ? "*" : [...origins]',
    replace: '"*"',
    tests: ["http/service"],
  },
];
