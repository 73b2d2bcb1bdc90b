import type { FastifyRequest } from "fastify";
import type { Fields } from "../core/fields.ts";
import { readFields } from "../core/fields.ts";
import { type ErrorCode, ParleyError } from "../errors.ts";
import { type IdKind, isId } from "../util/ids.ts";
import { parseForm } from "./bodies.ts";

/** The id in the path; one that is malformed answers like one that is unknown. */
export function pathId(request: FastifyRequest, kind: IdKind, unknown: ErrorCode): string {
  const { id } = request.params as { id: string };
  return knownForm(id, kind, unknown);
}

/** The id, or the error that an unknown one gets where it has not the form of one. */
export function knownForm(id: string, kind: IdKind, unknown: ErrorCode, param?: string): string {
  if (!isId(kind, id)) throw new ParleyError(unknown, undefined, param === undefined ? {} : { param });
  return id;
}

/** The fields of the query. */
export function queryOf(request: FastifyRequest): Fields {
  const url = request.raw.url!;
  const mark = url.indexOf("?");
  return parseForm(mark === -1 ? "" : url.slice(mark + 1));
}

const NO_FIELDS: Fields = new Map();

/** The fields of the body, none where there is no body. */
export function bodyOf(request: FastifyRequest): Fields {
  return (request.body as Fields | undefined) ?? NO_FIELDS;
}

/** For routes that take no query: nothing is silently ignored. */
export function refuseQuery(request: FastifyRequest): void {
  readFields({}, queryOf(request));
}

/** For routes that take no body. */
export function refuseBody(request: FastifyRequest): void {
  readFields({}, bodyOf(request));
}
