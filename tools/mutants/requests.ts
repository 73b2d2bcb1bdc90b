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
    find: "&& !OF_SESSIONS.has(name)",
    replace: "",
    tests: ["attacks/sessions"],
  },
  {
    name: "CORS allows all origins",
    find: 'origins.includes("*") ? "*" : [...origins]',
    replace: '"*"',
    tests: ["http/service"],
  },
];
