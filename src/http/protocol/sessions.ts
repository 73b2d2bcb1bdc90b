import type { FastifyReply, FastifyRequest } from "fastify";
import type { Core } from "../../core/node/core.ts";
import { Seal } from "../../core/node/seal.ts";
import { ParleyError } from "../../errors.ts";

// A session keeps a token in a browser as a cookie, encrypted with a key that only the page has and sends as a header.
// A cookie alone is not safe: browsers attach it to requests that other sites cause, and send it to servers on all other
// ports of the host.

export const KEY_HEADER = "parley-session";
/** 256 bits. */
const KEY = /^[0-9a-f]{64}$/;
const CONTEXT = "session";
/** How many cookies of the same name are tried. Other servers on the host can add some. */
const MAX_COOKIES = 10;
const MAX_AGE_SECONDS = 30 * 24 * 60 * 60;

/** Returns the token of a request's session; undefined without a session, or if the key does not decrypt the cookie. */
export function openSession(core: Core, { headers }: FastifyRequest): string | undefined {
  const key = headers[KEY_HEADER] as string | undefined;
  if (key === undefined || headers.cookie === undefined || !KEY.test(key)) return undefined;
  const seal = new Seal([key], core.random);
  const start = `${cookieName(core)}=`;
  const cookies = headers.cookie.split(/; */).filter((each) => each.startsWith(start));
  for (const cookie of cookies.slice(0, MAX_COOKIES)) {
    const token = seal.open(cookie.slice(start.length), CONTEXT);
    if (token !== undefined) return token;
  }
  return undefined;
}

/** Starts a session with the key of the request. `expiresAt` is the token's, in milliseconds. Throws `invalid_parameter`. */
export function startSession(
  core: Core,
  request: FastifyRequest,
  reply: FastifyReply,
  token: string,
  expiresAt: number,
): void {
  const key = request.headers[KEY_HEADER] as string | undefined;
  if (key === undefined || !KEY.test(key)) {
    throw new ParleyError(
      "invalid_parameter",
      "Parley-Session must be the key of the session: 32 random bytes in hexadecimal.",
      { param: "Parley-Session" },
    );
  }
  const seconds = Math.min(MAX_AGE_SECONDS, Math.ceil((expiresAt - core.clock()) / 1000));
  sendCookie(core, reply, new Seal([key], core.random).seal(token, CONTEXT), seconds);
}

/** Ends the session of the request, if it has one. A cookie that the key does not decrypt belongs to a later session. */
export function endSession(core: Core, request: FastifyRequest, reply: FastifyReply): void {
  if (openSession(core, request) !== undefined) sendCookie(core, reply, "", 0);
}

/** Sets the cookie without a Path: the browser uses the path that it sees, which a reverse proxy may have changed. */
function sendCookie(core: Core, reply: FastifyReply, value: string, seconds: number): void {
  const secure = isSecure(core) ? "; Secure" : "";
  reply.header(
    "set-cookie",
    `${cookieName(core)}=${value}; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`,
  );
}

/** Returns the cookie's name. It has part of the public key, because all servers on the ports of a host share its cookies. */
function cookieName(core: Core): string {
  return `${isSecure(core) ? "__Secure-" : ""}parley-${core.pushIdentity.publicKey.slice(0, 16)}`;
}

function isSecure(core: Core): boolean {
  return core.origin().startsWith("https:");
}
