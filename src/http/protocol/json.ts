import type { FastifyReply } from "fastify";

/** Answers with a finished JSON text. */
export function sendJson(reply: FastifyReply, json: string): void {
  reply.header("content-type", "application/json; charset=utf-8").send(json);
}
