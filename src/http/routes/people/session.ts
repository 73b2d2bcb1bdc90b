import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Core } from "../../../core/node/core.ts";
import { tokenExpiry } from "../../../core/people/sign-in.ts";
import { readFields } from "../../../core/resource/fields.ts";
import { ParleyError } from "../../../errors.ts";
import { tokenOf } from "../../protocol/authentication.ts";
import { hasBody } from "../../protocol/body-reader.ts";
import { queryOf } from "../../protocol/operation.ts";
import { endSession, startSession } from "../../protocol/sessions.ts";

/** Adds the session that keeps a browser signed in to the console. */
export function sessionRoutes(app: FastifyInstance, core: Core): void {
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
}

function refuseFields(request: FastifyRequest): void {
  readFields({}, queryOf(request));
  if (hasBody(request.raw)) throw new ParleyError("malformed_body", "Send this request without a body.");
}
