import type { FastifyReply, FastifyRequest } from "fastify";
import { checkVersion, type Expected, type Versioned } from "../../core/resource/resource.ts";
import { ParleyError } from "../../errors.ts";
import { sendJson } from "./json.ts";

/** Reports whether an `If-None-Match` has this entity tag, by weak comparison (RFC 9110, section 13.1.2). */
export function matchesTag(header: string, etag: string): boolean {
  return header.trim() === "*" || tagsOf(header).some((tag) => tag.replace(/^W\//, "") === etag);
}

/** Marks a replay: an answer with the result of an earlier request with the same Idempotency-Key or `client_id`. */
export function markReplay(reply: FastifyReply): void {
  reply.header("idempotent-replayed", "true");
}

/**
 * Answers with a resource and its ETag, or with 304 if the client has this version. Throws `precondition_failed` if a read has
 * an `If-Match` with another version.
 */
export function sendVersioned(
  request: FastifyRequest,
  reply: FastifyReply,
  { json, version, replayed }: Versioned,
): void {
  const etag = `"${version}"`;
  if (replayed) markReplay(reply);
  reply.header("etag", etag);
  const known = request.headers["if-none-match"];
  const reading = request.method === "GET" || request.method === "HEAD";
  if (reading) checkVersion(expectedVersions(request), Number.parseInt(version, 10));
  if (reading && known !== undefined && matchesTag(known, etag)) reply.code(304).send();
  else sendJson(reply, json);
}

/** The version of a new resource, and the only one of a resource that never changes. */
const FIRST_VERSION = 1;

/** Makes a versioned answer of a resource in its first version: it is new, or never changes. */
export function inFirstVersion(resource: object): Versioned {
  return { json: JSON.stringify(resource), version: String(FIRST_VERSION) };
}

/** Throws `precondition_failed` if the `If-Match` of a write to a resource that never changes has another version than the only one. */
export function expectOnlyVersion(request: FastifyRequest): void {
  checkVersion(expectedVersions(request), FIRST_VERSION);
}

const ROW_VERSION = /^"([0-9]{1,15})(?:-[0-9]+)?"$/;

/** Returns the versions of the row that `If-Match` accepts. Ignores the window of links in a tag: new links are not a change. */
export function expectedVersions(request: FastifyRequest): Expected {
  const header = request.headers["if-match"];
  // On a write, If-None-Match excludes versions. No write here can check that without a race.
  if (
    request.method !== "GET" &&
    request.method !== "HEAD" &&
    request.headers["if-none-match"] !== undefined
  ) {
    throw new ParleyError(
      "precondition_failed",
      "If-None-Match works for reads only. Use If-Match for writes.",
    );
  }
  if (header === undefined || header.trim() === "*") return null;
  const versions = tagsOf(header).flatMap((tag) => ROW_VERSION.exec(tag)?.[1] ?? []);
  if (versions.length === 0) throw new ParleyError("precondition_failed", CHANGED_TAG);
  return versions.map(Number);
}

/** Explains an `If-Match` with tags that Parley never sends. */
export const CHANGED_TAG =
  "If-Match has no ETag as Parley sends it. A proxy that compresses answers changes ETags: it adds W/ or a suffix. Send the ETag without that, or turn compression off in the proxy.";

/** Reports whether an `If-Match` has this entity tag, by strong comparison. */
export function matchesStrongly(header: string, etag: string): boolean {
  return header.trim() === "*" || tagsOf(header).includes(etag);
}

function tagsOf(header: string): string[] {
  return header.split(",").map((tag) => tag.trim());
}
