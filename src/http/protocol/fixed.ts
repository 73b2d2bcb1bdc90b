import { createHash } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import { matchesTag } from "./conditions.ts";
import { chooseCoding } from "./content-codings.ts";
import { addVary } from "./vary.ts";

/** An answer that is the same for everybody. Its bytes are made once and shared by all connections. */
export interface FixedAnswer {
  bytes: Buffer;
  headers: Readonly<Record<string, string>>;
  /** Its compressed forms, by content coding, the preferred one first. */
  compressed?: ReadonlyMap<string, FixedAnswer>;
}

/** Makes such an answer. Caches revalidate it by its ETag at each use, unless `headers` has a Cache-Control. */
export function fixedAnswer(
  type: string,
  content: string | Buffer,
  headers: Readonly<Record<string, string>>,
): FixedAnswer {
  const bytes = Buffer.from(content);
  const etag = `"${createHash("sha256").update(bytes).digest("base64url")}"`;
  return { bytes, headers: { "cache-control": "no-cache", ...headers, etag, "content-type": type } };
}

/** Sends the answer, compressed if the client accepts that, or 304 if the client already has it. */
export function sendFixed(request: FastifyRequest, reply: FastifyReply, answer: FixedAnswer): FastifyReply {
  const { "if-none-match": known, "accept-encoding": accepted = "" } = request.headers;
  const { compressed } = answer;
  const coding = compressed && chooseCoding(accepted as string, [...compressed.keys()]);
  const { bytes, headers } = coding === undefined ? answer : compressed!.get(coding)!;
  reply.headers(headers);
  if (compressed) addVary(reply, "Accept-Encoding");
  if (known !== undefined && matchesTag(known, headers.etag!))
    return reply.removeHeader("content-type").code(304).send();
  if (coding !== undefined) reply.header("content-encoding", coding);
  return reply.send(bytes);
}
