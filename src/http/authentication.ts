import type { FastifyRequest } from "fastify";
import type { Caller } from "../core/caller.ts";
import type { Core } from "../core/core.ts";
import { type Scope, verifyToken } from "../core/tokens.ts";
import { ParleyError } from "../errors.ts";

// RFC 6750, section 2.1; the scheme's name is case-insensitive (RFC 9110, section 11.1).
const BEARER = /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i;

/** The caller that a request's bearer token stands for. Throws, or rejects with, `missing_token` or `invalid_token`. */
export function authenticate(core: Core, request: FastifyRequest): Caller | Promise<Caller> {
  const { authorization } = request.headers;
  if (authorization === undefined) throw new ParleyError("missing_token");
  const token = BEARER.exec(authorization)?.[1];
  if (token === undefined) throw new ParleyError("invalid_token");
  return verifyToken(core, token);
}

/** Throws `insufficient_scope`. */
export function requireScope(caller: Caller, scope: Scope): void {
  if (caller.scopes.has(scope)) return;
  throw new ParleyError("insufficient_scope", `This needs a token with the scope ${scope}.`, {
    header: scope,
  });
}
