import type { FastifyReply, FastifyRequest } from "fastify";
import type { Caller } from "../../core/node/caller.ts";
import type { Core } from "../../core/node/core.ts";
import { knownCaller, verifyToken, wasValid } from "../../core/people/sign-in.ts";
import type { Scope } from "../../core/people/tokens.ts";
import { type ErrorCode, ParleyError } from "../../errors.ts";
import type { HttpContext } from "./context.ts";
import { openSession } from "./sessions.ts";

// RFC 6750, section 2.1; the scheme's name is case-insensitive (RFC 9110, section 11.1).
const BEARER = /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i;

/** What counts as a failure of the client's address. A missing token does not: the client guessed nothing. */
const FAILED: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["invalid_token", "username_taken"]);

/**
 * The caller that a request's token stands for. Throws, or rejects with, `missing_token`, `invalid_token`,
 * `rate_limited` and what stands in the way of a user of the identity provider. A token that was valid
 * when it last came is no guess: its caller is let in, also while others of the same address are refused.
 */
export function authenticate(
  context: HttpContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Caller | Promise<Caller> {
  const token = tokenOf(context.core, request);
  if (token === undefined && request.headers.authorization === undefined)
    throw new ParleyError("missing_token");
  const caller = token === undefined ? undefined : knownCaller(context.core, token);
  if (caller) return admit(context, caller, reply);
  if (token === undefined || !wasValid(context.core, token)) context.rates.refuseGuess(request, reply);
  return verify(context, request, reply, token);
}

/** Counts a request of a caller whose token is good. Throws `rate_limited`. */
function admit({ core, rates }: HttpContext, caller: Caller, reply: FastifyReply): Caller {
  rates.count(caller, reply);
  core.activity.note(caller.userId, core.clock());
  return caller;
}

/** Returns the bearer token of a request, without an Authorization that of its session; undefined if it is missing or malformed. */
export function tokenOf(core: Core, request: FastifyRequest): string | undefined {
  const { authorization } = request.headers;
  return authorization === undefined ? openSession(core, request) : BEARER.exec(authorization)?.[1];
}

async function verify(
  context: HttpContext,
  request: FastifyRequest,
  reply: FastifyReply,
  token: string | undefined,
): Promise<Caller> {
  try {
    if (token === undefined) throw new ParleyError("invalid_token");
    return admit(context, await verifyToken(context.core, token), reply);
  } catch (error) {
    if (error instanceof ParleyError && FAILED.has(error.code)) context.rates.countFailure(request);
    throw error;
  }
}

/** Throws `insufficient_scope`. */
export function requireScope(caller: Caller, scope: Scope): void {
  if (caller.scopes.has(scope)) return;
  throw new ParleyError("insufficient_scope", `The token needs the scope ${scope}.`, {
    header: scope,
  });
}
