import type { FastifyReply } from "fastify";

/** Adds request headers on which the answer depends to those that CORS has set. */
export function addVary(reply: FastifyReply, ...names: readonly string[]): void {
  reply.header("vary", [reply.getHeader("vary"), ...names].filter(Boolean).join(", "));
}
