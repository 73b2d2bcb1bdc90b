import type { FastifyReply, FastifyRequest } from "fastify";
import type { Caller, Verified } from "../../core/node/caller.ts";
import type { Core } from "../../core/node/core.ts";
import {
  findRefusal,
  findVerified,
  requireActive,
  verifyToken,
  wasValid,
} from "../../core/people/sign-in.ts";
import type { Scope } from "../../core/people/tokens.ts";
import { findActing } from "../../core/people/users.ts";
import { newUsername } from "../../core/resource/fields.ts";
import { type ErrorCode, ParleyError } from "../../errors.ts";
import { ACT_AS, isActing, readActingUser } from "./acting.ts";
import type { Requester } from "./client-address.ts";
import type { HttpContext } from "./context.ts";
import { openSession } from "./sessions.ts";

// RFC 6750, section 2.1; the scheme's name is case-insensitive (RFC 9110, section 11.1).
const BEARER = /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i;

/** Errors that count as a failure of the client's address. A missing token is not a guess, so it does not count. */
const FAILED: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["invalid_token", "username_taken"]);

/**
 * Returns the caller of a request: the holder of its token, or the user as whom the holder acts. Sets the headers of rate limits
 * if there is a reply. Throws, or rejects with, what `authenticateHolder` throws, and what `actAs` throws.
 */
export function authenticate(
  context: HttpContext,
  request: Requester,
  reply?: FastifyReply,
): Caller | Promise<Caller> {
  const holder = authenticateHolder(context, request, reply);
  return isActing(request) ? actAs(context, request, holder) : holder;
}

/**
 * Returns the caller with the token's scopes as another user. The request counts for the token, and is no activity of that user.
 * Throws `insufficient_scope`, `invalid_parameter`, `user_not_found` and `user_paused`.
 */
async function actAs(
  { core, log }: HttpContext,
  request: Requester,
  authenticated: Caller | Promise<Caller>,
): Promise<Caller> {
  const holder = await authenticated;
  requireScope(holder, "act_as");
  const named = readActingUser(request);
  const userId = await findActing(core, named);
  if (userId === undefined) {
    const mistake = "username" in named ? newUsername.explain?.(named.username) : undefined;
    const detail = `No user matches ${ACT_AS}.${mistake === undefined ? "" : ` ${mistake}`}`;
    throw new ParleyError("user_not_found", detail, { param: ACT_AS });
  }
  const caller = { ...holder, userId, actedById: holder.userId };
  if (log.isDebug) log.debug({ request_id: request.id, ...actingFields(caller) }, "acting as a user");
  return caller;
}

/** Returns the log fields of a caller as whom somebody else acts. */
export function actingFields({ userId, actedById }: Caller): object {
  return { user_id: userId, acted_by_id: actedById };
}

/**
 * Returns the holder of a request's token. Throws, or rejects with, `missing_token`, `invalid_token`, `user_paused`,
 * `rate_limited`, or the reason why a user of the identity provider cannot sign in. A token that was valid when it was last sent
 * is not a guess: it is checked even while its address is refused for invalid tokens.
 */
function authenticateHolder(
  context: HttpContext,
  request: Requester,
  reply?: FastifyReply,
): Caller | Promise<Caller> {
  const token = tokenOf(context.core, request);
  if (token === undefined && request.headers.authorization === undefined)
    throw new ParleyError("missing_token");
  const verified = token === undefined ? undefined : findVerified(context.core, token);
  if (verified) return admit(context, verified, reply);
  if (token === undefined || !wasValid(context.core, token)) context.rates.refuseGuess(request, reply);
  return verify(context, request, reply, token);
}

/** Counts a request with a valid token. Throws `rate_limited` and `user_paused`. */
function admit({ core, rates }: HttpContext, verified: Verified, reply?: FastifyReply): Caller {
  const { caller } = verified;
  rates.count(caller, reply);
  // The activity of a paused user stays, because contacts see it.
  requireActive(verified);
  const now = core.clock();
  core.activity.note(caller.userId, now);
  if (caller.tokenId !== null) core.activity.note(caller.tokenId, now);
  return caller;
}

/**
 * Returns the bearer token of a request or, without an Authorization header, the token of its session. Undefined if it is
 * missing or malformed.
 */
export function tokenOf(core: Core, request: Requester): string | undefined {
  const { authorization } = request.headers;
  return authorization === undefined ? openSession(core, request) : BEARER.exec(authorization)?.[1];
}

async function verify(
  context: HttpContext,
  request: Requester,
  reply: FastifyReply | undefined,
  token: string | undefined,
): Promise<Caller> {
  try {
    if (token === undefined) throw new ParleyError("invalid_token");
    return admit(context, await verifyToken(context.core, token), reply);
  } catch (error) {
    countFailure(context, request, error);
    throw error;
  }
}

/**
 * Checks the caller again after tokens were revoked or users paused while the body of the request arrived: such a body could
 * otherwise create a token. Throws `invalid_token` and `user_paused`.
 */
export async function recheckCaller({ core }: HttpContext, request: FastifyRequest): Promise<void> {
  const refusal = await findRefusal(core, tokenOf(core, request)!, request.caller);
  if (refusal) throw new ParleyError(refusal);
}

/** Counts an error that is a failure of the client's address. */
export function countFailure({ rates }: HttpContext, request: Requester, error: unknown): void {
  if (error instanceof ParleyError && FAILED.has(error.code)) rates.countFailure(request);
}

/** Throws `insufficient_scope`. */
export function requireScope(caller: Caller, scope: Scope): void {
  if (caller.scopes.has(scope)) return;
  throw new ParleyError("insufficient_scope", `The token needs the scope ${scope}.`, {
    header: scope,
  });
}
