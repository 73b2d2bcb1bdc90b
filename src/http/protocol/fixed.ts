import { createHash } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import { matchesTag } from "./conditions.ts";

/** An answer that is the same for everybody. Its bytes are made once, however many connections they go out on. */
export interface FixedAnswer {
  bytes: Buffer;
  headers: Readonly<Record<string, string>>;
}

/** Revalidated by its ETag at each use, unless `headers` says how long it may be cached. */
export function fixedAnswer(
  type: string,
  content: string | Buffer,
  headers: Readonly<Record<string, string>>,
): FixedAnswer {
  const bytes = Buffer.from(content);
  const etag = `"${createHash("sha256").update(bytes).digest("base64url")}"`;
  return { bytes, headers: { "cache-control": "no-cache", ...headers, etag, "content-type": type } };
}

/** Sends it, or 304 if the client has it. */
export function sendFixed(
  request: FastifyRequest,
  reply: FastifyReply,
  { bytes, headers }: FixedAnswer,
): FastifyReply {
  const known = request.headers["if-none-match"];
  reply.headers(headers);
  if (known === undefined || !matchesTag(known, headers.etag!)) return reply.send(bytes);
  return reply.removeHeader("content-type").code(304).send();
}
