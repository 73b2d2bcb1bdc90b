import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Caller } from "../core/caller.ts";
import type { Core } from "../core/core.ts";
import { type Fields, type Parsed, readFields, type Shape } from "../core/fields.ts";
import { oneAtATime } from "../core/idempotency.ts";
import type { Scope } from "../core/tokens.ts";
import { type ErrorCode, ParleyError } from "../errors.ts";
import { type IdKind, isId } from "../util/ids.ts";
import type { Log } from "../util/log.ts";
import { bodyFields, isEmptyBody, NO_FIELDS, parseForm } from "./bodies.ts";
import type { HttpContext } from "./context.ts";

/** What a request has come down to when its operation runs. */
export interface Call<Q extends Shape, B extends Shape> {
  core: Core;
  caller: Caller;
  /** Of the path; empty where it has none. */
  id: string;
  /** The second one of the path, the same. */
  innerId: string;
  query: Parsed<Q>;
  body: Parsed<B>;
  /** The Idempotency-Key of a POST. */
  key: string | undefined;
  request: FastifyRequest;
  reply: FastifyReply;
  log: Log;
}

/** One method of one path: what it takes is checked by these very shapes, and documented from them. */
export interface Operation<Q extends Shape = Shape, B extends Shape = Shape> {
  /** `operationId` of the OpenAPI document. */
  name: string;
  method: "GET" | "POST" | "PUT" | "DELETE";
  /** As the router takes it. */
  path: string;
  /** The kind of `:id` in the path, and the error of one that is unknown or malformed. */
  id?: { kind: IdKind; unknown: ErrorCode };
  /** The same of a second id, of this name. */
  innerId?: { name: string; kind: IdKind; unknown: ErrorCode };
  scope?: Scope;
  summary: string;
  query: Q;
  /** Fields of a form or of JSON; "file" for a multipart form that the operation reads by itself. */
  body: B | "file";
  /** `lines`: of what the same is also to be had as lines of JSON. `stream`: the media type of what goes on and on. */
  answer: { status: 200 | 201 | 204; schema?: string; lines?: string; stream?: string };
  /** Codes beyond those that every operation can answer. */
  errors: readonly ErrorCode[];
  handle(call: Call<Q, B>): Promise<unknown>;
}

/** Lets the types of the shapes reach `handle`. */
export function operation<Q extends Shape, B extends Shape>(described: Operation<Q, B>): Operation {
  return described as unknown as Operation;
}

export function addOperation(
  app: FastifyInstance,
  { core, limits, log }: HttpContext,
  described: Operation,
): void {
  const { id: idRule, innerId: innerRule, query, body, answer } = described;
  app.route({
    method: described.method,
    url: described.path,
    config: { scope: described.scope },
    handler(request, reply) {
      if (described.method === "GET") refuseBody(request);
      // Not a chain of promises where there is nothing to wait for.
      if (described.method === "GET" || body === "file") return run(request, reply, NO_FIELDS);
      return bodyFields(request, limits).then((fields) => run(request, reply, fields));
    },
  });

  function run(request: FastifyRequest, reply: FastifyReply, fields: Fields): Promise<unknown> {
    const call: Call<Shape, Shape> = {
      core,
      caller: request.caller,
      id: "",
      innerId: "",
      query: readFields(query, queryOf(request)),
      body: body === "file" ? {} : readFields(body, fields),
      key: described.method === "POST" ? idempotencyKey(request) : undefined,
      request,
      reply,
      log,
    };
    const params = request.params as Record<string, string>;
    if (idRule) call.id = knownForm(params.id!, idRule.kind, idRule.unknown);
    if (innerRule) call.innerId = knownForm(params[innerRule.name]!, innerRule.kind, innerRule.unknown);
    reply.code(answer.status);
    const { key } = call;
    if (key === undefined) return described.handle(call);
    return oneAtATime(core, call.caller, key, () => described.handle(call));
  }
}

/** The form of an Idempotency-Key. */
export const KEY = /^[\x21-\x7e]{1,255}$/;

function idempotencyKey(request: FastifyRequest): string | undefined {
  const key = request.headers["idempotency-key"] as string | undefined;
  if (key === undefined || KEY.test(key)) return key;
  throw new ParleyError(
    "invalid_parameter",
    "Idempotency-Key must have 1 to 255 characters of ASCII without spaces, such as a UUID.",
    { param: "Idempotency-Key" },
  );
}

/** The framework leaves the body of a read aside, and nothing is silently ignored. */
function refuseBody(request: FastifyRequest): void {
  if (isEmptyBody(request)) return;
  throw new ParleyError("malformed_body", "A read takes no body. Send its fields in the query.");
}

/** The fields of the query. */
export function queryOf(request: FastifyRequest): Fields {
  const url = request.raw.url!;
  const mark = url.indexOf("?");
  return mark === -1 ? NO_FIELDS : parseForm(url.slice(mark + 1), "malformed_request");
}

/** The id, or the error that an unknown one gets where it has not the form of one. */
export function knownForm(id: string, kind: IdKind, unknown: ErrorCode, param?: string): string {
  if (!isId(kind, id)) throw new ParleyError(unknown, undefined, param === undefined ? {} : { param });
  return id;
}
