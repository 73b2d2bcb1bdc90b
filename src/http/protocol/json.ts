import type { FastifyReply } from "fastify";

/** Answers with a JSON text that is made already. */
export function sendJson(reply: FastifyReply, json: string): void {
  reply.header("content-type", "application/json; charset=utf-8").send(json);
}
