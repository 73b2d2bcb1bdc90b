import type { FastifyInstance, FastifyRequest } from "fastify";
import type { OpenId, PendingSignIn } from "../../../core/node/openid.ts";
import { tokenExpiry } from "../../../core/people/sign-in.ts";
import {
  LINK_SECONDS,
  makeLinkCode,
  openLinkCode,
  signInByOpenId,
} from "../../../core/people/sign-in-browser.ts";
import { anyText, readFields } from "../../../core/resource/fields.ts";
import { ParleyError } from "../../../errors.ts";
import { tokenOf } from "../../protocol/authentication.ts";
import { bodyFields } from "../../protocol/bodies.ts";
import { hasBody } from "../../protocol/body-reader.ts";
import type { HttpContext } from "../../protocol/context.ts";
import { queryOf } from "../../protocol/operation.ts";
import { endSession, keepPending, startSession, takePending } from "../../protocol/sessions.ts";

/** Adds the session that keeps a browser signed in to the console, and the ways to start one. */
export function sessionRoutes(app: FastifyInstance, context: HttpContext): void {
  const { core } = context;
  app.post("/session", async (request, reply) => {
    refuseFields(request);
    const token = tokenOf(core, request)!;
    startSession(core, request, reply, token, await tokenExpiry(core, token));
    return reply.code(204).send();
  });
  // The token is not checked: a session whose token was revoked can end, too.
  app.delete("/session", { config: { public: true } }, async (request, reply) => {
    refuseFields(request);
    endSession(core, request, reply);
    return reply.header("cache-control", "no-store").code(204).send();
  });
  openIdRoutes(app, context);
  linkRoutes(app, context);
}

/** Adds the sign-in at an OpenID provider. The page sends the answer of the provider, whose address has the code. */
function openIdRoutes(app: FastifyInstance, context: HttpContext): void {
  const { core } = context;
  const redirectUri = () => `${core.origin()}/`;
  app.get("/session/provider", { config: { public: true } }, async (request, reply) => {
    refuseFields(request);
    reply.header("cache-control", "no-store");
    return { issuer: core.openId?.issuer ?? null };
  });
  app.post("/session/provider", { config: { public: true } }, async (request, reply) => {
    refuseFields(request);
    const { url, pending } = await provider(core.openId).begin(redirectUri());
    keepPending(core, request, reply, JSON.stringify(pending));
    reply.header("cache-control", "no-store");
    return { url };
  });
  app.post("/session/provider/answer", { config: { public: true } }, async (request, reply) => {
    const openId = provider(core.openId);
    context.rates.refuseGuess(request, reply);
    const { answer } = await readBody(request, context, "answer");
    const pending = takePending(core, request, reply);
    reply.header("cache-control", "no-store");
    try {
      if (pending === undefined) {
        throw new ParleyError(
          "invalid_token",
          "This sign-in began in another browser, or too long ago. Sign in again.",
        );
      }
      const claims = await openId.finish(redirectUri(), answer!, JSON.parse(pending) as PendingSignIn);
      const { token, expiresAt } = await signInByOpenId(core, openId.issuer, claims);
      startSession(core, request, reply, token, expiresAt);
    } catch (error) {
      context.rates.countFailure(request);
      throw error;
    }
    return reply.code(204).send();
  });
}

function provider(openId: OpenId | null): OpenId {
  if (!openId)
    throw new ParleyError("route_not_found", "This server has no sign-in at an identity provider.");
  return openId;
}

/** Adds the links with which the command line signs a browser in. */
function linkRoutes(app: FastifyInstance, context: HttpContext): void {
  const { core } = context;
  app.post("/session/links", async (request, reply) => {
    refuseFields(request);
    const code = makeLinkCode(core, tokenOf(core, request)!);
    reply.code(201);
    return { code, expires_in: LINK_SECONDS };
  });
  app.post("/session/links/use", { config: { public: true } }, async (request, reply) => {
    context.rates.refuseGuess(request, reply);
    const { code } = await readBody(request, context, "code");
    reply.header("cache-control", "no-store");
    try {
      const token = openLinkCode(core, code!);
      startSession(core, request, reply, token, await tokenExpiry(core, token));
    } catch (error) {
      context.rates.countFailure(request);
      throw error;
    }
    return reply.code(204).send();
  });
}

/** Reads a body with this one field. */
async function readBody<N extends string>(
  request: FastifyRequest,
  { limits }: HttpContext,
  name: N,
): Promise<{ [K in N]?: string }> {
  readFields({}, queryOf(request));
  return readFields({ [name]: anyText }, await bodyFields(request, limits)) as { [K in N]?: string };
}

function refuseFields(request: FastifyRequest): void {
  readFields({}, queryOf(request));
  if (hasBody(request.raw)) throw new ParleyError("malformed_body", "Send this request without a body.");
}
