import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Caller } from "../../core/node/caller.ts";
import { countRevocations } from "../../core/people/sign-in.ts";
import type { Scope } from "../../core/people/tokens.ts";
import { oneAtATime } from "../../core/record/idempotency.ts";
import {
  type Field,
  type Fields,
  type Parsed,
  readField,
  readFields,
  readNewFields,
  type Shape,
} from "../../core/resource/fields.ts";
import { knownForm } from "../../core/resource/known-form.ts";
import { idOf, type Versioned } from "../../core/resource/resource.ts";
import type { Resource, Schema } from "../../core/resource/schema.ts";
import { type ErrorCode, ParleyError } from "../../errors.ts";
import type { IdKind } from "../../util/ids.ts";
import { recheckCaller, requireScope } from "./authentication.ts";
import { bodyFields, listsOf, NO_FIELDS, parseForm } from "./bodies.ts";
import { hasBody } from "./body-reader.ts";
import { sendVersioned } from "./conditions.ts";
import type { HttpContext } from "./context.ts";
import type { EventSockets } from "./event-sockets.ts";
import { isForm } from "./forms.ts";
import type { HeaderName } from "./headers.ts";

/** Has everything that operations need. */
interface OperationContext extends HttpContext {
  sockets: EventSockets;
}

/** The request as an operation gets it. */
export interface Call<Q extends Shape, B extends Shape> extends OperationContext {
  /** Missing if the operation needs no token, or the request is to become a WebSocket. */
  caller: Caller;
  /** The id in the path; empty if the path has none. */
  id: string;
  /** The second id in the path; empty if it has none. */
  innerId: string;
  /** The field in the path; empty if it has none. */
  pathValue: string;
  query: Parsed<Q>;
  body: Parsed<B>;
  /** The Idempotency-Key of a POST. */
  key: string | undefined;
  request: FastifyRequest;
  reply: FastifyReply;
}

/** Declares one method of one path. Its shapes check requests and make the document. */
interface Declaration<Q extends Shape, B extends Shape> {
  /** The `operationId` in the OpenAPI document. */
  name: string;
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** The path in the router's syntax. */
  path: string;
  /** Describes `:id` in the path: its name in the document, its kind, and the error if it is unknown or malformed. */
  id?: { name: string; kind: IdKind; unknown: ErrorCode };
  /** The same for a second id. It also has this name in the path. */
  innerId?: { name: string; kind: IdKind; unknown: ErrorCode };
  /** Describes the last segment of the path if it is not an id: its name there, and the accepted values. */
  pathField?: { name: string; field: Field<string> };
  /**
   * By default a token is required. "open": no token is checked. "link": the operation accepts a signed link and, if it has a
   * scope, also a token. It checks link, token and id itself, and answers HEAD itself.
   */
  access?: "open" | "link";
  scope?: Scope;
  /** A token with the scope `admin` does not need `scope`. */
  orAdmin?: true;
  /** A request without fields also needs this scope: it changes nothing, and its answer reads the resource. */
  readScope?: Scope;
  /** The answer shows what other users have written, so a request with fields needs `readScope`, too. */
  showsOthers?: true;
  summary: string;
  /** More about the operation, in Markdown. */
  description?: string;
  /** A request may become a WebSocket, whose first frame has the token. */
  upgrades?: true;
  /** The fields of the query. By default none are accepted. */
  query?: Q;
  /**
   * Fields of a form or of JSON. Or a body that the operation reads itself: "file" is a multipart form, "bytes" a part of a
   * file.
   */
  body?: B | "file" | "bytes";
  /** The fields may also come as a multipart form with files, which the operation reads itself. */
  withFiles?: true;
  /** The write leaves no rows. None are counted, and an Idempotency-Key has no effect. */
  storesNothing?: true;
  /** The body may be as large as the longest text of a message. */
  isLong?: true;
  answer: Answer;
  /** Headers of requests, besides those that follow from other members. */
  headers?: Readonly<Record<string, Schema>>;
  /** Codes beyond those that every operation can answer. */
  errors?: readonly ErrorCode[];
  /** Returns the body. If the answer is versioned, that is a `Versioned`. */
  handle(call: Call<Q, B>): Promise<unknown>;
}

export type Operation<Q extends Shape = Shape, B extends Shape = Shape> = Declaration<Q, B> &
  Required<Pick<Declaration<Q, B>, "query" | "body" | "errors">>;

/** The answer of an operation if it succeeds. Without `resource`, `page` and `content` it has no body. */
interface Answer {
  status: 200 | 201 | 204;
  resource?: Resource;
  /** The answer is a page of this resource. */
  page?: Resource;
  /** Headers that all answers may have, including errors. */
  always?: readonly HeaderName[];
  /** The resource has an ETag. A GET with a matching If-None-Match gets 304. */
  versioned?: boolean;
  /** Schemas of the body in other media types. */
  content?: Readonly<Record<string, Schema>>;
  headers?: readonly HeaderName[];
  /** Other successful answers, by status. */
  others?: Readonly<Record<number, Pick<Answer, "content" | "headers"> & { description: string }>>;
}

/** Declares an operation. `handle` gets its fields with the types of the shapes. */
export function operation<Q extends Shape, B extends Shape>(declared: Declaration<Q, B>): Operation {
  return { query: {}, body: {}, errors: [], ...declared } as unknown as Operation;
}

export function addOperation(app: FastifyInstance, context: OperationContext, described: Operation): void {
  const { core, limits, rates } = context;
  const isRead = described.method === "GET";
  const mayHaveKey = takesKey(described);
  const { id: idRule, innerId: innerRule, pathField, query, answer, access, orAdmin, isLong } = described;
  const shape = typeof described.body === "string" ? {} : described.body;
  const lists = listsOf(shape);
  const readBodyFields = described.method === "POST" ? readNewFields : readFields;
  const bodyLimits = { ...limits, maxBodyBytes: limits[isLong ? "maxMessageBodyBytes" : "maxBodyBytes"] };
  app.route({
    method: access === "link" ? ["GET", "HEAD"] : described.method,
    exposeHeadRoute: access !== "link",
    url: described.path,
    config: { scope: described.scope, orAdmin, public: access !== undefined, upgrades: described.upgrades },
    ...(!isRead && !described.storesNothing && { onSend: countWrite }),
    handler: isRead || typeof described.body === "string" ? run : readAndRun,
  });

  /** Counts a write before its answer is sent, so that it also counts if the client hangs up. */
  function countWrite(
    request: FastifyRequest,
    reply: FastifyReply,
    payload: unknown,
    done: (error: null, payload: unknown) => void,
  ): void {
    const hasWritten = reply.statusCode < 300 && !reply.hasHeader("idempotent-replayed");
    if (hasWritten)
      rates.countWrite(request.caller, request, Buffer.byteLength((payload ?? "") as string | Buffer));
    done(null, payload);
  }

  async function readAndRun(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    if (described.withFiles && isForm(request)) return run(request, reply);
    const before = countRevocations(core);
    const fields = await bodyFields(request, bodyLimits, lists);
    if (before === null || before !== countRevocations(core)) await recheckCaller(context, request);
    return run(request, reply, fields);
  }

  /** Without `fields`, the operation has none, or reads them itself. */
  function run(request: FastifyRequest, reply: FastifyReply, fields?: Fields): Promise<unknown> {
    // The framework would silently ignore the body.
    if (isRead && access === undefined && hasBody(request.raw)) {
      throw new ParleyError(
        "malformed_body",
        "Send a GET request without a body, and its fields in the query.",
      );
    }
    const call: Call<Shape, Shape> = {
      ...context,
      caller: request.caller,
      id: "",
      innerId: "",
      pathValue: "",
      query: readFields(query, queryOf(request), " in the query"),
      body: fields ? readBodyFields(shape, fields) : {},
      key: mayHaveKey ? idempotencyKey(request) : undefined,
      request,
      reply,
    };
    const { readScope, showsOthers } = described;
    if (readScope && (showsOthers || !fields?.size)) requireScope(request.caller, readScope);
    const params = request.params as Record<string, string>;
    if (idRule && access === undefined) call.id = knownForm(params.id!, idRule.kind, idRule.unknown);
    if (innerRule) call.innerId = knownForm(params[innerRule.name]!, innerRule.kind, innerRule.unknown);
    if (pathField) call.pathValue = readField(pathField.name, pathField.field, params[pathField.name]);
    reply.code(answer.status);
    const { caller, key } = call;
    return key === undefined ? handle(call) : oneAtATime(core, caller, key, () => handle(call));
  }

  async function handle(call: Call<Shape, Shape>): Promise<unknown> {
    const result = await described.handle(call);
    if (hasLocation(described, call.reply.statusCode)) {
      call.reply.header("location", toLocation(call, described, result));
    }
    return answer.versioned ? sendVersioned(call.request, call.reply, result as Versioned) : result;
  }
}

/** Reports whether the answer names what was created. Uploads do it themselves, before their first bytes arrive. */
function hasLocation({ answer, body, storesNothing }: Operation, status: number): boolean {
  if (answer.status !== 201 || body === "bytes" || storesNothing) return false;
  return status === 201 || (answer.others?.[status]?.headers?.includes("Location") ?? false);
}

/** Returns the URL of the resource that a call has created. */
function toLocation({ core, id }: Call<Shape, Shape>, { path, answer }: Operation, result: unknown): string {
  const created = answer.versioned ? idOf((result as Versioned).json) : (result as { id: string }).id;
  return `${core.origin()}${path.replace(":id", id)}/${created}`;
}

/** Returns the path in the form of the document. */
export function documentPath({ path, id }: Pick<Operation, "path" | "id">): string {
  return path.replace(":id", `{${id?.name}}`).replace(/:(\w+)/g, "{$1}");
}

/** Reports whether the operation runs only once for each Idempotency-Key. */
export function takesKey({ method, storesNothing }: Operation): boolean {
  return method === "POST" && !storesNothing;
}

/** The syntax of an Idempotency-Key. */
export const KEY = /^[\x21-\x7e]{1,255}$/;

function idempotencyKey(request: FastifyRequest): string | undefined {
  const key = request.headers["idempotency-key"] as string | undefined;
  if (key === undefined || KEY.test(key)) return key;
  throw new ParleyError(
    "invalid_parameter",
    "Idempotency-Key must be 1 to 255 ASCII characters without spaces, such as a UUID.",
    { param: "Idempotency-Key" },
  );
}

/** Returns the fields of the query, which the router leaves as text. */
export function queryOf(request: FastifyRequest): Fields {
  return request.query === "" ? NO_FIELDS : parseForm(request.query as string, "malformed_request");
}
