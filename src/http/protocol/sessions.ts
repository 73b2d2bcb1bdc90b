import type { FastifyReply, FastifyRequest } from "fastify";
import type { Core } from "../../core/node/core.ts";
import { Seal } from "../../core/node/seal.ts";
import { ParleyError } from "../../errors.ts";
import type { Requester } from "./client-address.ts";

// A session keeps a token in a browser as a cookie, encrypted with a key that only the page has and sends as a header.
// A cookie alone is not safe: browsers attach it to requests that other sites cause, and send it to servers on all other
// ports of the host.

export const KEY_HEADER = "parley-session";
/** 256 bits. */
const KEY = /^[0-9a-f]{64}$/;
const CONTEXT = "session";
/** The cookie of a sign-in at the identity provider, whose key is that of the session it will start. */
const PENDING = "sign-in";
const PENDING_SECONDS = 10 * 60;
/** How many cookies of the same name are tried. Other servers on the host can add some. */
const MAX_COOKIES = 10;
const MAX_AGE_SECONDS = 30 * 24 * 60 * 60;

/** Returns the token of a request's session; undefined without a session, or if the key does not decrypt the cookie. */
export function openSession(core: Core, request: Requester): string | undefined {
  return openCookie(core, request, cookieName(core), CONTEXT);
}

function openCookie(core: Core, { headers }: Requester, name: string, context: string): string | undefined {
  const key = headers[KEY_HEADER] as string | undefined;
  if (key === undefined || headers.cookie === undefined || !KEY.test(key)) return undefined;
  const seal = new Seal([key], core.random);
  const start = `${name}=`;
  const cookies = headers.cookie.split(/; */).filter((each) => each.startsWith(start));
  for (const cookie of cookies.slice(0, MAX_COOKIES)) {
    const text = seal.open(cookie.slice(start.length), context);
    if (text !== undefined) return text;
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
  const seconds = Math.min(MAX_AGE_SECONDS, Math.ceil((expiresAt - core.clock()) / 1000));
  sendCookie(core, reply, cookieName(core), sealWithKey(core, request, token, CONTEXT), seconds);
}

/** Keeps what the answer of the identity provider must match in the browser. Throws `invalid_parameter`. */
export function keepPending(core: Core, request: FastifyRequest, reply: FastifyReply, pending: string): void {
  const sealed = sealWithKey(core, request, pending, PENDING);
  sendCookie(core, reply, pendingName(core), sealed, PENDING_SECONDS);
}

/** Returns what `keepPending` has kept, once; undefined if there is none, or the key is another one. */
export function takePending(core: Core, request: FastifyRequest, reply: FastifyReply): string | undefined {
  const pending = openCookie(core, request, pendingName(core), PENDING);
  if (pending !== undefined) sendCookie(core, reply, pendingName(core), "", 0);
  return pending;
}

function sealWithKey(core: Core, { headers }: FastifyRequest, text: string, context: string): string {
  const key = headers[KEY_HEADER] as string | undefined;
  if (key !== undefined && KEY.test(key)) return new Seal([key], core.random).seal(text, context);
  throw new ParleyError(
    "invalid_parameter",
    "Parley-Session must be the key of the session: 32 random bytes in hexadecimal.",
    { param: "Parley-Session" },
  );
}

/**
 * Ends the session of the request, and returns its token; undefined if it has none. A cookie that the key does not decrypt belongs to
 * a later session.
 */
export function endSession(core: Core, request: FastifyRequest, reply: FastifyReply): string | undefined {
  const token = openSession(core, request);
  if (token !== undefined) sendCookie(core, reply, cookieName(core), "", 0);
  return token;
}

/** Sets the cookie without a Path: the browser uses the path that it sees, which a reverse proxy may have changed. */
function sendCookie(core: Core, reply: FastifyReply, name: string, value: string, seconds: number): void {
  const secure = isSecure(core) ? "; Secure" : "";
  reply.header("set-cookie", `${name}=${value}; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`);
}

/** Returns the cookie's name. It has part of the public key, because all servers on the ports of a host share its cookies. */
function cookieName(core: Core): string {
  return `${isSecure(core) ? "__Secure-" : ""}parley-${core.pushIdentity.publicKey.slice(0, 16)}`;
}

function pendingName(core: Core): string {
  return `${cookieName(core)}-${PENDING}`;
}

function isSecure(core: Core): boolean {
  return core.origin().startsWith("https:");
}
