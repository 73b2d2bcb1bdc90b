import type { FastifyReply } from "fastify";

/** Names request headers on which the answer depends, beside those of CORS. */
export function addVary(reply: FastifyReply, ...names: readonly string[]): void {
  reply.header("vary", [reply.getHeader("vary"), ...names].filter(Boolean).join(", "));
}
