import { createHash } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import { matchesTag } from "./conditions.ts";
import { chooseCoding } from "./content-codings.ts";
import { addVary } from "./vary.ts";

/** An answer that is the same for everybody. Its bytes are made once, however many connections they go out on. */
export interface FixedAnswer {
  bytes: Buffer;
  headers: Readonly<Record<string, string>>;
  /** The same compressed, by content coding. The preferred comes first. */
  compressed?: ReadonlyMap<string, FixedAnswer>;
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

/** Sends it, compressed if the client accepts that, or 304 if the client has it. */
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
