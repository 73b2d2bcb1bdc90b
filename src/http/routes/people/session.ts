import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Core } from "../../../core/node/core.ts";
import type { OpenId, PendingSignIn } from "../../../core/node/openid.ts";
import { verifyKnownToken } from "../../../core/people/sign-in.ts";
import {
  getLinkUsername,
  LINK_SECONDS,
  makeLinkCode,
  openLinkCode,
  revokeSessionToken,
  type SessionToken,
  signInByOpenId,
} from "../../../core/people/sign-in-browser.ts";
import { anyText, optional, type Parsed, readFields } from "../../../core/resource/fields.ts";
import { ParleyError } from "../../../errors.ts";
import { errorFields } from "../../../util/log.ts";
import { ACT_AS, isActing } from "../../protocol/acting.ts";
import { authenticate, countFailure, tokenOf } from "../../protocol/authentication.ts";
import { bodyFields } from "../../protocol/bodies.ts";
import { hasBody } from "../../protocol/body-reader.ts";
import type { HttpContext } from "../../protocol/context.ts";
import { queryOf } from "../../protocol/operation.ts";
import { endSession, keepPending, startSession, takePending } from "../../protocol/sessions.ts";

// All paths have one segment: the browser limits a cookie to the folder of the path that sets it.

const OPEN = { config: { public: true } };

/** What starts a session instead of a token. */
const startFields = {
  /** The query with which the identity provider sent the browser back. */
  answer: optional(anyText),
  /** The code of a sign-in link. */
  code: optional(anyText),
};

/** The code of a sign-in link, to ask before it is used. */
const beginFields = { code: startFields.code };

/** Adds the session that keeps a browser signed in to the console, and the ways to start one. */
export function sessionRoutes(app: FastifyInstance, context: HttpContext): void {
  const { core } = context;
  app.post("/session", OPEN, async (request, reply) => {
    reply.header("cache-control", "no-store");
    refuseActing(request);
    readFields({}, queryOf(request));
    const fields = readFields(startFields, await bodyFields(request, context.limits));
    const { token, expiresAt } = await findToken(context, request, reply, fields);
    startSession(core, request, reply, token, expiresAt);
    return reply.code(204).send();
  });
  // The token is not checked: a session whose token was revoked can end, too.
  app.delete("/session", OPEN, async (request, reply) => {
    refuseFields(request);
    const token = endSession(core, request, reply);
    if (token !== undefined) await revokeSessionToken(core, token);
    return reply.header("cache-control", "no-store").code(204).send();
  });
  app.get("/sign-in", OPEN, async (request, reply) => {
    refuseFields(request);
    reply.header("cache-control", "no-store");
    return { issuer: core.openId?.issuer ?? null };
  });
  app.post("/sign-in", OPEN, async (request, reply) => {
    reply.header("cache-control", "no-store");
    readFields({}, queryOf(request));
    const { code } = readFields(beginFields, await bodyFields(request, context.limits));
    if (code !== undefined) {
      return { username: await checkGuess(context, request, reply, () => getLinkUsername(core, code)) };
    }
    const { url, pending } = await requireOpenId(core).begin(redirectUri(core));
    keepPending(core, request, reply, JSON.stringify(pending));
    return { url };
  });
  app.post("/sign-in-link", async (request, reply) => {
    refuseFields(request);
    refuseActing(request);
    reply.code(201);
    return { code: makeLinkCode(core, tokenOf(core, request)!), expires_in: LINK_SECONDS };
  });
}

/** Returns the token of the session to start: that of the request, of a sign-in link, or a new one after a sign-in. */
async function findToken(
  context: HttpContext,
  request: FastifyRequest,
  reply: FastifyReply,
  { answer, code }: Parsed<typeof startFields>,
): Promise<SessionToken> {
  const { core } = context;
  const toSession = async (token: string) => ({
    token,
    expiresAt: (await verifyKnownToken(core, token)).expiresAt,
  });
  if (answer === undefined && code === undefined) {
    await authenticate(context, request, reply);
    return toSession(tokenOf(core, request)!);
  }
  if (answer !== undefined && code !== undefined) {
    throw new ParleyError("invalid_parameter", "Send either answer or code.", { param: "code" });
  }
  return checkGuess(context, request, reply, async () =>
    code === undefined ? redeem(context, request, reply, answer!) : toSession(openLinkCode(core, code)),
  );
}

/** Runs a check of what may be a guess. Throws `rate_limited`, and what the check throws. */
async function checkGuess<T>(
  context: HttpContext,
  request: FastifyRequest,
  reply: FastifyReply,
  check: () => Promise<T>,
): Promise<T> {
  context.rates.refuseGuess(request, reply);
  try {
    return await check();
  } catch (error) {
    countFailure(context, request, error);
    throw error;
  }
}

/** Redeems the answer of the identity provider. */
async function redeem(
  { core, log }: HttpContext,
  request: FastifyRequest,
  reply: FastifyReply,
  answer: string,
): Promise<SessionToken> {
  const openId = requireOpenId(core);
  const pending = parsePending(takePending(core, request, reply));
  if (pending === undefined) {
    throw new ParleyError(
      "invalid_token",
      "This sign-in began in another browser or too long ago. Sign in again.",
    );
  }
  const claims = await openId.finish(redirectUri(core), answer, pending);
  try {
    return await signInByOpenId(core, claims);
  } catch (error) {
    log.warn({ request_id: request.id, ...errorFields(error) }, "a sign-in at the OpenID provider failed");
    throw error;
  }
}

/** The client has the key of the cookie, and can have put any text into it. */
function parsePending(text: string | undefined): PendingSignIn | undefined {
  try {
    const pending: unknown = JSON.parse(text ?? "null");
    return typeof pending === "object" && pending !== null ? (pending as PendingSignIn) : undefined;
  } catch {
    return undefined;
  }
}

/** The address of the console, which is registered at the provider. */
function redirectUri(core: Core): string {
  return `${core.origin()}/`;
}

function requireOpenId({ openId }: Core): OpenId {
  if (openId) return openId;
  throw new ParleyError("route_not_found", "This server has no sign-in at an identity provider.");
}

/** A session acts for nobody else, so it is not made as another user either. */
function refuseActing(request: FastifyRequest): void {
  if (!isActing(request)) return;
  throw new ParleyError("invalid_parameter", `Start a session without ${ACT_AS}.`, { param: ACT_AS });
}

function refuseFields(request: FastifyRequest): void {
  readFields({}, queryOf(request));
  if (hasBody(request.raw)) throw new ParleyError("malformed_body", "Send this request without a body.");
}
